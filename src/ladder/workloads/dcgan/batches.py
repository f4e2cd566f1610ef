"""The steps of a generator, batch by batch, on the host or a GPU; its transposed convolutions are variants of `tconv`.

The tuning `epilogue` says where batch norm and activation are computed: `separate` has a pass for both; `folded` folds
the batch norm into weights and biases when the network is loaded; `fused` also lets a layer apply the activation, if
its variant can.
"""

from functools import partial
from types import SimpleNamespace

from ladder.catalogue import workloads
from ladder.workloads.dcgan import folding, layout

LAYERS = (1, 2, 3, 4)
# The number of layers that are computed for a whole group of batches: the first layer has so few pixels that a small
# batch leaves most of a device idle.
SHARED_LAYERS = 1
# Tapered batches are full ones, halves, quarters or eighths, rounded down to tiles of images, but at least a tile.
DIVISORS = (2, 4, 8)
TILE_IMAGES = 16
# The share of the kernels' time in which their copies leave the link idle, in TF32 on an H100 or H200.
IDLE_SHARE = 0.2


class Generator:
    """The layers and buffers of a batch of at most `batch` images; `prepare` has the steps that load a network.

    The first `split` transposed convolutions are of the variant `first`, the others of `last`. `problem` has `network`,
    `sizes`, `device` and `pictures`, the type of a picture's elements. `operations` has, for that device,

    - `project(latents, weights, bias, out, activation)`;
    - `epilogue(values, norm, activation, out)`, where `norm` is an array (2, channels) or None;
    - `input_array(variant, shape)`, an array that a variant's layer can read;
    - `layer(variant, problem, next_variant, fused)`, which returns the Layer of `tconv/layer.py`; `next_variant` is the
      variant of the next layer or None; `fused` has the operations fused into the layer: an `activation`, maybe a
      `result` of bytes.
    """

    def __init__(self, problem, operations, *, first, last, split, batch, epilogue):
        self.operations, self.epilogue = operations, epilogue
        channels, dtype, make = problem.sizes["channels"], problem.sizes["dtype"], problem.device.empty
        arrays = self.arrays = layout.arrays(problem.network, channels)
        self.norms = [None] * (len(LAYERS) + 1)  # the projection's first
        if epilogue == "separate":
            self.norms = [*(make((2, width), dtype) for width in input_channels(channels)), None]
            self.prepare = [("norms", partial(folding.write_norms, arrays, self.norms[:4]))]
        else:
            self.arrays = {name: make(shape, dtype) for name, shape in layout.shapes(channels).items()}
            self.prepare = [("fold", partial(folding.fold, arrays, self.arrays))]
        variants = [workloads.load_variant("tconv", first if index <= split else last) for index in LAYERS]
        shapes = [(batch, h, h, c) for h, c, _ in layout.layers(channels)]
        # The input of each layer, as its variant reads it.
        self.values = [operations.input_array(*pair) for pair in zip(variants, shapes, strict=True)]
        pictures = (batch, layout.PICTURE_SIDE, layout.PICTURE_SIDE, layout.COLOURS)
        # The projection and every layer write float32, unless they write directly what the next layer reads.
        read_specs = [(array.shape, array.dtype) for array in self.values] + [(pictures, problem.pictures)]
        float32_specs = [(shape, dtype) for shape in (*shapes, pictures)]
        self.layers, are_direct = [], [epilogue == "fused"]
        for index, (h, c, k) in zip(LAYERS, layout.layers(channels), strict=True):
            weights, bias = (self.arrays[name] for name in folding.parameter_names(index))
            sizes = {"images": batch, "h": h, "c": c, "k": k, "dtype": dtype}
            convolution = SimpleNamespace(sizes=sizes, device=problem.device, filter=weights, bias=bias)
            variant, next_variant = variants[index - 1], [*variants, None][index]
            fused = self.fusible(variant, index, problem.pictures)
            layer = operations.layer(variant, convolution, next_variant, fused)
            self.layers.append((index, layer, bool(fused)))
            self.prepare += layer.prepare
            are_direct.append(layer.writes in ("operands", "uint8"))
        # Buffers for float32 results that a pass rounds, pads to whole vectors, or converts to a picture's bytes.
        self.float32_results = [
            None if is_direct or read == float32 else make(*float32)
            for is_direct, read, float32 in zip(are_direct, read_specs, float32_specs, strict=True)
        ]

    def fusible(self, variant, index, pictures):
        """The operations that a variant's layer fuses: its activation, and the conversion to uint8; or none."""
        if self.epilogue != "fused" or activation(index) not in getattr(variant, "ACTIVATIONS", ()):
            return {}
        writes_uint8 = index == LAYERS[-1] and pictures == "uint8" and getattr(variant, "WRITES_UINT8", False)
        return {"activation": activation(index)} | ({"result": "uint8"} if writes_uint8 else {})

    def steps(self, latents, pictures):
        """The steps of a group's batches: for each batch, a list of (phase, function).

        `latents` has those of the whole group, at most `batch`; `pictures` has an array per batch. The steps of the
        first batch begin with the layers that are computed for the whole group.
        """
        shared_layers = self.layer_steps(self.layers[:SHARED_LAYERS], slice(0, len(latents)), None)
        shared_steps = [*self.projection_steps(latents), *shared_layers]
        batches, start = [], 0
        for array in pictures:
            rows = slice(start, start + len(array))
            batches.append([*shared_steps, *self.layer_steps(self.layers[SHARED_LAYERS:], rows, array)])
            shared_steps, start = [], rows.stop
        return batches

    def projection_steps(self, latents):
        """The steps from latents to the input of the first layer."""
        weights, bias = (self.arrays[name] for name in folding.parameter_names(0))
        values = self.values[0][: len(latents)]
        if self.epilogue == "fused":
            yield "projection", partial(self.operations.project, latents, weights, bias, values, "relu")
            return
        result = values if self.float32_results[0] is None else self.float32_results[0][: len(latents)]
        yield "projection", partial(self.operations.project, latents, weights, bias, result, "none")
        yield "epilogues", partial(self.operations.epilogue, result, self.norms[0], "relu", values)

    def layer_steps(self, layers, rows, pictures):
        """The steps of some layers for `rows` of a group's images."""
        values = [*(array[rows] for array in self.values), pictures]
        for index, layer, is_activated in layers:
            result = values[index] if self.float32_results[index] is None else self.float32_results[index][rows]
            yield f"layer {index}", partial(layer.run, values[index - 1], result)
            if not is_activated or result is not values[index]:
                remaining_activation = "none" if is_activated else activation(index)
                yield (
                    "epilogues",
                    partial(self.operations.epilogue, result, self.norms[index], remaining_activation, values[index]),
                )


def even_groups(images, batch):
    """Groups of one batch each; a batch is a slice of all images."""
    return [[slice(start, min(start + batch, images))] for start in range(0, images, batch)]


def tapered_groups(images, batch):
    """Groups of batches that become smaller, because no kernel hides the last copy.

    Let a batch have the first b of n remaining images, the last batch have s, and let the unit of time be that of an
    image's kernels. Copies, which can't begin before the batch's kernels end, take (1 - IDLE_SHARE) n. They end no
    later than the last kernels and the last copy would if b + (1 - IDLE_SHARE) n <= n + (1 - IDLE_SHARE) s, hence
    b <= s + IDLE_SHARE (n - s). A batch has the available size that is closest to s + IDLE_SHARE n. Consecutive batches
    form a group while they have at most `batch` images together.
    """
    sizes = [min(max(batch // divisor // TILE_IMAGES, 1) * TILE_IMAGES, batch) for divisor in DIVISORS]
    smallest, start, groups = sizes[-1], 0, []
    while remaining := images - start:
        target = smallest + IDLE_SHARE * remaining
        size = min((batch, *sizes), key=lambda size: abs(size - target))
        part = slice(start, start + min(size, remaining))
        if groups and part.stop - groups[-1][0].start <= batch:
            groups[-1].append(part)
        else:
            groups.append([part])
        start = part.stop
    return groups


def all_steps(generator, latents, pictures, groups):
    """The steps of all images, in one list."""
    group_steps = (
        generator.steps(latents[group_images(group)], [pictures[part] for part in group]) for group in groups
    )
    return [step for batches in group_steps for steps in batches for step in steps]


def group_images(group):
    """A group's images, as one slice."""
    return slice(group[0].start, group[-1].stop)


def length(images):
    """The number of images of a slice."""
    return images.stop - images.start


# The functions that split all images into groups of batches, by the tuning `batches`.
SCHEDULES = {"even": even_groups, "tapered": tapered_groups}


def input_channels(channels):
    """The input channels of every transposed convolution."""
    return layout.widths(channels)[:-1]


def activation(index):
    """The activation after a layer; layer 0 is the projection."""
    return "tanh" if index == LAYERS[-1] else "relu"
