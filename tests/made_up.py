"""A study with times made up by rule, so that what should be said of it is known beforehand."""

import itertools

import numpy as np
import pandas as pd

from ladder.catalogue.workloads import complete, constants, load, precision
from ladder.harness.sensitivity import ELEMENT, ROW
from ladder.harness.sensitivity import cases as sensitivity_cases
from ladder.records.case import Case
from ladder.report import collect
from ladder.report.stored import with_integers
from ladder.report.study import Study

THREADS = (1, 2, 4, 6, 12, 24)
SPEED = {"openmp": 1.0, "interchanged": 4.0, "tiled": 20.0, "blas": 25.0, "c_openmp": 1.0}
SPEED |= {"numpy_loop": 12.0, "pytorch": 11.0}
GPU_SPEED = {"cuda_naive": 1.0, "cuda_shared": 1.5, "cuda_columns": 3.0, "cuda_tiled": 10.0, "cuda_mma": 20.0}
GPU_SPEED |= {"cublas": 22.0}
MIXED_SPEED = {"default": 1.0, "tf32": 6.0, "float16": 8.0, "bfloat16": 8.0, "tf32x3": 2.0}
GPU_TUNINGS = {
    "cuda_naive": [{"block": 16}],
    "cuda_shared": [{"block": 8}, {"block": 16}],
    "cuda_columns": [{"bm": 16, "bn": 64, "bk": 16}],
    "cuda_tiled": [{"bm": 64, "bn": 64, "bk": 16, "tm": 8, "tn": 8, "splitk": 1}],
    "cuda_mma": [{"bm": 128, "bn": 128, "bk": 16, "wm": 64, "wn": 32, "stages": 3, "splitk": 1}],
    "cublas": [{"math": "default"}],
}
MACHINE = "a-machine-with-quite-a-long-name-24c"
TRAINING = {"images": 2000, "batch": 100, "epochs": 3, "rate": 1.0}


def gain(threads):
    """Speed-up by threads: levels off from 4, best at 12, worse at 24."""
    return {1: 1.0, 2: 1.9, 4: 3.7, 6: 3.8, 12: 3.9, 24: 2.0}.get(threads, 1.0)


def case_rows(machine, experiment, case, seconds, processes=3, samples=10, spread=0.002, facts=None):
    """The rows of samples.csv of one case, around a median in seconds; with what its run found, if that is stated."""
    cost = load(case.workload).cost(case.sizes, *([facts] if facts else []))
    noise = np.random.default_rng(len(case.slug)).normal(0, spread, (processes, samples))
    own = {"machine": machine, "experiment": experiment, "workload": case.workload, "variant": case.variant}
    own |= {"case": case.slug, "cache": case.cache} | case.sizes | case.tuning
    own |= {"device": constants(case.workload, case.variant)["DEVICE"], "converged": True}
    own |= vars(cost) | {"precision": precision(case), "threads_found": case.threads} | (facts or {})
    if own["device"] == "cuda":
        own["throttled"] = case.variant == "cublas"
    rows = []
    for process, sample in itertools.product(range(processes), range(samples)):
        time = seconds * np.exp(noise[process, sample])
        rows.append(own | {"process": process, "sample": sample, "phase": "total", "seconds": time})
    return rows


def phases(rows, share):
    """Phases of a training in which products take this share."""
    parts = {"gather": (1 - share) / 2, "forward 1": share / 2, "gradient 1": share / 4, "delta 1": share / 4}
    parts["update"] = (1 - share) / 2
    return [row | {"phase": name, "seconds": row["seconds"] * part} for row in rows for name, part in parts.items()]


def copies(rows):
    """Copies to and from a GPU, each as long as the product."""
    return [row | {"phase": name} for row in rows for name in ("to device", "to host")]


def checks(rows):
    """One comparison per process, a tenth of its bound off."""
    kept = ("machine", "experiment", "workload", "variant", "case", "dtype", "product", "process")
    found = [{name: row[name] for name in kept if name in row} for row in rows if row["sample"] == 0]
    return [row | {"check": "product", "error": 0.1, "bound": 1.0} for row in found]


def curves(rows, sizes):
    """A learning curve per process."""
    points = []
    for row, epoch in itertools.product([row for row in rows if row["sample"] == 0], range(1, sizes["epochs"] + 1)):
        point = {"epoch": epoch, "loss": 1 / epoch, "reference_loss": 1 / epoch, "loss_bound": 1e-9, "accuracy": 0.9}
        points.append(row | point)
    return points


def gemm(form, dtype="float64", m=512, n=512, k=512):
    return complete("gemm", {"form": form, "m": m, "n": n, "k": k, "dtype": dtype})


def mlp(**changes):
    return complete("mlp", TRAINING | {"source": "mnist"} | changes)


def cases():
    """(experiment, case, seconds) of a whole study."""
    for threads in THREADS:
        for dtype in ("float64", "float32"):
            yield "ceiling_arithmetic", Case("gemm", "blas", gemm("nn", dtype), {"threads": threads}, "warm"), 0.004
        for kernel in ("read", "copy", "triad"):
            sizes = complete("stream", {"kernel": kernel, "elements": 2**22})
            yield "ceiling_bandwidth", Case("stream", "openmp", sizes, {"threads": threads}), 0.002
    for form, dtype in itertools.product(("nn", "tn", "nt"), ("float64", "float32")):
        for variant in ("openmp", "interchanged", "tiled", "blas", "c_openmp"):
            yield "gemm_square", Case("gemm", variant, gemm(form, dtype), {"threads": 1}), 0.2 / SPEED[variant]
    for m, variant in itertools.product((1024, 2048), ("interchanged", "tiled", "blas")):
        yield "gemm_large", Case("gemm", variant, gemm("nn", m=m), {"threads": 1}), 0.001 * m / SPEED[variant]
    for form, variant, threads in itertools.product(("nn", "tn", "nt"), list(SPEED)[:4], THREADS):
        case = Case("gemm", variant, gemm(form, k=300), {"threads": threads})
        yield "gemm_threads", case, 0.1 / SPEED[variant] / gain(threads)
    for product, threads in itertools.product(list(SPEED)[:4], THREADS):
        case = Case("mlp", "host", mlp(), {"product": product, "threads": threads})
        yield "mlp_threads", case, 1.0 / SPEED[product] / gain(threads)
    for batch, threads in itertools.product((100, 1000), (1, 2)):
        for product in ("tiled", "blas"):
            case = Case("mlp", "host", mlp(batch=batch), {"product": product, "threads": threads})
            yield "mlp_peers", case, 1.0 / SPEED[product] / gain(threads)
        for peer in ("numpy_loop", "pytorch"):
            yield (
                "mlp_peers",
                Case("mlp", peer, mlp(batch=batch), {"threads": threads}),
                1.0 / SPEED[peer] / gain(threads),
            )
    for product, dtype in itertools.product(("tiled", "blas"), ("float64", "float32")):
        yield "mlp_accuracy", Case("mlp", "host", mlp(dtype=dtype), {"product": product, "threads": 2}), 0.1


def gpu_cases():
    """(experiment, case, seconds) of a study of a GPU."""
    for dtype in ("float64", "float32"):
        yield "ceiling_gpu_arithmetic", Case("gemm", "cublas", gemm("nn", dtype), {"math": "default"}, "warm"), 9e-6
        steps = complete("fma", {"elements": 2**24, "length": 1000, "dtype": dtype})
        yield "ceiling_gpu_fma", Case("fma", "cuda", steps, {"block": 128, "chains": 8}, "warm"), 2e-3
        for form, (variant, speed) in itertools.product(("nn", "tn", "nt"), GPU_SPEED.items()):
            for tuning in GPU_TUNINGS[variant]:
                case = Case("gemm", variant, gemm(form, dtype, 4096, 4096, 4096), tuning)
                yield f"gemm_gpu_{dtype}", case, 0.1 / speed
                case = Case("gemm", variant, gemm(form, dtype, 1000, 300, 784), tuning)
                yield f"gemm_gpu_training_{dtype}", case, 0.001 / speed
        for graph in ("off", "on"):
            for product, speed in GPU_SPEED.items():
                case = Case("mlp", "cuda", mlp(dtype=dtype), {"product": product, "graph": graph})
                yield "mlp_gpu", case, 1 / speed
            yield "mlp_gpu", Case("mlp", "pytorch_cuda", mlp(dtype=dtype), {"graph": graph}), 1.0
    for product, speed in GPU_SPEED.items():
        yield "mlp_threads", Case("mlp", "cuda", mlp(), {"product": product, "graph": "off"}), 0.001 / speed
    yield "ceiling_gpu_tf32", Case("gemm", "cublas", gemm("nn", "float32"), {"math": "tf32"}, "warm"), 2e-6
    for math, speed in MIXED_SPEED.items():
        variant = "cublas" if math in ("default", "tf32") else "cublas_mixed"
        case = Case("gemm", variant, gemm("nn", "float32", 4096, 4096, 4096), {"math": math})
        yield "gemm_gpu_mixed", case, 0.001 / speed
    ahead = {"math": "float16", "conversion": "ahead"}
    yield "ceiling_gpu_half", Case("gemm", "cublas_mixed", gemm("nn", "float32"), ahead, "warm"), 1e-6
    for kernel in ("read", "copy", "triad"):
        sizes = complete("stream", {"kernel": kernel, "elements": 2**22})
        yield "ceiling_gpu_bandwidth", Case("stream", "cuda", sizes, {"block": 512}), 0.002


def tables(machine=MACHINE, most_threads=24, share=0.995, chosen=None):
    """The tables of a whole study, or of the chosen (experiment, case, seconds)."""
    found = {}
    for experiment, case, seconds in chosen or cases():
        parts = found.setdefault(experiment, {name: [] for name in collect.TABLES})
        rows = case_rows(machine, experiment, case, seconds)
        if case.threads > most_threads:
            why = {"why": f"needs {case.threads} cores, {most_threads} available"}
            parts["missing"].append(collect.own_columns(machine, experiment, *case.key.split("/")) | why)
            continue
        parts["checks"] += checks(rows)
        parts["samples"] += rows
        if experiment == "mlp_threads" or case.tuning.get("graph") == "off":
            parts["samples"] += phases(rows, share)
        if rows[0]["device"] == "cuda":
            parts["samples"] += copies(rows)
        if experiment == "mlp_accuracy":
            parts["curves"] += curves(rows, case.sizes)
    return {
        name: {table: with_integers(pd.DataFrame(rows)) for table, rows in parts.items()}
        for name, parts in found.items()
    }


def description():
    """What a machine is."""
    cpu = {"Model name": "A CPU with 100% of a_name & more", "L2 cache": "2 MiB (2 instances)", "Vector units": "avx2"}
    about = {
        "cpu": cpu,
        "cores": 24,
        "memory": 2**35,
        "cache_bytes": 2**25,
        "system": "Linux 6.1.0-30-amd64",
        "python": "3.11.2",
    }
    about["libraries"] = {"numpy": "2.4.6", "scipy": "1.17.1", "numba": "0.68.1"}
    return about | {"gpus": [{"name": "A GPU_100", "driver": "580.1"}]}


def study(machine=MACHINE, **choices):
    """A study of one machine with its description."""
    return Study(tables(machine, **choices), machine, {machine: description()})


def kernel_report():
    """What the build says of one kernel source."""
    takes = {"registers": 30, "shared": 1024, "stack": 0, "spills": 0, "threads": 256, "dynamic": 0}
    takes["occupancy"] = {"blocks": 8, "warps": 64, "share": 1.0}
    kernels = {f"gemm_{form}": takes for form in ("nn", "tn", "nt")}
    about = {
        "architecture": "sm_90",
        "workload": "gemm",
        "variant": "cuda_naive",
        "constants": "dtype=float32,block=16",
    }
    return about | {"kernels": kernels, "warnings": []}


def sensitivity(path):
    """Write what the verb `sensitivity` does: every declared case, one check that sees and one that doesn't."""
    about = {"array": "history", "share": 0.0123, "places": 5}
    kinds = [
        about | {"fault": fault, "check": check, "seen": seen, "error": error}
        for fault in (ELEMENT, ROW)
        for check, seen, error in (("columns projected", 3, 1.23e-15), ("residual before it stops", 0, None))
    ]
    cases = (
        {"workload": one.workload, "variant": one.variant, "case": one.slug} | one.sizes for one in sensitivity_cases()
    )
    names = ("workload", "variant", "case", "dtype")
    pd.DataFrame([{name: one[name] for name in names} | kind for one in cases for kind in kinds]).to_csv(path)


def both(one, other):
    """The study of two machines' tables; the other may lack experiments."""
    joined = {}
    for name, tables in one.tables.items():
        found = [tables, *filter(None, [other.tables.get(name)])]
        joined[name] = {table: pd.concat([each[table] for each in found]) for table in tables}
    return Study(joined, one.subject, one.descriptions | other.descriptions)
