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


class Generator:
    """The layers and buffers of a batch of at most `batch` images; `prepare` are the steps of a network's loading.

    The first `split` of the transposed convolutions are done by the variant `first`, the others by `last`. The device
    gives `project(latents, weights, bias, out, activation)` and `finish(values, norm, activation)`, where `norm` is an
    array (2, channels) or None.
    """

    def __init__(self, problem, project, finish, *, first, last, split, batch, epilogue, **tuning):
        self.project, self.finish, self.epilogue = project, finish, epilogue
        channels, dtype, make = problem.sizes["channels"], problem.sizes["dtype"], problem.device.empty
        given = self.parts = layout.parts(problem.network, channels)
        shapes = [(batch, layout.FIRST << at, layout.FIRST << at, width) for at, width in enumerate(widths(channels))]
        self.values = [make(shape, dtype) for shape in shapes]
        self.norms = [None] * 5
        if epilogue == "separate":
            self.norms = [*(make((2, width), dtype) for width in widths(channels)), None]
            self.prepare = [("norms", partial(folding.write_norms, given, self.norms[:4]))]
        else:
            self.parts = {name: make(shape, dtype) for name, shape in layout.shapes(channels).items()}
            self.prepare = [("fold", partial(folding.fold, given, self.parts))]
        self.layers = []
        for index, (h, c, k) in zip(LAYERS, layout.layers(channels), strict=True):
            weights, bias = (self.parts[name] for name in folding.names(index))
            own = {"images": batch, "h": h, "c": c, "k": k, "dtype": dtype}
            its = SimpleNamespace(sizes=own, device=problem.device, filter=weights, bias=bias)
            module = workloads.load_variant("tconv", first if index <= split else last)
            fused = {"activation": activation(index)} if self.is_fused(module, index) else {}
            layer = module.layer(its, **tuning, **fused)
            self.layers.append((index, layer.run, bool(fused)))
            self.prepare += layer.prepare

    def is_fused(self, module, index):
        """Whether a variant applies the activation behind its layer."""
        return self.epilogue == "fused" and activation(index) in getattr(module, "ACTIVATIONS", ())

    def steps(self, latents, pictures):
        """The steps of a batch, as (phase, function)."""
        values = [*(array[: len(latents)] for array in self.values), pictures]
        weights, bias = (self.parts[name] for name in folding.names(0))
        is_fused = self.epilogue == "fused"
        yield "projection", partial(self.project, latents, weights, bias, values[0], "relu" if is_fused else "none")
        if not is_fused:
            yield "epilogues", partial(self.finish, values[0], self.norms[0], "relu")
        for index, run, is_done in self.layers:
            yield f"layer {index}", partial(run, values[index - 1], values[index])
            if not is_done:
                yield "epilogues", partial(self.finish, values[index], self.norms[index], activation(index))


def widths(channels):
    """The channels before every transposed convolution."""
    return layout.widths(channels)[:-1]


def activation(index):
    """The activation behind a layer: 0 is the projection."""
    return "tanh" if index == LAYERS[-1] else "relu"
