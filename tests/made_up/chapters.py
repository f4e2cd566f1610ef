"""Made-up times of every workload, and the studies of chapters with all cases that `config/config.yaml` plans.

The `lines.py` of a chapter lists the experiments that it reads. For each of their cases, the rule of its workload below
returns the fields of a Measurement: the seconds of a call, and further results.
"""

import functools
import math

import drawings
import made_up
from ladder.catalogue.traits import device
from ladder.catalogue.workloads import load
from ladder.report.telling import chapter_study
from ladder.store.study import Study

WORKLOADS = ("gemm", "mlp", "gemv", "backprop", "descent", "dcgan")
CORES = 24
# The measured numbers of threads, and of ranks or GPUs.
THREADS, RANK_COUNTS = (1, 2, 4, 12, 24), (1, 2, 4)
COPIES = ("to device", "to host")
# Claims that need several nodes, fewer cores, a name that the study doesn't give, or a program that isn't written.
UNTESTED_CLAIMS = {"nodes", "hybrid", "rises/openmp", "rises/blas", "schedule", "constant"}
# Bytes per second: of memory per thread, of the GPU's memory, of the link to the GPU.
THREAD_BANDWIDTH, GPU_BANDWIDTH, LINK_BANDWIDTH = 12.5e9, 4.4e12, 50e9


def cost_of(case):
    """The cost of a call: its FLOPs and bytes."""
    return load(case.workload).cost(case.sizes)


def phase_seconds(seconds, shares):
    """The seconds of phases, {phase: seconds}, from their shares of a call."""
    return {phase: share * seconds for phase, share in shares.items()}


def learning_curve(case, loss):
    """The points of a learning curve whose loss falls like 1 / epoch."""
    epochs = range(1, case.sizes["epochs"] + 1)
    points = [{"epoch": epoch} | dict.fromkeys(("loss", "reference_loss"), loss / epoch) for epoch in epochs]
    return tuple(point | {"loss_bound": 1e-9, "accuracy": 0.9} for point in points)


def stream(case):
    """Memory-bound; on a GPU with copies of the arrays that the kernel reads and writes, or 8 MB if it writes none."""
    if case.variant != "cuda":
        return {"seconds": cost_of(case).bytes / THREAD_BANDWIDTH / case.threads}
    array_counts = {"read": (1, 0), "copy": (1, 1), "triad": (2, 1)}[case.sizes["kernel"]]
    copy_seconds = [(8 * case.sizes["elements"] * count or 8e6) / LINK_BANDWIDTH for count in array_counts]
    return {"seconds": cost_of(case).bytes / GPU_BANDWIDTH, "phases": dict(zip(COPIES, copy_seconds, strict=True))}


# FLOP/s of matrix products on a thread and on a GPU, and the speed-up on a GPU by other precisions.
THREAD_FLOPS = {"openmp": 2e9, "c_openmp": 2e9, "interchanged": 8e9, "tiled": 50e9, "blas": 50e9, "pytorch": 40e9}
GPU_FLOPS = {"cuda_naive": 2.5e12, "cuda_shared": 3.75e12, "cuda_columns": 7.5e12, "cuda_tiled": 25e12}
GPU_FLOPS |= {"cuda_mma": 50e12, "cuda_packed": 45e12, "cuda_skinny": 20e12, "cuda_tma": 50e12, "cuda_wgmma": 300e12}
GPU_FLOPS |= {"cublas": 50e12, "cublas_mixed": 50e12, "cublas_lt": 50e12}
PRECISION_SPEEDUPS = {"default": 1, "tf32": 6, "float16": 8, "bfloat16": 8, "tf32x3": 2}
NAIVE_FACTORS = {"nn": 1.0, "tn": 1.1, "nt": 8.0}  # times as long, by the form of the product
# The speed-up levels off at 4 threads and falls at 24.
THREAD_SPEEDUPS = {1: 1.0, 2: 2.0, 4: 3.6, 6: 3.7, 12: 3.8, 24: 1.9}
CHECKS = {"product": (0.1, 1.0)}  # (error, bound)


def gemm(case):
    """Products with 100 rows reach a tenth of the rate; `cuda_mma` in float32 has half of cuBLAS's gain by TF32."""
    name, sizes = case.variant, case.sizes
    if name in THREAD_FLOPS:
        return {"seconds": cost_of(case).flops / THREAD_FLOPS[name] / THREAD_SPEEDUPS[case.threads], "checks": CHECKS}
    rate = GPU_FLOPS[name] * PRECISION_SPEEDUPS[case.tuning.get("math", "default")] / (10 if sizes["m"] == 100 else 1)
    rate *= 3 if name == "cuda_mma" and sizes["dtype"] == "float32" else 1
    seconds = cost_of(case).flops / rate * (NAIVE_FACTORS[sizes["form"]] if name == "cuda_naive" else 1)
    copies, columns = dict.fromkeys(COPIES, seconds), {"throttled": name == "cublas"}
    return {"seconds": seconds, "phases": copies, "columns": columns, "checks": CHECKS}


# Seconds of a batch on a GPU, (without, with) a graph; of a batch's copies; peers' times over ours.
BATCH_SECONDS = {"cuda_naive": (125e-6, 120e-6), "cuda_shared": (84e-6, 80e-6), "cuda_tiled": (100e-6, 40e-6)}
BATCH_SECONDS |= {"cuda_mma": (100e-6, 30e-6), "cublas": (120e-6, 36e-6), "pytorch_cuda": (500e-6, 90e-6)}
BATCH_SECONDS |= {"cuda_fused": (40e-6, 25e-6), "cuda_fused_mma": (35e-6, 22e-6), "cuda_persistent": (20e-6, 20e-6)}
BATCH_COPY_SECONDS = {"pageable": 7.7e-3, "pinned": 2e-3}
PEER_FACTORS = {"numpy_loop": 1.5, "pytorch": 1.25}


def mlp(case):
    """Trainings by operation; on a GPU, operations add up to the call only with `cuda_naive` and `cuda_shared`."""
    name, sizes, graph = case.variant, case.sizes, case.tuning.get("graph")
    product = case.tuning.get("product", "tiled")
    if device(case) == "host":
        rate = THREAD_FLOPS[product] * THREAD_SPEEDUPS[case.threads]
        seconds = cost_of(case).flops / rate * PEER_FACTORS.get(name, 1)
    else:
        seconds = BATCH_SECONDS[name if name in BATCH_SECONDS else product][graph != "off"]
        seconds = (seconds + BATCH_COPY_SECONDS.get(case.tuning.get("memory"), 0)) * sizes["images"] / sizes["batch"]
    fields = {"seconds": seconds, "curve": learning_curve(case, 1), "checks": CHECKS}
    if name not in ("host", "cuda") or graph == "on":
        return fields
    product_share = 0.995 if product == "openmp" else 0.85  # of a training's operations
    shares = {"forward 1": 0.3, "forward 2": 0.2, "gradient 1": 0.3, "delta 1": 0.2}  # of the products
    shares = {"update": 1 - product_share} | phase_seconds(product_share, shares)
    phases = phase_seconds(seconds * (0.3 if product in ("cuda_tiled", "cuda_mma", "cublas") else 1), shares)
    return fields | {"phases": phases | (dict.fromkeys(COPIES, 0.9e-3) if name == "cuda" else {})}


# Bytes per second of a matrix-vector product: of a thread, with factors by binding or schedule; of GPUs; of sending.
GEMV_THREAD_BANDWIDTH = 10e9
GEMV_FACTORS = {"spread": 1.2, "close": 0.6, "dynamic": 0.5}
GEMV_GPU_BANDWIDTH = {"cuda_naive": 1e12, "cuda_coalesced": 2.5e12, "cuda_shared": 3e12}
GEMV_GPU_BANDWIDTH |= {"cuda_warp": 4.3e12, "cublas": 4.2e12}
SEND_BANDWIDTH = {"mpi_cublas": 12e9, "nccl_cublas": 49e9}


def gemv(case):
    """Products of matrix and vector; cuBLAS is half as fast on a small matrix, and so are several GPUs on the largest.

    On the host, sending a byte to another rank takes twice as long as computing with it on a core. In chunks, both are
    one phase, which takes a tenth longer. A short message takes 100 ns.
    """
    name, tuning, ranks, byte_count = case.variant, case.tuning, case.ranks, cost_of(case).bytes
    if "ranks" not in tuning:
        factor = GEMV_FACTORS.get(tuning.get("binding") or tuning.get("schedule"), 1)
        rate = GEMV_GPU_BANDWIDTH[name] if device(case) == "cuda" else GEMV_THREAD_BANDWIDTH * factor * case.threads
        return {"seconds": byte_count / rate * (2 if name == "cublas" and case.sizes["n"] == 1000 else 1)}
    if name in SEND_BANDWIDTH:
        sending, computing = byte_count / SEND_BANDWIDTH[name], byte_count / ranks / GEMV_GPU_BANDWIDTH["cublas"]
    else:
        seconds = byte_count / GEMV_THREAD_BANDWIDTH
        sending, computing = 2 * (ranks - 1) / ranks * seconds, seconds / case.cores
    phases = {"scatter": sending or 1e-7, "broadcast": 1e-7, "compute": computing, "gather": 1e-7}
    if tuning.get("chunks", 1) > 1:
        overlapped = "scatter" if tuning["mode"] == "ship" else "gather"
        phases[f"{overlapped} and compute"] = 1.1 * (phases.pop(overlapped) + phases.pop("compute"))
    seconds = sum(phases.values()) - (0 if tuning["mode"] == "ship" else phases["scatter"])
    seconds *= (0.8 if tuning.get("graph") else 1) * (2 if case.sizes["n"] == 131072 and ranks > 1 else 1)
    return {"seconds": seconds, "phases": phases, "columns": {"imbalance": 1.25}}


# Seconds of an epoch of 60,000 images on one thread, or on a GPU.
EPOCH_SECONDS = {"before": 40.0, "loop_order": 16.0, "contiguous": 4.0, "temporaries": 3.2, "fusion": 2.5}
EPOCH_SECONDS |= {"associativity": 2.0, "openmp": 1.2, "blas": 0.5, "tuned": 0.25, "numpy_loop": 0.625, "pytorch": 0.5}
EPOCH_SECONDS |= {"cuda_flat": 40e-3, "cuda_kernels": 10e-3, "cuda": 0.8e-3}
EPOCH_SECONDS |= {"cuda_fused": 0.4e-3, "pytorch_cuda": 0.6e-3}
# The speed-up of flags over O2, to a power that depends on the loop: the compiler does part of the last two by itself.
FLAG_SPEEDUPS = {"native": 2, "all": 4, "study": 4}
FLAG_EXPONENTS = {"contiguous": 0.5, "temporaries": 1, "fusion": 0.5, "associativity": 0.25}
# The factor on the time by a value of a tuning; 1 for all others.
TUNING_FACTORS = {("update", "owner"): 1.5, ("update", "atomic"): 16.0}
TUNING_FACTORS |= {("operands", "global"): 2.0, ("index", "walk"): 1.5}
TUNING_FACTORS |= {("error", "emulated"): 1.25, ("gradients", "by_hand"): 0.8, ("math", "tf32"): 0.5}
# The shares of macro blocks in the first programs, and of phases in `cuda_kernels`; flattening is beside the epoch.
BLOCK_SHARES = {"before": {"forward": 0.1, "error": 0.02, "weight change": 0.87, "update": 0.01}}
BLOCK_SHARES["loop_order"] = {"forward": 0.3, "weight change": 0.7}
BLOCK_SHARES["cuda_kernels"] = {"1 products": 0.5, "2 change": 0.3, "10 update": 0.15, "give back": 0.05, "flatten": 1}


def backprop(case):
    """Back-propagation, with an error of 1 per image in the first epoch."""
    name, sizes, tuning = case.variant, case.sizes, case.tuning
    seconds = EPOCH_SECONDS[name] * sizes["images"] / 60000 / case.threads
    seconds /= FLAG_SPEEDUPS.get(tuning.get("flags"), 1.0) ** FLAG_EXPONENTS.get(name, 0.0)
    seconds *= math.prod(TUNING_FACTORS.get(pair, 1) for pair in tuning.items())
    phases = phase_seconds(seconds, BLOCK_SHARES.get(name, {"patterns": 0.5, "change": 0.5}))
    return {"seconds": seconds, "phases": phases, "curve": learning_curve(case, sizes["images"])}


# (Seconds of launches and barriers, bytes of A per second) of an iteration, on a thread or on the GPU.
ITERATION_COSTS = {"openmp": (0, 16e9), "blas": (0, 22e9), "numpy_loop": (80e-6, 16e9), "scipy_cg": (0, 15e9)}
ITERATION_COSTS |= {"cuda_version1": (80e-6, math.inf), "cuda_version2": (160e-6, math.inf), "cublas": (8e-6, 3.9e12)}
ITERATION_COSTS |= {"cuda_fused": (4e-6, 4.3e12), "cuda_persistent": (2e-6, 4.3e12), "cuda_cluster": (1.6e-6, 4.3e12)}
ITERATION_COSTS |= {"cuda_symmetric": (6.4e-6, 7.4e12), "cupy_loop": (136e-6, 3.6e12), "cupy_cg": (40e-6, 3.6e12)}
LAUNCH_FACTORS = {"cublas": 3, "cuda_fused": 4}  # the factor on the seconds of launches without a graph
CHOLESKY_FACTORS = {"scipy_cholesky": 4.5e-12, "cusolver": 1e-12}  # seconds per n^3
STEPS_TO_TOLERANCE = {"steepest": 400, "cg": 50, "direct": 0}


def descent(case):
    """Linear systems: by Cholesky, or by iterations, which read A once, and again to recompute a residual.

    A GPU takes 500 W.
    """
    sizes, recompute, method = case.sizes, case.tuning.get("recompute"), case.sizes["algorithm"]
    steps = STEPS_TO_TOLERANCE[method] if sizes["tolerance"] or method == "direct" else sizes["iterations"]
    if method == "direct":
        seconds = CHOLESKY_FACTORS[case.variant] * sizes["n"] ** 3
    else:
        waiting, rate = ITERATION_COSTS[case.variant]
        waiting *= LAUNCH_FACTORS.get(case.variant, 1) if case.tuning.get("graph") == "off" else 1
        waiting *= 0.8 if case.tuning.get("launch") == "right" else 1
        reading = sizes["n"] ** 2 * int(sizes["dtype"][-2:]) / 8 / rate / case.threads
        seconds = steps * max(waiting, reading) * (1 + 1 / recompute if recompute else 1)
    columns = {"joules": 500 * seconds, "sustained": seconds} if device(case) == "cuda" else {}
    fields = {"seconds": seconds, "facts": {"steps": steps}, "columns": columns}
    if recompute is not None and steps == 200:  # |b| is 64; the residual is off by 1e-6 of it, or 1e-7 if recomputed
        fields["checks"] = {"true residual": (6.4e-6 if recompute else 6.4e-5, 1e-3)}
        fields["curve"] = tuple(residuals(case))
    return fields


def residuals(case):
    """The points of a curve of residuals: the theory's, until recomputing reveals an error of 1e-6 in the recurrence.

    From there the residual of steepest descent falls again, and that of CG stays.
    """
    kappa, is_cg, interval = case.sizes["kappa"], case.sizes["algorithm"] == "cg", case.tuning["recompute"]
    root = math.sqrt(kappa) if is_cg else kappa
    rate = (root - 1) / (root + 1)
    for step in [*range(50), *range(50, case.sizes["iterations"] + 1, 10)]:
        steps_since = step % interval if interval else step
        reported = rate**step if rate ** (step - steps_since) > 1e-6 else 1e-6 * (1 if is_cg else rate**steps_since)
        yield {"step": step} | dict.fromkeys(("residual", "reference", "bound"), 4096 * reported**2)  # |b|² is 4096


def descent_kernel(case):
    """Elementary kernels of 2 us plus 4 ps per element."""
    elements = case.sizes["n"] ** (2 if case.sizes["kernel"] in ("init", "product", "reduction", "gemv") else 1)
    return {"seconds": 2e-6 + 4e-12 * elements}


# Seconds of a picture on a thread, by the methods of the first layers and of the last; PyTorch's on a GPU, by `math`.
HOST_PICTURE_SECONDS = {"loops, loops": 100e-3, "parity, parity": 20e-3, "blas, parity": 8e-3, "tuned, tuned": 4e-3}
HOST_PICTURE_SECONDS |= {"tuned, blas": 3e-3, "pytorch": 6e-3}
PYTORCH_PICTURE_SECONDS = {"default": 12e-6, "tf32": 3e-6, "float16": 1.5e-6}
# Seconds of a picture on a GPU, by the method of the first layers, and by their math or number.
KERNEL_PICTURE_SECONDS = {"cuda_naive, 4": 300e-6, "cuda_parity, 4": 200e-6}
KERNEL_PICTURE_SECONDS |= {"cuda_implicit, 2": 100e-6, "cuda_implicit, 3": 20e-6, "cuda_implicit, 4": 7e-6}
KERNEL_PICTURE_SECONDS |= {"cuda_implicit_wgmma, tf32": 1.5e-6, "cuda_implicit_wgmma, float16": 0.75e-6}
KERNEL_PICTURE_SECONDS |= {"cuda_implicit_tma, tf32": 1.4e-6, "cuda_implicit_tma, float16": 0.6e-6}
KERNEL_PICTURE_SECONDS |= {"cuda_im2col, 2": 200e-6, "cuda_im2col, 3": 100e-6, "cuda_im2col, 4": 130e-6}
# Seconds to copy a picture to pinned memory, and the factors of other memory.
PICTURE_COPY_SECONDS, MEMORY_FACTORS = 1.4e-6, {"staged": 8, "pageable": 4}
LAYER_SHARES = {"projection": 0.02, "layer 1": 0.3, "layer 2": 0.3, "layer 3": 0.3, "layer 4": 0.08}
# Seconds of a call for few pictures, and of a process's start, by the number of GPUs or ranks.
CALL_SECONDS, START_SECONDS = {1: 0.5e-3, 2: 1e-3, 4: 2e-3}, {1: 0.4, 2: 0.7, 4: 1.3}


def dcgan(case):
    """The generator on the host, on a GPU, and with its copies on one GPU or more."""
    images, name, tuning, gpus = case.sizes["images"], case.variant, case.tuning, case.tuning.get("gpus", case.ranks)
    if name in ("host", "pytorch"):
        method = name if name == "pytorch" else f"{tuning['first']}, {tuning['last']}"
        seconds = images * HOST_PICTURE_SECONDS[method] / case.threads
        return {"seconds": seconds, "phases": phase_seconds(seconds, LAYER_SHARES if name == "host" else {})}
    if name in ("pytorch_cuda", "pytorch_home"):
        seconds = max(PYTORCH_PICTURE_SECONDS[tuning["math"]], 3e-6 if name == "pytorch_home" else 0)
    else:
        seconds = picture_seconds(case) if name == "cuda" else picture_and_copy_seconds(case, gpus) / gpus
    seconds = seconds * images + (CALL_SECONDS[gpus] if "home" in name and images < 200 else 0)
    phases = phase_seconds(seconds, LAYER_SHARES) | {"to host": PICTURE_COPY_SECONDS * images} if name == "cuda" else {}
    columns = {"joules": 5e-3 * images, "sustained": seconds * (1.1 if name == "home" else 1)}
    cold_start = "cold_start_of_ranks" if name == "mpi_home" else "cold_start"
    return {"seconds": seconds, "phases": phases, "columns": columns | {cold_start: START_SECONDS[gpus] + seconds}}


def picture_seconds(case):
    """Seconds of a picture by kernels: 6 us in float32 if the batch fills the GPU, 1 us by default in other math.

    Separate batch norms take half as long as the rest, and a graph saves a fifth. Products by im2col take twice as long
    in tiles, and ten times as long in batches of one image.
    """
    tuning = case.tuning
    first, math_mode, split = tuning.get("first", "cuda_implicit"), tuning.get("math"), tuning.get("split")
    if math_mode or first != "cuda_implicit" or split == 4 or tuning.get("last") == "cuda_parity":
        seconds = KERNEL_PICTURE_SECONDS.get(f"{first}, {math_mode or split}", 1e-6)
        seconds *= (2 if tuning.get("product") == "cuda_shared" else 1) * (10 if tuning["batch"] == 1 else 1)
    else:
        seconds = max(6e-6 * (1.5 if "epilogue" in tuning else 1), 64e-6 / tuning["batch"])
    return seconds * (0.8 if tuning.get("graph") == "on" and case.variant == "cuda" else 1)


def picture_and_copy_seconds(case, gpus):
    """Seconds of a picture with its copy, which overlaps with kernels or follows them; 8-bit pixels take a quarter.

    On several GPUs, graphs reach four fifths of the rate, tapered batches half, and GPUs share the pageable memory.
    """
    tuning, memory = case.tuning, case.tuning.get("memory")
    copying = PICTURE_COPY_SECONDS * MEMORY_FACTORS.get(memory, 1) / (4 if case.sizes["pictures"] == "uint8" else 1)
    seconds = (sum if tuning.get("copies") == "after" else max)((picture_seconds(case), copying))
    if gpus > 1:
        seconds *= 2 if tuning.get("batches") == "tapered" else 1.25 if tuning.get("graph") == "on" else 1
        seconds *= gpus if memory == "pageable" else 1
    return seconds


RULES = {rule.__name__: rule for rule in (stream, gemm, mlp, gemv, backprop, descent, descent_kernel, dcgan)}
# Multiply-adds at 60 TFLOP/s.
RULES["fma"] = lambda case: {"seconds": cost_of(case).flops / 60e12}
# Layers at 40 TFLOP/s, slower by these factors with a gather before the product or a scatter after it.
TCONV_FACTORS = {"cuda_im2col": 3, "cuda_col2im": 2}
RULES["tconv"] = lambda case: {"seconds": cost_of(case).flops / 40e12 * TCONV_FACTORS.get(case.variant, 1)}
RULES["pattern_input"] = lambda case: {"seconds": 0.04 / case.threads}


def measurement(experiment, case):
    """The Measurement of a case; what PyTorch compiles takes 0.9 times as long."""
    is_compiled = case.tuning.get("compiled") == "on"
    return made_up.Measurement(experiment, case, **RULES[case.workload](case)).scaled(0.9 if is_compiled else 1)


@functools.cache
def measurements(experiment):
    """The Measurements of an experiment's cases that fit on the machine."""
    return [measurement(experiment, case) for case in filter(is_measured, drawings.planned_cases(THREADS)[experiment])]


def is_measured(case):
    """Whether a case fits on the machine; on ranks, only with eight threads or none, and only for some matrices."""
    fits = case.cores <= CORES and {case.ranks, case.tuning.get("gpus", 1)} <= {*RANK_COUNTS}
    has_other_threads = "ranks" in case.tuning and case.tuning.get("threads", 8) != 8
    excluded = {"mpi": (8192,), "mpi_cuda": (2048, 8192)}.get(device(case), ())
    return fits and not has_other_threads and case.sizes.get("n") not in excluded


@functools.cache
def tables(experiment):
    """The tables of these Measurements, cached: don't modify them."""
    return made_up.tables(measurements(experiment))[experiment]


def experiments(workload):
    """The experiments that a chapter reads, except the ceilings."""
    sources = chapter_study.chapter_module(workload, "lines").SOURCES.values()
    return sorted({name for source in sources for name in source.experiments})


def study(workload, drop=None, factor=None, change=None, machine=made_up.MACHINE, **options):
    """A study of a chapter's cases.

    `drop(case)` tells whether a case is missing, `factor(case)` how many times longer it takes, and
    `change(measurement)` returns another Measurement in its place.
    """

    def alter(measurement):
        if drop and drop(measurement.case):
            return None
        scaled = measurement.scaled(factor(measurement.case)) if factor else measurement
        return change(scaled) if change else scaled

    study_tables = {name: tables(name) for name in drawings.configured_cases() if name.startswith("ceiling_")}
    for name in experiments(workload):
        altered = [measurement for measurement in map(alter, measurements(name)) if measurement]
        is_same = altered == measurements(name) and not options
        study_tables |= {name: tables(name)} if is_same else made_up.tables(altered, machine, **options)
    study_tables = {
        experiment: {table: with_machine(frame, machine) for table, frame in frames.items()}
        for experiment, frames in study_tables.items()
    }
    return Study(study_tables, machine, {machine: made_up.description()})


def with_machine(frame, machine):
    """A table with a machine's name."""
    return frame if frame.empty or machine == made_up.MACHINE else frame.assign(machine=machine)


full_study = functools.cache(study)  # with all cases that a chapter reads
