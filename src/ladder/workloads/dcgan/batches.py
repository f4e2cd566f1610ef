"""A generator's steps, batch by batch, on either device; its transposed convolutions are those of variants of `tconv`.

The tuning `epilogue` is the treatment of batch norm and activation: `separate` has a pass for both; with `folded` the
batch norm is multiplied into weights and biases when the network is loaded; with `fused` a layer also applies the
activation, if it can.
"""

from functools import partial
from types import SimpleNamespace

from ladder.catalogue import workloads
from ladder.workloads.dcgan import folding, layout

LAYERS = (1, 2, 3, 4)
# The number of layers that a group of batches shares: the first layer has so few pixels that a small batch leaves most
# of a device idle.
SHARED = 1
# Tapered batches are full batches, halves, quarters or eighths, which are whole tiles of images.
PARTS = (2, 4, 8)
TILE = 16
# The part of the kernels' time in which their copies leave the link idle, in TF32 on an H100 or H200.
SPARE = 0.2


class Generator:
    """The layers and buffers of a batch of at most `batch` images; `prepare` are the steps that load a network.

    The first `split` transposed convolutions are those of the variant `first`, the others of `last`. `given` has
    `network`, `sizes` and `device`. `works`, the operations on that device, has

    - `project(latents, weights, bias, out, activation)`;
    - `finish(values, norm, activation, out)`, where `norm` is an array (2, channels) or None;
    - `values(variant, shape)`, an array that a variant's layer can read;
    - `layer(variant, problem, following, fused)`, which returns the Layer; `following` is the variant after it or None,
      and `fused` has the operations fused into the layer, if any: an activation and possibly a `result` of bytes.
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
        # A buffer for layers that don't write what is read next: float32 before it is rounded, padded to whole vectors,
        # or converted to the picture's bytes.
        self.raw = [
            None if is_done or its == due else make(*due)
            for is_done, its, due in zip(is_written, read, written, strict=True)
        ]

    def fused(self, variant, index, pictures):
        """The operations that a variant's layer fuses: the activation, and bytes if `pictures` are; or none."""
        if self.epilogue != "fused" or activation(index) not in getattr(variant, "ACTIVATIONS", ()):
            return {}
        is_in_bytes = index == LAYERS[-1] and pictures == "uint8" and getattr(variant, "BYTES", False)
        return {"activation": activation(index)} | ({"result": "uint8"} if is_in_bytes else {})

    def steps(self, latents, pictures):
        """The steps of a group's batches, a list of (phase, function) for each.

        `latents` are those of the group, at most as many as the maximum batch; `pictures` has an array per batch. The
        first batch begins with the layers that the group shares.
        """
        begin = [*self.projection(latents), *self.of_layers(self.layers[:SHARED], slice(0, len(latents)), None)]
        found, start = [], 0
        for own in pictures:
            rows = slice(start, start + len(own))
            found.append([*begin, *self.of_layers(self.layers[SHARED:], rows, own)])
            begin, start = [], rows.stop
        return found

    def projection(self, latents):
        """The steps from latents to the input of the first layer."""
        weights, bias = (self.parts[name] for name in folding.names(0))
        values = self.values[0][: len(latents)]
        if self.epilogue == "fused":
            yield "projection", partial(self.works.project, latents, weights, bias, values, "relu")
            return
        raw = values if self.raw[0] is None else self.raw[0][: len(latents)]
        yield "projection", partial(self.works.project, latents, weights, bias, raw, "none")
        yield "epilogues", partial(self.works.finish, raw, self.norms[0], "relu", values)

    def of_layers(self, layers, rows, pictures):
        """The steps of some layers for `rows` of a group's images."""
        values = [*(array[rows] for array in self.values), pictures]
        for index, layer, is_done in layers:
            raw = values[index] if self.raw[index] is None else self.raw[index][rows]
            yield f"layer {index}", partial(layer.run, values[index - 1], raw)
            if not is_done or raw is not values[index]:
                left = "none" if is_done else activation(index)
                yield "epilogues", partial(self.works.finish, raw, self.norms[index], left, values[index])


def even(images, batch):
    """Groups of one batch each, slices of all images."""
    return [[slice(start, min(start + batch, images))] for start in range(0, images, batch)]


def tapered(images, batch):
    """Groups of batches of at most `batch` images each, which become smaller, since nothing hides the last copy.

    The copy of a batch is hidden by the kernels of the following batches if it has at most as many images as the last
    batch plus a part, SPARE, of the remaining ones. The closest size to this is taken. Consecutive batches form a
    group, also of at most `batch` images.
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
    """The number of images of a slice."""
    return images.stop - images.start


# The functions that split all images into groups of batches, by the tuning `batches`.
CUTS = {"even": even, "tapered": tapered}


def widths(channels):
    """The channels before every transposed convolution."""
    return layout.widths(channels)[:-1]


def activation(index):
    """The activation after a layer: 0 is the projection."""
    return "tanh" if index == LAYERS[-1] else "relu"
