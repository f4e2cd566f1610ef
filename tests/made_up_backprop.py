"""A study of back-propagation with made-up times: of techniques, flags, threads, kernels and curves."""

import itertools

import pandas as pd

import made_up
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.report import collect, stored
from ladder.report.study import Study
from ladder.workloads.backprop.paper import lines
from ladder.workloads.backprop.paper.lines import CHANGES, COMPILED, DEFAULT, MEMORIES, OFFSETS, SHARED, TF32

MACHINE = "nvidia-h200"
THREADS = (1, 2, 4)
LOOPS = {"before": 40.0, "loop_order": 4.0, "temporaries": 3.2, "fusion": 2.5, "associativity": 2.0}
# How many times as fast a loop is with flags: the compiler does by itself what `fusion` and `associativity` do.
FLAGS = {"O2": 1.0, "O3": 1.0, "unroll": 1.0, "fast": 1.0, "native": 2.0, "all": 4.0, "bounds": 1.0}
GAINS = {"before": 0.0, "loop_order": 0.5, "temporaries": 1.0, "fusion": 0.5, "associativity": 0.25}
# Seconds of an epoch on one thread, and of the card's forms.
ON_THREADS = [
    ("blas", {}, 0.5),
    ("tuned", {}, 0.25),
    ("numpy_loop", {}, 0.625),
    ("pytorch", lines.AUTOGRAD, 0.5),
    ("pytorch", lines.BY_HAND, 0.4),
]
CARD = [
    ("cuda_flat", OFFSETS | {"block": 256}, 40e-3),
    ("cuda_kernels", MEMORIES, 10e-3),
    ("cuda", lines.CUBLAS, 0.8e-3),
    ("cuda_fused", DEFAULT, 0.4e-3),
    ("cuda_fused", TF32, 0.2e-3),
    ("pytorch_cuda", COMPILED | DEFAULT, 0.6e-3),
    ("pytorch_cuda", COMPILED | TF32, 0.5e-3),
]
# The ratios of the times with one tuning changed to those of the base; 1 where none is named.
RATIOS = {
    ("update", "owner"): 1.5,
    ("update", "atomic"): 16.0,
    ("operands", "global"): 2.0,
    ("error", "emulated"): 1.25,
    ("block", 64): 1.1,
    ("block", 512): 1.2,
    ("index", "walk"): 1.5,
}
# The shares of the macro blocks of the untuned program.
BLOCKS = {"products": 0.4, "activations": 0.05, "error": 0.01, "deltas": 0.04, "weight change": 0.4, "update": 0.1}


def backprop(**changes):
    """The sizes of a training."""
    return complete("backprop", {"images": 60000, "epochs": 2, "rate": 1 / 60000, "source": "mnist"} | changes)


def flagged(name, flags, images=60000):
    """Seconds of an epoch of a loop with flags."""
    return LOOPS[name] * images / 60000 / FLAGS[flags] ** GAINS[name]


def cases():
    """(experiment, case, seconds) of all experiments."""
    yield "backprop_before", Case("backprop", "before", backprop(epochs=1), {"flags": "O2"}), LOOPS["before"]
    for name in list(LOOPS)[1:]:
        yield "backprop_ladder", Case("backprop", name, backprop(), {"flags": "O2"}), LOOPS[name]
    fast = Case("backprop", "associativity", backprop(), {"flags": "all"})
    yield "backprop_ladder", fast, flagged("associativity", "all")
    for name, flags in itertools.product(LOOPS, FLAGS):
        experiment = "backprop_flags_before" if name == "before" else "backprop_flags"
        yield experiment, Case("backprop", name, backprop(images=20000), {"flags": flags}), flagged(name, flags, 20000)
    for threads in THREADS:
        for update in ("accumulators", "owner"):
            case = Case(
                "backprop", "openmp", backprop(), SHARED | {"threads": threads, "update": update, "flags": "all"}
            )
            seconds = flagged("associativity", "all") / threads * RATIOS.get(("update", update), 1)
            yield "backprop_ladder", case, seconds
        for name, tuning, seconds in ON_THREADS:
            case = Case("backprop", name, backprop(), {"threads": threads} | tuning)
            yield "backprop_ladder", case, seconds / threads
    images = complete("pattern_input", {"images": 60000, "source": "mnist"})
    yield "backprop_reading", Case("pattern_input", "serial", images, {}), 0.04
    for threads in THREADS:
        yield "backprop_reading", Case("pattern_input", "openmp_tasks", images, {"threads": threads}), 0.04 / threads
    for name, tuning, seconds in CARD:
        yield "backprop_gpu", Case("backprop", name, backprop(), tuning), seconds
    yield from changed()
    for name, seconds in (("tuned", 0.02), ("numpy_loop", 0.04), ("cuda_fused", 1e-4)):
        tuning = {"math": "default"} if name == "cuda_fused" else {"threads": 2}
        yield "backprop_learning", Case("backprop", name, backprop(images=6000, epochs=120), tuning), seconds


def changed():
    """The same of the experiments that change one tuning at a time."""
    for line, base in (("openmp", SHARED), ("cuda_kernels", MEMORIES), ("cuda_flat", OFFSETS)):
        is_host = line == "openmp"
        sizes, seconds = backprop(images=20000 if is_host else 60000), 0.1 if is_host else 10e-3
        base = ({"threads": 2} if is_host else {"block": 256}) | base
        experiment = "backprop_openmp" if is_host else "backprop_kernels"
        yield experiment, Case("backprop", line, sizes, base), seconds
        for name, value in ((name, value) for name, values in CHANGES[line].items() for value in values):
            case = Case("backprop", line, sizes, base | {name: value})
            yield experiment, case, seconds * RATIOS.get((name, value), 1)


def phases(rows, variant):
    """The phases of a case: those of the untuned program by block, of the eleven kernels by number."""
    if variant == "cuda_kernels":
        parts = {f"{number} kernel of the {name}": 1 / 11 for number, name in enumerate(["products", "change"] * 5)}
        parts |= {"10 update": 1 / 11, "flatten": 1.0}
    else:
        parts = BLOCKS if variant == "before" else {"patterns": 0.5, "weight change": 0.5}
    return [row | {"phase": name, "seconds": row["seconds"] * share} for row in rows for name, share in parts.items()]


def curves(rows, case):
    """The points of the first process: the error falls like 1 / epoch, from one for each image."""
    images = case.sizes["images"]
    return [
        rows[0] | {"epoch": epoch, "loss": images / epoch, "reference_loss": images / epoch, "loss_bound": 1.0}
        for epoch in range(1, case.sizes["epochs"] + 1)
    ]


def tables(machine=MACHINE, processes=6, chosen=None):
    """The tables of all experiments, or of the chosen (experiment, case, seconds)."""
    found = {}
    for experiment, case, seconds in chosen if chosen is not None else cases():
        parts = found.setdefault(experiment, {name: [] for name in collect.TABLES})
        rows = made_up.case_rows(machine, experiment, case, seconds, processes, 2)
        parts["samples"] += rows + phases(rows, case.variant)
        if experiment == "backprop_learning":
            parts["curves"] += curves(rows, case)
    return {
        name: {table: stored.with_integers(pd.DataFrame(rows)) for table, rows in parts.items()}
        for name, parts in found.items()
    }


def ceilings(machine=MACHINE):
    """The tables of ceilings, by seconds: products and reading on threads and on the GPU, and multiply-adds there."""
    sizes = {"form": "nn", "m": 4096, "n": 4096, "k": 4096, "dtype": "float32"}
    products, reading = complete("gemm", sizes), complete("stream", {"kernel": "read", "elements": 2**27})
    steps = complete("fma", {"elements": 2**24, "length": 8192, "dtype": "float32"})
    flops, moved = 2 * 4096**3, 8 * 2**27
    chosen = [
        ("ceiling_gpu_arithmetic", Case("gemm", "cublas", products, DEFAULT, "warm"), flops / 50e12),
        ("ceiling_gpu_tf32", Case("gemm", "cublas", products, TF32, "warm"), flops / 400e12),
        ("ceiling_gpu_fma", Case("fma", "cuda", steps, {"block": 128, "chains": 8}, "warm"), 2 * 2**37 / 60e12),
        ("ceiling_gpu_bandwidth", Case("stream", "cuda", reading, {"block": 512}), moved / 4.4e12),
    ]
    for threads in THREADS:
        one = {"threads": threads}
        chosen.append(("ceiling_arithmetic", Case("gemm", "blas", products, one, "warm"), flops / 1e11 / threads))
        chosen.append(("ceiling_bandwidth", Case("stream", "openmp", reading, one), moved / 2e10 / threads))
    return made_up.tables(machine, chosen=chosen)


def study(machine=MACHINE, **choices):
    """A study of one machine with its card."""
    return Study(tables(machine, **choices) | ceilings(machine), machine, {machine: made_up.description()})
