"""A generator's steps, batch by batch, on either device; its transposed convolutions are those of variants of `tconv`.

What follows a layer is done in one of three ways, the tuning `epilogue`: `separate` has a pass for the batch norm and
the activation; with `folded` the batch norm was multiplied into weights and biases when the network was loaded; with
`fused` a layer applies the activation too, where it can.
"""

from functools import partial
from types import SimpleNamespace

from ladder.catalogue import workloads
from ladder.workloads.dcgan import folding, layout

LAYERS = (1, 2, 3, 4)
# Layers that a group of batches shares: the first has so few pixels that the images of a small batch leave most of a
# device idle.
SHARED = 1
# Tapered batches are whole ones, halves, quarters or eighths, these in whole tiles of images.
PARTS = (2, 4, 8)
TILE = 16
# The part of the kernels' time that their copies leave the link idle, in TF32 on an H100 or H200.
SPARE = 0.2


class Generator:
    """The layers and buffers of a batch of at most `batch` images; `prepare` are the steps of a network's loading.

    The first `split` of the transposed convolutions are done by the variant `first`, the others by `last`. `given` has
    `network`, `sizes` and `device`. What works for it on that device, `works`, has

    - `project(latents, weights, bias, out, activation)`;
    - `finish(values, norm, activation, out)`, where `norm` is an array (2, channels) or None;
    - `values(variant, shape)`, an array of what a variant's layer reads;
    - `layer(variant, problem, following, fused)`, where `following` is the variant behind it or None and `fused` has
      what the layer does besides, an activation and maybe a `result` of bytes, or nothing: the Layer.
    """

    def __init__(self, given, works, *, first, last, split, batch, epilogue):
        self.works, self.epilogue = works, epilogue
        channels, dtype, make = given.sizes["channels"], given.sizes["dtype"], given.device.empty
        parts = self.parts = layout.parts(given.network, channels)
        self.norms = [None] * 5
        if epilogue == "separate":
            self.norms = [*(make((2, width), dtype) for width in widths(channels)), None]
            self.prepare = [("norms", partial(folding.write_norms, parts, self.norms[:4]))]
        else:
            self.parts = {name: make(shape, dtype) for name, shape in layout.shapes(channels).items()}
            self.prepare = [("fold", partial(folding.fold, parts, self.parts))]
        variants = [workloads.load_variant("tconv", first if index <= split else last) for index in LAYERS]
        shapes = [(batch, layout.FIRST << at, layout.FIRST << at, width) for at, width in enumerate(widths(channels))]
        self.values = [works.values(*pair) for pair in zip(variants, shapes, strict=True)]
        pictures = (batch, layout.SIDE, layout.SIDE, layout.COLOURS)
        read = [(array.shape, array.dtype) for array in self.values] + [(pictures, given.pictures)]
        written = [(shape, dtype) for shape in (*shapes, pictures)]
        self.layers, is_written = [], [epilogue == "fused"]  # whether each writes what is read next
        for index, (h, c, k) in zip(LAYERS, layout.layers(channels), strict=True):
            weights, bias = (self.parts[name] for name in folding.names(index))
            own = {"images": batch, "h": h, "c": c, "k": k, "dtype": dtype}
            its = SimpleNamespace(sizes=own, device=given.device, filter=weights, bias=bias)
            variant, following = variants[index - 1], [*variants, None][index]
            fused = self.fused(variant, index, given.pictures)
            layer = works.layer(variant, its, following, fused)
            self.layers.append((index, layer, bool(fused)))
            self.prepare += layer.prepare
            is_written.append(layer.writes in ("operands", "uint8"))
        # Where a layer doesn't write what is read next: float32 before it is rounded or its rows are filled up to whole
        # vectors, or before the picture's bytes.
        self.raw = [
            None if is_done or its == due else make(*due)
            for is_done, its, due in zip(is_written, read, written, strict=True)
        ]

    def fused(self, variant, index, pictures):
        """What a variant's layer does besides: the activation, and bytes where `pictures` are; nothing if it can't."""
        if self.epilogue != "fused" or activation(index) not in getattr(variant, "ACTIVATIONS", ()):
            return {}
        is_in_bytes = index == LAYERS[-1] and pictures == "uint8" and getattr(variant, "BYTES", False)
        return {"activation": activation(index)} | ({"result": "uint8"} if is_in_bytes else {})

    def steps(self, latents, pictures):
        """The steps of a group's batches, a list of (phase, function) for each.

        `latents` are those of the group, at most as many as a batch may have images; `pictures` has an array for each
        batch. The first one begins with what is done for the whole group.
        """
        begin = [*self.projection(latents), *self.of_layers(self.layers[:SHARED], slice(0, len(latents)), None)]
        found, start = [], 0
        for own in pictures:
            rows = slice(start, start + len(own))
            found.append([*begin, *self.of_layers(self.layers[SHARED:], rows, own)])
            begin, start = [], rows.stop
        return found

    def projection(self, latents):
        """The steps from latents to what the first layer reads."""
        weights, bias = (self.parts[name] for name in folding.names(0))
        values = self.values[0][: len(latents)]
        if self.epilogue == "fused":
            yield "projection", partial(self.works.project, latents, weights, bias, values, "relu")
            return
        raw = values if self.raw[0] is None else self.raw[0][: len(latents)]
        yield "projection", partial(self.works.project, latents, weights, bias, raw, "none")
        yield "epilogues", partial(self.works.finish, raw, self.norms[0], "relu", values)

    def of_layers(self, layers, rows, pictures):
        """The steps of some layers for these of a group's images."""
        values = [*(array[rows] for array in self.values), pictures]
        for index, layer, is_done in layers:
            raw = values[index] if self.raw[index] is None else self.raw[index][rows]
            yield f"layer {index}", partial(layer.run, values[index - 1], raw)
            if not is_done or raw is not values[index]:
                left = "none" if is_done else activation(index)
                yield "epilogues", partial(self.works.finish, raw, self.norms[index], left, values[index])


def even(images, batch):
    """Groups of a slice of all images each, a batch."""
    return [[slice(start, min(start + batch, images))] for start in range(0, images, batch)]


def tapered(images, batch):
    """Groups of slices of all images of at most `batch` each, which end small, since nothing hides the last copy.

    The kernels behind a batch hide its copy and those behind it, but for the last one, if it has at most as many images
    as the last batch and a part of what is left, which is SPARE. The size that is nearest to this is taken. Batches
    that follow each other are a group, of at most `batch` images too.
    """
    sizes = [min(max(batch // part // TILE, 1) * TILE, batch) for part in PARTS]
    least, start, groups = sizes[-1], 0, []
    while left := images - start:
        due = least + SPARE * left
        size = min((batch, *sizes), key=lambda size: abs(size - due))
        own = slice(start, start + min(size, left))
        if groups and own.stop - groups[-1][0].start <= batch:
            groups[-1].append(own)
        else:
            groups.append([own])
        start = own.stop
    return groups


def all_steps(generator, latents, pictures, groups):
    """The steps of all images, in one list."""
    every = (generator.steps(latents[images_of(group)], [pictures[part] for part in group]) for group in groups)
    return [step for group in every for steps in group for step in steps]


def images_of(group):
    """A group's images, as one slice."""
    return slice(group[0].start, group[-1].stop)


def length(images):
    """How many images a slice has."""
    return images.stop - images.start


# What cuts all images into groups of batches, by the tuning `batches`.
CUTS = {"even": even, "tapered": tapered}


def widths(channels):
    """The channels before every transposed convolution."""
    return layout.widths(channels)[:-1]


def activation(index):
    """The activation behind a layer: 0 is the projection."""
    return "tanh" if index == LAYERS[-1] else "relu"
