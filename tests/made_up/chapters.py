"""The made-up measurements of every chapter, most of them by the lines of its ladder, and studies of them.

study("gemv", drop=lambda case: case.ranks == 4)            without some cases
study("gemv", factor=lambda case: 2.0 if ... else 1.0)      some of which take longer
"""

import functools
import itertools
import math
from dataclasses import replace
from functools import partial

import made_up
from ladder.catalogue.workloads import complete, device, load
from ladder.records.case import Case
from ladder.report.telling import chapter_study
from ladder.report.telling.lines import COMMON, MAX, SEVERAL, UNSTATED, select
from ladder.store.study import Study
from ladder.workloads.backprop.paper.lines import CHANGES, STEPS, changed
from ladder.workloads.dcgan import formats, layout
from ladder.workloads.dcgan.paper import lines as dcgan_lines
from ladder.workloads.descent_kernel.earlier import COLUMNS
from ladder.workloads.gemv.paper.lines import SIZES as MATRICES
from ladder.workloads.mlp.paper.lines import COPIES, TABLE, TILES
from made_up import MACHINE, Measurement

NOTHING = Study({}, None)
DEFAULTS = {  # sizes that a chapter's sources say nothing of
    "gemm": {"form": "nn", "m": 512, "n": 512, "k": 512},
    "mlp": {"epochs": 3, "rate": 1.0, "images": 2000, "batch": 100},
    "backprop": {"epochs": 2, "rate": 1 / 60000},
    "descent": {"kappa": 100.0, "iterations": 100},
}
# Bytes or multiply-adds a second: of a thread's share of the memory, of the GPU's memory, of the link to it; products
# on a thread, on the GPU, there in TF32, and multiply-adds there.
MEMORY, GPU_MEMORY, LINK = 12.5e9, 4.4e12, 50e9
PRODUCTS, GPU_PRODUCTS, TENSOR_CORES, FMA = 1e11, 50e12, 400e12, 60e12


def of(workload, variant, experiment, seconds, cache="cold", facts=None, **stated):
    """A Measurement; `stated` are sizes of the workload and tunings, the seconds may be a function of the case."""
    known = load(workload).SIZES
    sizes = complete(workload, DEFAULTS.get(workload, {}) | {key: stated[key] for key in stated if key in known})
    case = Case(workload, variant, sizes, {key: stated[key] for key in stated if key not in known}, cache)
    return Measurement(experiment, case, seconds(case) if callable(seconds) else seconds, facts=facts)


def of_line(chapter, selection, seconds, experiment=None, workload=None, **stated):
    """The Measurement of a selection of a chapter: of the sizes of its source, at the tuning of its line."""
    data = chapter_study.of_chapter(chapter, NOTHING)
    line, source = data.line(selection), data.sources[data.source_of(selection)]
    experiment = experiment or source.experiments[0]
    open_values = (None, UNSTATED, MAX, SEVERAL, COMMON)
    every = (source.conditions | line.tuning | stated).items()
    stated = {name: value for name, value in every if value not in open_values and name != "device"}
    return of(workload or experiment.partition("_")[0], line.variant, experiment, seconds, **stated)


def split(one, shares):
    """The Measurement with phases that take these shares of a call."""
    return replace(one, phases={name: share * one.seconds for name, share in shares.items()})


def ceilings():
    """What the best products, reading and copying reach on threads and on the GPU."""
    product, read = {"m": 4096, "n": 4096, "k": 4096, "dtype": "float32"}, {"kernel": "read", "elements": 2**27}
    flops, moved, steps = 2 * 4096**3, 8 * 2**27, {"elements": 2**24, "length": 8192}
    for threads in (1, 2, 4, 24):
        given = {"threads": threads}
        yield of("gemm", "blas", "ceiling_arithmetic", flops / PRODUCTS / threads, "warm", **product, **given)
        yield of("stream", "openmp", "ceiling_bandwidth", moved / MEMORY / threads, **read, **given)
    for name, math_mode, rate in (("arithmetic", "default", GPU_PRODUCTS), ("tf32", "tf32", TENSOR_CORES)):
        yield of("gemm", "cublas", f"ceiling_gpu_{name}", flops / rate, "warm", **product, math=math_mode)
    for dtype in DTYPES:
        given = steps | {"dtype": dtype}
        yield of("fma", "cuda", "ceiling_gpu_fma", 2 * 2**37 / FMA, "warm", **given, block=128, chains=8)
    one = of("stream", "cuda", "ceiling_gpu_bandwidth", moved / GPU_MEMORY, **read, block=512)
    yield replace(one, phases={"to device": moved / LINK, "to host": moved / LINK})


# Times as fast as the plain loops, or as the naive kernel.
ON_HOST = {"openmp": 1.0, "interchanged": 4.0, "tiled": 25.0, "blas": 25.0}
ON_GPU = {"cuda_naive": 1.0, "cuda_shared": 1.5, "cuda_columns": 3.0, "cuda_tiled": 10.0, "cuda_mma": 20.0}
ON_GPU |= {"cublas": 20.0}
MIXED = {"default": 1.0, "tf32": 6.0, "float16": 8.0, "bfloat16": 8.0, "tf32x3": 2.0}
THREADS = {1: 1.0, 2: 2.0, 4: 3.6, 6: 3.7, 12: 3.8, 24: 1.9}  # times as fast: levels off from 4 threads, worse on 24
DTYPES, FORMS, STREAMS = ("float64", "float32"), ("nn", "tn", "nt"), ("read", "copy", "triad")


def training_shares(products):
    """The shares of a training's operations, of which products take so much."""
    others = dict.fromkeys(("gather", "update"), (1 - products) / 2)
    return others | {"forward 1": products / 2, "gradient 1": products / 4, "delta 1": products / 4}


def gemm():
    """Products of matrices on the host, with the ceilings there."""
    for threads, dtype, kernel in itertools.product(THREADS, DTYPES, STREAMS):
        if kernel == STREAMS[0]:
            yield of("gemm", "blas", "ceiling_arithmetic", 0.004, "warm", dtype=dtype, threads=threads)
        if dtype == DTYPES[0]:
            yield of("stream", "openmp", "ceiling_bandwidth", 0.002, kernel=kernel, elements=2**22, threads=threads)
    for form, dtype, (name, speed) in itertools.product(FORMS, DTYPES, [*ON_HOST.items(), ("c_openmp", 1.0)]):
        yield of("gemm", name, "gemm_square", 0.2 / speed, form=form, dtype=dtype, threads=1)
    for m, name in itertools.product((1024, 2048), ("interchanged", "tiled", "blas")):
        yield of("gemm", name, "gemm_large", 0.001 * m / ON_HOST[name], m=m, threads=1)
    for (name, speed), (threads, gain) in itertools.product(ON_HOST.items(), THREADS.items()):
        for form in FORMS:
            yield of("gemm", name, "gemm_threads", 0.1 / speed / gain, form=form, k=300, threads=threads)


def gemm_on_gpu():
    """The same on a GPU, where copies take as long as a call."""
    large, small = dict.fromkeys("mnk", 4096), {"m": 1000, "n": 300, "k": 784}
    for dtype in DTYPES:
        yield of("gemm", "cublas", "ceiling_gpu_arithmetic", 9e-6, "warm", dtype=dtype, math="default")
        steps = {"elements": 2**24, "length": 1000, "dtype": dtype}
        yield of("fma", "cuda", "ceiling_gpu_fma", 2e-3, "warm", **steps, block=128, chains=8)
        for form, (name, speed) in itertools.product(FORMS, ON_GPU.items()):
            given = {"form": form, "dtype": dtype} | TILES[name]
            yield of("gemm", name, f"gemm_gpu_{dtype}", 0.1 / speed, **large, **given)
            yield of("gemm", name, f"gemm_gpu_training_{dtype}", 0.001 / speed, **small, **given)
    single = {"dtype": "float32"}
    yield of("gemm", "cublas", "ceiling_gpu_tf32", 2e-6, "warm", **single, math="tf32")
    half = {"math": "float16", "conversion": "ahead"}
    yield of("gemm", "cublas_mixed", "ceiling_gpu_half", 1e-6, "warm", **single, **half)
    for name, speed in MIXED.items():
        variant = "cublas" if name in ("default", "tf32") else "cublas_mixed"
        yield of("gemm", variant, "gemm_gpu_mixed", 0.001 / speed, **large, **single, math=name)
    for kernel in STREAMS:
        yield of("stream", "cuda", "ceiling_gpu_bandwidth", 0.002, kernel=kernel, elements=2**22, block=512)


def checked(one):
    """The Measurement with a check a tenth of its bound off, and with what a GPU tells."""
    one = replace(one, checks={"product": (0.1, 1.0)})
    if device(one.case) != "cuda":
        return one
    phases = one.phases | dict.fromkeys(COPIES, one.seconds)
    return replace(one, phases=phases, columns={"throttled": one.case.variant == "cublas"})


CORE = 10e9  # bytes a second
# Times as fast as `openmp`, and bytes a second.
GEMV_ON_THREADS = [("openmp", 1.0), ("spread", 1.2), (select("spread", binding="close"), 0.6), ("blas", 1.0)]
GEMV_ON_THREADS += [("dynamic", 0.5), (select("dynamic", schedule="static"), 1.0)]
GEMV_ON_GPU = {"naive": 1e12, "shared": 0.9e12, "coalesced": 2.5e12, "warp": 4.3e12, "cublas": 4.2e12}
SHIPPING = {"mpi_cublas": 12e9, "nccl_cublas": 49e9}
TALK = 1e-7  # seconds of a short message


def gemv():
    """Matrix-vector products on threads, on ranks, on a GPU and on several."""
    case, counts = partial(of_line, "gemv"), (1, 2, 4)
    for (line, speed), threads in itertools.product(GEMV_ON_THREADS, (1, 4)):
        yield case(line, lambda one, rate=CORE * speed * threads: bytes_of(one) / rate, threads=threads)
    for n in (MATRICES["ranks"]["n"], 2048):
        for threads in (1, 4):
            yield case(select("openmp", "ranks"), lambda one: bytes_of(one) / CORE / one.threads, n=n, threads=threads)
        for line, ranks in [*itertools.product(("ship", "resident"), counts), ("hybrid-ship", 2), ("hybrid", 2)]:
            yield case(line, call_on_ranks, n=n, ranks=ranks)
    for source, (line, rate) in itertools.product(("card", "small", "long"), GEMV_ON_GPU.items()):
        slower = 2 if (source, line) == ("small", "cublas") else 1
        yield case(select(line, source), lambda one, rate=rate / slower: bytes_of(one) / rate)
    every = [*itertools.product(("mpi", "nccl", "graph"), ("cards", "large"))]
    every += [("mpi-ship", "cards"), ("nccl-ship", "cards")]
    for (line, source), ranks, chunks in itertools.product(every, counts, (1, 4)):
        faster = 1.25 if line == "graph" else 1
        seconds = lambda one, faster=faster: call_on_ranks(one) / faster  # noqa: E731
        yield case(select(line, source), seconds, ranks=ranks, chunks=chunks)
    for ranks in counts:
        slower = 2 if ranks > 1 else 1
        yield case(select("graph", "larger"), lambda one, slower=slower: slower * call_on_ranks(one), ranks=ranks)


def work_of(workload, sizes):
    """The FLOPs and bytes of a call."""
    return load(workload).cost(complete(workload, sizes))


def bytes_of(case):
    """The bytes of a product."""
    return work_of("gemv", case.sizes).bytes


def phases_on_ranks(case):
    """Seconds of the phases of a product on ranks.

    On the host two ranks are sent as much as a core computes in the same time, four half as much again; in pieces, what
    travels overlaps with the computation, and takes a tenth longer.
    """
    ranks, count = case.tuning["ranks"], bytes_of(case)
    if case.variant in SHIPPING:
        sending, computing = count / SHIPPING[case.variant], count / ranks / GEMV_ON_GPU["cublas"]
    else:
        sending, computing = 2 * (ranks - 1) / ranks * count / CORE, count / CORE / case.cores
    phases = {"scatter": sending or TALK, "broadcast": TALK, "compute": computing, "gather": TALK}
    if case.tuning.get("chunks", 1) == 1:
        return phases
    other = "scatter" if case.tuning["mode"] == "ship" else "gather"
    return {f"{other} and compute": 1.1 * (phases.pop(other) + phases.pop("compute"))} | phases


def call_on_ranks(case):
    """Seconds of the phases that are part of every product."""
    phases = phases_on_ranks(case)
    return sum(phases.values()) - (0 if case.tuning["mode"] == "ship" else phases["scatter"])


def timed_on_ranks(one):
    """The Measurement with its phases."""
    is_on_ranks = "ranks" in one.case.tuning
    return replace(one, phases=phases_on_ranks(one.case), columns={"imbalance": 1.25}) if is_on_ranks else one


BATCH = {"cuda_naive": 120e-6, "cuda_shared": 80e-6, "cuda_tiled": 40e-6, "cuda_mma": 30e-6, "cublas": 36e-6}
ONE_BY_ONE = {"cuda_naive": 125e-6, "cuda_shared": 84e-6, "cuda_tiled": 100e-6, "cuda_mma": 100e-6, "cublas": 120e-6}
COPY = 1e-3  # seconds of the copies to the GPU, and of those back


def mlp():
    """Products at the sizes of the claims, and the training that takes them."""
    case = partial(of_line, "mlp")
    for selection in (select("openmp", "loops"), select("c_openmp", "loops"), "c_openmp"):
        yield case(selection, 0.2)
    for (threads, gain), (name, speed) in itertools.product(THREADS.items(), ON_HOST.items()):
        yield case(select(name, threads=threads), 0.2 / speed / gain)
        yield case(select(f"training/{name}", threads=threads), 0.5 / speed / gain)
    # Times as long as `tiled`, in larger batches too.
    for threads, (name, longer) in itertools.product((1, 2), {"tiled": (1, 1), "numpy_loop": (1.5, 1.3)}.items()):
        for source, times in zip(("peers", "peers, larger"), longer, strict=True):
            one = case(select(f"peers/{name}", source, threads=threads), 0.1 * times / threads)
            yield one
            if name == "tiled":
                pytorch = select("peers/pytorch", source, threads=threads)
                yield case(pytorch, 0.1 * (1.25 if source == "peers" else 1.0) / threads)
    for name in TABLE[1]:
        yield case(select(name, "nn"), 36e-3 / ON_GPU[name])
    for form, longer in {"tn": 1.1, "nt": 8.0}.items():  # times as long as `nn`, by the naive kernel
        yield case(select("cuda_naive", form), 36e-3 * longer)
        yield case(select("cuda_shared", form), 24e-3)
    for rows, seconds in ((100, 1e-5), (60000, 6e-4)):
        yield case(select("cublas", "rows"), seconds, m=rows)
    yield case("tf32/cuda_mma", 1e-3)
    for line, seconds in (("tf32/cublas", 5e-4), (select("cublas", "single"), 4e-3)):
        yield case(line, seconds)
    for graph, times in (("off", ONE_BY_ONE), ("on", BATCH)):
        for name, seconds in times.items():
            yield case(select(f"training/{name}", graph=graph), 600 * seconds)
    for graph, seconds in (("off", 500e-6), ("on", 90e-6)):
        yield case(select("pytorch_cuda", graph=graph), 600 * seconds)
    # With its copies an epoch takes as long as by `blas` on twelve threads.
    epoch = 0.5 / ON_HOST["blas"] / THREADS[12] - 2 * COPY
    yield case(select("training/cublas", "few images", graph="off"), epoch)
    for name, dtype in itertools.product(("tiled", "blas"), DTYPES):
        yield of("mlp", "host", "mlp_accuracy", 0.1, dtype=dtype, product=name, threads=2)


def operations(one, products=0.995):
    """The Measurement of a training with its operations, of which plain loops take so much, or with what it learns.

    On the GPU those of products of few tiles take less than their launches; as a graph none is known.
    """
    tuning = one.case.tuning
    if one.case.variant not in ("host", "cuda") or tuning.get("graph") == "on":
        return one
    if one.experiment == "mlp_accuracy":
        point = {"loss_bound": 1e-9, "accuracy": 0.9}
        epochs = (1, 2, one.case.sizes["epochs"])
        curve = ({"epoch": epoch, "loss": 1 / epoch, "reference_loss": 1 / epoch} | point for epoch in epochs)
        return replace(one, curve=tuple(curve))
    is_slow = one.case.variant == "host" or tuning["product"] in ("cuda_naive", "cuda_shared")
    shares = training_shares(products if tuning["product"] == "openmp" else 0.85)
    shares = {name: share * (1.0 if is_slow else 0.3) for name, share in shares.items()}
    one = split(one, shares)
    return one if one.case.variant == "host" else replace(one, phases=one.phases | dict.fromkeys(COPIES, COPY))


LOOPS = {"before": 40.0, "loop_order": 4.0, "temporaries": 3.2, "fusion": 2.5, "associativity": 2.0}
# How many times as fast a loop is with flags: the compiler does by itself what `fusion` and `associativity` do.
FLAGS = {"O2": 1.0, "O3": 1.0, "unroll": 1.0, "fast": 1.0, "native": 2.0, "all": 4.0, "bounds": 1.0}
GAINS = {"before": 0.0, "loop_order": 0.5, "temporaries": 1.0, "fusion": 0.5, "associativity": 0.25}
# Seconds of an epoch on one thread, and on the GPU.
BY_THREADS = {"openmp": 2.0 / math.sqrt(2), "blas": 0.5, "tuned": 0.25, "numpy_loop": 0.625, "pytorch": 0.5}
BY_THREADS |= {"by hand": 0.4}
EPOCHS = {"cuda_flat": 40e-3, "cuda_kernels": 10e-3, "cuda": 0.8e-3, "cuda_fused": 0.4e-3, "tf32": 0.2e-3}
EPOCHS |= {"pytorch_cuda": 0.6e-3, "pytorch_cuda/tf32": 0.5e-3}
# Times as long with one tuning changed; 1 where none is named.
RATIOS = {("update", "owner"): 1.5, ("update", "atomic"): 16.0, ("operands", "global"): 2.0, ("index", "walk"): 1.5}
RATIOS |= {("error", "emulated"): 1.25, ("block", 64): 1.1, ("block", 512): 1.2}
# The shares of the macro blocks of the untuned program, and of the kernels' phases, whose flattening is no part of it.
BLOCKS = {"products": 0.4, "activations": 0.05, "error": 0.01, "deltas": 0.04, "weight change": 0.4, "update": 0.1}
KERNELS = {f"{number} kernel of the {name}": 1 / 11 for number, name in enumerate(["products", "change"] * 5)}
KERNELS |= {"10 update": 1 / 11, "flatten": 1.0}


def by_block(one):
    """The Measurement of an epoch with its phases, and with a curve: the error falls like 1 / epoch."""
    if one.case.workload != "backprop":
        return one
    one = split(
        one, {"before": BLOCKS, "cuda_kernels": KERNELS}.get(one.case.variant, {"patterns": 0.5, "change": 0.5})
    )
    losses = {epoch: one.case.sizes["images"] / epoch for epoch in range(1, one.case.sizes["epochs"] + 1)}
    curve = [{"epoch": e, "loss": loss, "reference_loss": loss, "loss_bound": 1.0} for e, loss in losses.items()]
    return replace(one, curve=tuple(curve)) if one.experiment == "backprop_learning" else one


def backprop():
    """Back-propagation: techniques, flags, threads, kernels and curves."""
    case, ladder = partial(of_line, "backprop"), "backprop_ladder"
    yield case("before", LOOPS["before"], epochs=1)
    for name in STEPS:
        yield case(name, LOOPS[name], ladder)
    yield case("all flags", LOOPS["associativity"] / FLAGS["all"] ** GAINS["associativity"], ladder)
    for (name, seconds), (flags, gain) in itertools.product(LOOPS.items(), FLAGS.items()):
        experiment = "backprop_flags_before" if name == "before" else "backprop_flags"
        flagged = select(name, "flags", flags=flags)
        yield case(flagged, seconds / 3 / gain ** GAINS[name], experiment, images=20000)
    for threads in (1, 2, 4):
        for name, seconds in BY_THREADS.items():
            yield case(name, seconds / threads, ladder, threads=threads)
        yield case("openmp", 1.5 * BY_THREADS["openmp"] / threads, ladder, threads=threads, update="owner")
        yield case("tasks", 0.04 / threads, workload="pattern_input", threads=threads)
    yield case("serial", 0.04, workload="pattern_input")
    for name, seconds in EPOCHS.items():
        yield case(name, seconds)
    for line, changes in CHANGES.items():
        given = ({"images": 20000, "threads": 2}, 0.1) if line == "openmp" else ({"images": 60000}, 10e-3)
        yield case(changed(line), given[1], **given[0])
        for name, value in ((name, value) for name, values in changes.items() for value in values):
            yield case(changed(line, **{name: value}), given[1] * RATIOS.get((name, value), 1), **given[0])
    for name, seconds, given in (("tuned", 0.02, {"threads": 2}), ("numpy_loop", 0.04, {"threads": 2})):
        yield case(select(name, "learning"), seconds, images=6000, epochs=120, **given)
    yield case(select("cuda_fused", "learning on a GPU"), 1e-4, images=6000, epochs=120)


# Seconds of an iteration at n = 512, and at n = 32768.
ITERATIONS = {"openmp/two products": 128e-6, "cublas/launched": 24e-6, "cublas": 8e-6, "cuda_fused/launched": 16e-6}
ITERATIONS |= {"cuda_fused": 4e-6, "cuda_persistent": 2e-6, "cuda_cluster": 1.6e-6, "cuda_symmetric": 6.4e-6}
ITERATIONS |= {"numpy_loop": 80e-6, "cupy_loop": 136e-6}
LARGE = {"cublas": 1.1e-3, "cuda_fused": 1e-3, "cuda_persistent": 1e-3, "cuda_symmetric": 0.58e-3, "cupy_loop": 1.2e-3}
# Seconds of a solve, and how they grow with n: Cholesky is the cheapest of all below n = 1024.
SOLVES = {
    ("blas", "steepest"): (8e-8, 2),
    ("blas", "cg"): (2e-8, 2),
    ("scipy_cg", "cg"): (3e-8, 2),
    ("scipy_cholesky", "direct"): (2e-11, 3),
    ("cuda_persistent", "steepest"): (2e-10, 2),
    ("cuda_persistent", "cg"): (4e-11, 2),
    ("cuda_symmetric", "steepest"): (4e-10, 2),
    ("cuda_symmetric", "cg"): (8e-11, 2),
    ("cupy_cg", "cg"): (2e-9, 2),
    ("cusolver", "direct"): (1e-13, 3),
}
STEPS_OF = {"steepest": 400, "cg": 50, "direct": 0}
# Seconds of a kernel: a launch, and its elements; swapped reductions take longer.
LAUNCH, ELEMENT = 2e-6, 4e-12


def descent():
    """Linear systems: iterations, solves, convergence and elementary kernels."""

    def case(selection, seconds, steps=100, **stated):
        return of_line("descent", selection, steps * seconds, facts={"steps": steps}, **stated)

    for line, seconds in ITERATIONS.items():
        yield case(line, seconds)
    for threads in (1, 2, 4):
        yield case("openmp", 64e-6 / threads, threads=threads)
    yield case("blas", 12e-6, threads=4)
    for block in (32, 128, 512):
        yield case(select("cuda_version2", block=block), 160e-6, load=4)
    yield case("cuda_persistent", 4e-6, dtype="float64")
    for line, seconds in (("cuda_version1", 80e-6), (select("cuda_cluster", "small"), 1e-6)):
        yield case(line, seconds)
    for line, seconds in LARGE.items():
        for form in ({"product": "gemv"}, {"product": "symv"}) if line == "cublas" else ({},):
            yield case(select(line, "large", **form), seconds, 20, iterations=20)
    experiments = {"blas": "descent_threads", "scipy_cholesky": "descent_direct", "cusolver": "descent_direct"}
    for (name, algorithm), (scale, power) in SOLVES.items():
        limits = {"iterations": 1} if algorithm == "direct" else {"iterations": 2000, "tolerance": 1e-4}
        counts = {"blas": (2, 4), "scipy_cg": (2,), "scipy_cholesky": (2,)}.get(name, (None,))
        for n, threads in itertools.product((512, 1024, 2048, 4096, 8192, 16384), counts):
            given = {"n": n, "algorithm": algorithm, "start": "random"} | ({"threads": threads} if threads else {})
            seconds, facts = scale * n**power * (0.5 if threads == 4 else 1), {"steps": STEPS_OF[algorithm]}
            experiment = experiments.get(name, "descent_solution")
            yield of("descent", name, experiment, seconds, facts=facts, **limits, **given)
    largest = {"tolerance": 1e-4, "iterations": 2000, "algorithm": "cg", "start": "random"}
    for line, seconds in {"cuda_fused": 0.025, "cuda_symmetric": 0.015}.items():
        yield case(select(line, "largest"), seconds, 50, **largest)
    starts = {"steepest": "worst", "cg": "random"}
    for kappa, algorithm, recompute in itertools.product((10.0, 100.0, 1000.0), starts, (0, 50)):
        given = {"n": 4096, "kappa": kappa, "iterations": 200, "algorithm": algorithm, "start": starts[algorithm]}
        for name, tuning in (("blas", {"threads": 2}), ("cuda_fused", {"graph": "on"})):
            seconds, stated = 4e-3 * (1.02 if recompute else 1), given | tuning | {"recompute": recompute}
            yield of("descent", name, "descent_convergence", seconds, facts={"steps": 200}, **stated)
    names = ("init", "product", "reduction", "transpose", "scale", "vecdif", "vecsum")
    for name, (block, n, load_of) in itertools.product(names, (*COLUMNS, (512, 512, 4), (512, 4096, 4))):
        seconds = LAUNCH + ELEMENT * n ** (2 if name in names[:3] else 1)
        for launch in filter(None, ("right", {"reduction": "swapped", "vecsum": "square"}.get(name))):
            given = {"kernel": name, "n": n, "block": block, "load": load_of, "launch": launch}
            slower = 1.5 if launch == "swapped" and block == 512 else 1
            yield of("descent_kernel", "cuda_version2", "descent_kernels", slower * seconds, **given)


def converging(one):
    """The Measurement with its steps and, where it says so, its curve; on a GPU with its energy.

    The reported residual is 1e-6 or, recomputed, 1e-7 of |b|, 64, from the true one.
    """
    if one.case.workload != "descent":
        return one
    one = replace(one, facts=one.facts or {"steps": one.case.sizes["iterations"]})
    if device(one.case) == "cuda":
        one = replace(one, columns={"joules": 500 * one.seconds, "sustained": one.seconds})
    if one.experiment != "descent_convergence":
        return one
    checks = {"true residual": (6.4e-6 if one.case.tuning.get("recompute") else 6.4e-5, 1e-3)}
    return replace(one, curve=tuple(residuals(one.case)), checks=checks)


def residuals(case):
    """The points of a curve, fewer of them towards the end: what the theory says or, recomputed, rounding's 1e-6.

    A residual that is computed anew shows the error that the recurrence had lost sight of. That of steepest descent
    falls again from there; that of CG stays.
    """
    kappa, is_cg, every = case.sizes["kappa"], case.sizes["algorithm"] == "cg", case.tuning.get("recompute")
    root = math.sqrt(kappa) if is_cg else kappa
    rate = (root - 1) / (root + 1)
    for step in [*range(50), *range(50, case.sizes["iterations"] + 1, 10)]:
        since = step % every if every else step
        reported = rate**step if rate ** (step - since) > 1e-6 else 1e-6 * (1 if is_cg else rate**since)
        residual = 4096 * reported**2
        yield {"step": step, "residual": residual, "reference": residual, "bound": residual}


# Seconds of a picture, by the key of a line; on the host on one thread.
PICTURE = {"loops": 100e-3, "parity": 20e-3, "parity-threads": 20e-3, "blas": 8e-3, "tuned": 4e-3, "mixed": 3e-3}
PICTURE |= {"pytorch": 6e-3, "naive": 400e-6, "card-parity": 200e-6, "two": 100e-6, "three": 20e-6, "four": 7e-6}
PICTURE |= {"window": 6e-6, "tf32": 1.5e-6, "float16": 0.75e-6, "brought": 0.6e-6, "home": 6e-6, "home-tf32": 1.5e-6}
PICTURE |= {"home-brought-tf32": 1.4e-6, "home-float16": 1.5e-6, "home-brought": 1.4e-6, "peer": 12e-6}
PICTURE |= {"peer-tf32": 3e-6, "peer-float16": 1.5e-6, "peer-home": 12e-6, "peer-home-tf32": 3e-6}
PICTURE |= {"peer-home-float16": 3e-6}
# The same of other forms: kernels in batches of other sizes, with other epilogues, as a graph, in one batch.
FORMS_OF_PICTURES = [(select("window", batch=batch), 64e-6 / batch) for batch in (1, 16, 100, 256)]
FORMS_OF_PICTURES += [(select("window", epilogue=name), 9e-6) for name in ("separate", "folded")]
FORMS_OF_PICTURES += [(select("window", graph="on"), 5e-6), (select("window", batch=dcgan_lines.IMAGES), 6e-6)]
FORMS_OF_PICTURES += [(select("brought", **dcgan_lines.TAPERED, graph="on"), 1.12e-6)]
FORMS_OF_PICTURES += [
    (select("brought", math=name, batch=dcgan_lines.IMAGES), seconds)
    for name, seconds in (("tf32", 1.4e-6), ("float16", 0.6e-6))
]
PICTURE_TO_HOST = 1.35e-6
WAYS = {"pinned": 1.0, "staged": 8.0, "pageable": 4.0}  # times as long as the least, by memory
LAYERS = {"projection": 0.02, "layer 1": 0.3, "layer 2": 0.3, "layer 3": 0.3, "layer 4": 0.08}
# Seconds of a call for no picture, and of a process's start, by GPUs; those of a rank are the same.
CALL, START = {1: 0.5e-3, 2: 1e-3, 4: 2e-3}, {1: 0.4, 2: 0.7, 4: 1.3}


def by_layer(one):
    """The Measurement of pictures with their layers, and with what a GPU tells."""
    name = one.case.variant
    if one.case.workload != "dcgan":
        return one
    if name not in ("host", "pytorch"):
        columns = {"joules": 5e-3 * one.case.sizes["images"], "sustained": one.seconds * (1.1 if name == "home" else 1)}
        columns["cold_start"] = START.get(one.case.tuning.get("gpus", 1), 2.0) + one.seconds
        one = replace(one, columns=columns)
    one = split(one, LAYERS if name in ("host", "cuda") else {})
    link = {"to host": PICTURE_TO_HOST * one.case.sizes["images"]} if name == "cuda" else {}
    return replace(one, phases=one.phases | link)


def dcgan():
    """The generator: rungs on host and GPU, batches and copies to the host, several GPUs."""
    lines, images = dcgan_lines, dcgan_lines.IMAGES

    def case(selection, seconds, count=images, **stated):
        return of_line("dcgan", selection, count * seconds, **({"images": count} | stated))

    for key, seconds in PICTURE.items():
        line = lines.LINES[key]
        experiment = lines.HOME if "home" in line.variant else None
        for threads in (1, 2) if line.tuning.get("threads") == MAX else (None,):
            if (key, threads) != ("parity-threads", 1):  # which is `parity`
                count = lines.ON_HOST if line.source == "host" else images
                given = {"threads": threads} if threads else {}
                yield case(key, seconds / (threads or 1), count, experiment=experiment, **given)
    for selection, seconds in FORMS_OF_PICTURES:
        yield case(selection, seconds)
    for (memory, longer), (copies, twice) in itertools.product(WAYS.items(), {"after": 2, "hidden": 1}.items()):
        for dtype, seconds in (("float32", 6e-6), ("float16", 1e-6)):
            stated = {"memory": memory, "copies": copies}
            if dtype == "float16" and memory == "pinned":
                stated = {} if copies == "hidden" else {"copies": copies}
            yield case(select(f"copied-{dtype}", **stated), seconds * longer * twice, experiment=lines.HOME)
    for name, seconds in (("tf32", 1.4e-6), ("float16", 0.7e-6)):
        yield case(select("screen", math=name), seconds)
    for first, seconds in {2: 200e-6, 3: 100e-6, 4: 130e-6}.items():
        yield case(select("split", split=first), seconds, 1000)
    for name, seconds in {"cuda_shared": 10e-3, "cuda_columns": 5e-3, "cuda_tiled": 2e-3}.items():
        yield of("gemm", name, "gemm_gpu_float32", seconds, **lines.SOURCES["products"].conditions)
    # The layers, of which `cuda_implicit` reaches 40 TFLOP/s.
    methods = {
        "cuda_implicit": (1, {}),
        "cuda_im2col": (3, {"product": "cublas"}),
        "cuda_col2im": (2, {"product": "cublas"}),
    }
    for (h, c, k), (name, (longer, given)) in itertools.product(layout.layers(layout.FULL), methods.items()):
        sizes, experiment = {"images": 640, "h": h, "c": c, "k": k}, ("tconv_gpu_large", "tconv_gpu_pictures")[h == 32]
        yield of("tconv", name, experiment, longer * work_of("tconv", sizes).flops / 4e13, **sizes, **given)
    yield from on_several()


def on_several():
    """The same on one GPU and more."""
    images = dcgan_lines.IMAGES

    def case(way, experiment, seconds, count, number=images):
        given = {"images": number, "ranks" if way == "ranks" else "gpus": count}
        given |= formats.VARIANTS["offload"][1] if way in ("threads", "graph", "tapered") else {}
        return of_line("dcgan", way, seconds, experiment, **given)

    def threads(number, count):
        return CALL[count] * (number < 200) + number * PICTURE["home"] / count

    def graph(number, count):  # which lets several do four fifths of what they would
        return threads(number, count) * (1.25 if count > 1 else 1)

    for count in CALL:
        for number in (10, 100, 200, 1000, images):
            seconds = threads(number, count)
            yield case("threads", dcgan_lines.CARDS, seconds, count, number)
            yield case("ranks", dcgan_lines.RANKS, seconds * (1 if number == images else 1.5), count, number)
        yield case("pageable", dcgan_lines.PAGEABLE, threads(images, 1), count)
        if count != 2:
            yield case("half", dcgan_lines.HALF, threads(images, 1) / 5, count)
        yield case("graph", dcgan_lines.GRAPH, graph(images, count), count)
        yield case("tapered", dcgan_lines.GRAPH, threads(images, count) * (2 if count > 1 else 1), count)
        for way, seconds in {"threads": threads, "graph": graph, "ranks": threads}.items() if count > 1 else ():
            yield case(way, dcgan_lines.WEAK, seconds(count * images, count), count, count * images)


# By chapter: its cases with their seconds, and what their runs tell beside these.
CHAPTERS = {
    "gemm": (lambda: itertools.chain(gemm(), gemm_on_gpu()), checked),
    "mlp": (mlp, operations),
    "gemv": (gemv, timed_on_ranks),
    "backprop": (backprop, by_block),
    "descent": (descent, converging),
    "dcgan": (dcgan, by_layer),
}


@functools.cache
def measurements(workload):
    """All Measurements of a chapter, with the ceilings, by experiment."""
    cases, complete = CHAPTERS[workload]
    every = {}
    for one in (*map(complete, cases()), *(ceilings() if workload != "gemm" else ())):
        every.setdefault(one.experiment, []).append(one)
    return every


@functools.cache
def whole(workload):
    """The study of all of them, made once: leave its tables as they are."""
    return made_up.study(itertools.chain(*measurements(workload).values()))


def study(workload, drop=None, factor=None, change=None, machine=MACHINE):
    """A study without some cases, with others' times changed, or with other Measurements; ceilings stay."""

    def altered(one):
        if one.experiment.startswith("ceiling_"):
            return one
        if drop and drop(one.case):
            return None
        one = one.times(factor(one.case)) if factor and factor(one.case) != 1 else one
        return change(one) if change else one

    tables = {}
    for experiment, some in measurements(workload).items():
        kept = [new for new in map(altered, some) if new]
        if len(kept) == len(some) and all(new is old for new, old in zip(kept, some, strict=True)):
            frames = whole(workload).tables[experiment].items()
            tables[experiment] = {name: on_machine(frame, machine) for name, frame in frames}
        else:
            tables |= made_up.tables(kept, machine, math.inf)
    return Study(tables, machine, {machine: made_up.description()})


def on_machine(frame, machine):
    """A table as another machine's."""
    return frame if frame.empty or machine == MACHINE else frame.assign(machine=machine)
