"""What the rungs in C share: the struct `Network` that their functions take, and the calls of an epoch.

network.h lists the macro blocks, such as `products` or `deltas`, and explains the fields.
"""

import ctypes
from functools import partial

from ladder.build import libraries
from ladder.workloads.backprop import reference


def network(dtype, **values):
    """A `Network` of network.h for arrays of a dtype."""
    real = {"float64": ctypes.c_double, "float32": ctypes.c_float}[dtype]
    fields = [
        ("layers", ctypes.c_long),
        ("widths", ctypes.POINTER(ctypes.c_long)),
        ("count", ctypes.c_long),
        ("ranpat", ctypes.c_void_p),
        ("targets", ctypes.c_void_p),
        *((name, ctypes.POINTER(ctypes.c_void_p)) for name in ("w", "dw", "out", "delta")),
        ("rate", real),
        ("momentum", real),
        ("error", ctypes.c_void_p),
        ("threads", ctypes.c_long),
        ("scratch", ctypes.c_void_p),
    ]
    return type("Network", (ctypes.Structure,), {"_fields_": fields})(**values)


class Program:
    """A variant's library and the network that its functions process; keeps the network's arrays alive."""

    def __init__(self, problem, variant, threads=1, **tuning):
        sizes, dtype = problem.sizes, problem.sizes["dtype"]
        self.library = libraries.load("backprop", variant, dtype, **tuning)
        self.widths = reference.widths(sizes)
        self.last = len(self.widths) - 1
        rows, layers = len(problem.images), range(1, self.last + 1)
        shapes = [None] + [(rows, width) for width in self.widths[1:]]  # shapes of out and delta, by layer
        self.arrays = {
            "w": [None] + [getattr(problem, f"w{layer}") for layer in layers],
            "dw": [None] + [getattr(problem, f"dw{layer}") for layer in layers],
            "out": [problem.images] + [problem.device.empty(shapes[layer], dtype) for layer in layers],
            "delta": [None] + [problem.device.empty(shapes[layer], dtype) for layer in layers],
        }
        self.scratch = problem.device.empty((threads * max(weights.size for weights in self.arrays["w"][1:]),), dtype)
        self.network = network(
            dtype,
            layers=self.last,
            widths=(ctypes.c_long * len(self.widths))(*self.widths),
            count=sizes["images"],
            ranpat=problem.ranpat.ctypes.data,
            targets=problem.targets.ctypes.data,
            rate=sizes["rate"],
            momentum=sizes["momentum"],
            error=problem.error.ctypes.data,
            threads=threads,
            scratch=self.scratch.ctypes.data,
            **{name: addresses(arrays) for name, arrays in self.arrays.items()},
        )

    def step(self, phase, name, *integers):
        """A call of the library's function `name` with integers, such as a layer, as (phase, function)."""
        arguments = ctypes.byref(self.network), *map(ctypes.c_long, integers)
        return phase, partial(self.call, getattr(self.library, name), arguments)

    def call(self, function, arguments):
        """Call a function; as a method, so that steps keep this object and hence the arrays alive."""
        function(*arguments)

    def changes(self, name="weight_change"):
        """The steps that follow the deltas: the weight changes by the function `name`, and the updates."""
        layers = range(1, self.last + 1)
        yield from (self.step("weight change", name, layer) for layer in layers)
        yield from (self.step("update", "update", layer) for layer in layers)


def addresses(arrays):
    """The addresses of arrays, null for None."""
    return (ctypes.c_void_p * len(arrays))(*(None if array is None else array.ctypes.data for array in arrays))


def steps_by_unit(problem, variant, flags):
    """The steps of an epoch of the untuned program, whose forward pass is one macro block, as (phase, function)."""
    program = Program(problem, variant, flags=flags)
    steps = [program.step("forward", "forward", layer) for layer in range(1, program.last + 1)]
    return [*steps, *backward(program)]


def steps_by_block(problem, variant, flags):
    """The steps of an epoch, with a loop over all patterns per macro block and layer, as (phase, function)."""
    program = Program(problem, variant, flags=flags)
    steps = []
    for layer in range(1, program.last + 1):
        steps.append(program.step("products", "products", layer))
        steps.append(program.step("activations", "activations", layer))
    return [*steps, *backward(program)]


def backward(program):
    """The steps that follow the forward pass, with a loop over all patterns per macro block and layer."""
    yield program.step("error", "output_error")
    yield from (program.step("deltas", "deltas", layer) for layer in range(program.last - 1, 0, -1))
    yield from program.changes()


def steps_by_pattern(problem, variant, flags):
    """The steps of an epoch with one loop over patterns up to the deltas, as (phase, function)."""
    program = Program(problem, variant, flags=flags)
    return [program.step("patterns", "patterns"), *program.changes()]
