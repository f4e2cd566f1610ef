"""The numbers and tables of the paper's section on GPUs, of the first machine with measurements on one."""

import json
from pathlib import Path

import numpy as np

from ladder.catalogue import workloads
from ladder.records.case import Case
from ladder.report import latex, study
from ladder.report.latex import code, digits, percent, rate, seconds
from ladder.report.numbers import (
    DTYPES,
    FINDINGS,
    FORMS,
    KERNELS,
    Missing,
    best_of,
    by_threads,
    comparison,
    distinct,
    headed,
    threads_named,
    untested,
)
from ladder.statistics import verdicts

NONE = "--"
RUNGS = ("cuda_naive", "cuda_shared", "cuda_tiled", "cuda_mma", "cublas")
HALF = 0.5  # "shared memory more than halves the naive kernel's time"
SQUARE = {dtype: f"gemm_gpu_{dtype}" for dtype in DTYPES}
TRAINING = {dtype: f"gemm_gpu_training_{dtype}" for dtype in DTYPES}
TRANSFERS = ("to device", "to host")
LINK = {"link-to": "to device", "link-from": "to host"}
AGAINST = {
    "cuda_shared": ("cuda_naive",),
    "cuda_tiled": ("cuda_shared", "cublas"),
    "cuda_mma": ("cuda_tiled", "cublas"),
}


def of_a_gpu(found):
    """The study about the first machine that has measured products on a GPU, else about none."""
    there = (found.of(name) for name in found.machines())
    return next((one for one in there if any(len(one.samples(name)) for name in SQUARE.values())), found.of(None))


def fastest(frame):
    """The rows of the case with the shortest median."""
    if frame.empty:
        return frame
    return study.where(frame, case=frame.groupby("case")["seconds"].median().idxmin())


def exact(frame, variant):
    """cuBLAS's rows in the type's own precision; of the others, which have one precision each, all."""
    return study.where(frame, math="default") if variant == "cublas" and len(frame) else frame


def ceiling(found, dtype):
    """The best FLOP/s ever sampled of cuBLAS in a dtype's own precision, or None."""
    return study.best_rate(found.samples("ceiling_gpu_arithmetic", dtype=dtype), "flops")


def multiply_adds(found, dtype):
    """The best FLOP/s ever sampled of fused multiply-adds without tensor cores, or None."""
    return study.best_rate(found.samples("ceiling_gpu_fma", dtype=dtype), "flops")


def bandwidth(found, kernel):
    """The best B/s ever sampled of a kernel of STREAM in the card's memory, or None."""
    return study.best_rate(found.samples("ceiling_gpu_bandwidth", kernel=kernel), "bytes")


def link(found, phase):
    """The best B/s at which STREAM's arrays were copied to or from the card, or None."""
    frame = found.samples("ceiling_gpu_bandwidth", phase=phase)
    sizes = {slug: moved(slug, phase) for slug in study.values(frame, "case")}
    return study.best_rate(frame.assign(moved=frame["case"].map(sizes)), "moved") if len(frame) else None


def moved(slug, phase):
    """The bytes of a case's inputs, which are copied to the card, or of its results, copied back."""
    arrays = workloads.load("stream").arrays(Case.parse("stream", "cuda", slug).sizes)[TRANSFERS.index(phase)]
    return sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in arrays.values())


def numbers(found):
    """Every key's value."""
    found = of_a_gpu(found)
    cards = found.descriptions.get(found.subject, {}).get("gpus") or [{}]
    values = {
        "gpu/machine": code(found.subject) if found.subject else Missing("no machine"),
        "gpu/card": latex.escape(cards[0]["name"]) if "name" in cards[0] else None,
        "gpu/driver": latex.escape(cards[0]["driver"]) if "driver" in cards[0] else None,
    }
    rates = {kernel: bandwidth(found, kernel) for kernel in KERNELS}
    rates |= {name: link(found, phase) for name, phase in LINK.items()}
    values |= {f"gpu/ceiling/{name}": rate(best, "bandwidth") if best else None for name, best in rates.items()}
    tf32 = study.best_rate(found.samples("ceiling_gpu_tf32"), "flops")
    values["gpu/ceiling/tf32"] = rate(tf32, "flops") if tf32 else None
    for dtype in DTYPES:
        top = ceiling(found, dtype)
        values[f"gpu/ceiling/{dtype}"] = rate(top, "flops") if top else None
        ordinary = multiply_adds(found, dtype)
        values[f"gpu/ceiling/fma/{dtype}"] = rate(ordinary, "flops") if ordinary else None
        values |= headed(f"gpu/gemm/{dtype}", square(found, dtype, top, ordinary))
        values |= headed(f"gpu/mlp/{dtype}", training(found, dtype))
    values |= headed("gpu/beside", beside(found)) | headed("gpu/throttled", throttled(found))
    return values | headed("gpu/findings", findings(found))


def throttled(found):
    """How many cases ran on a card that told of its clock, and how many of them while it was held back."""
    every = study.where(found.everything("samples"), machine=found.subject, device="cuda")
    told = every[every["throttled"].notna()] if "throttled" in every else every.iloc[:0]
    columns = ["workload", "variant", "case"]
    count, slowed = distinct(told, columns), distinct(study.where(told, throttled=True), columns)
    return {"of": f"\\num{{{count}}}" if count else None, "cases": f"\\num{{{slowed}}}" if count else None}


def beside(found):
    """The training of one experiment on the CPU and, with the fastest product, on the card, copies apart."""
    card, blas, name = both(found)
    best = fastest(card)
    copies = transfers(found, best)
    return {
        "product": code(best["product"].iloc[0]) if len(best) else None,
        "time": seconds(best["seconds"].median()) if len(best) else None,
        "against/blas": comparison(best, blas, name),
        "transfers": seconds(copies) if copies else None,
    }


def both(found):
    """The training of one experiment: its cases on the card, `blas` on its best threads, and words for the latter."""
    frame = study.one_size(found.samples("mlp_threads", dtype="float64"))
    blas = best_of(by_threads(study.where(frame, variant="host", product="blas")))
    name = f"{code('blas')} on {threads_named(blas['threads'].iloc[0])}" if len(blas) else code("blas")
    return study.where(frame, variant="cuda"), blas, name


def findings(found):
    """Whether two findings of the earlier study hold on the card: a verdict and the evidence for it."""
    frame = study.one_size(found.samples(SQUARE["float64"], form="nn"))
    naive, shared = (fastest(study.where(frame, variant=name)) for name in ("cuda_naive", "cuda_shared"))
    verdict, evidence = brought_near(found)
    return {
        "shared/verdict": halved(shared, naive),
        "shared/evidence": f"{code('cuda_shared')} {comparison(shared, naive, code('cuda_naive'))}",
        "transfers/verdict": verdict,
        "transfers/evidence": evidence,
    }


def brought_near(found):
    """Whether copies alone bring `cublas` within reach of `blas` in an epoch, and the evidence for it."""
    card, blas, name = both(found)
    cublas = fastest(study.where(card, product="cublas"))
    copies = transfers(found, cublas)
    if blas.empty or not copies:
        return untested("a measurement is missing")
    copied = cublas.assign(seconds=cublas["seconds"] + copies)
    evidence = (
        f"an epoch with {code('cublas')} {comparison(cublas, blas, name)}; "
        f"with the copies, {seconds(copies)}, in every epoch it {comparison(copied, blas, 'that')}"
    )
    alone, together = (distance(rows, blas) for rows in (cublas, copied))
    if together == "near":
        return {"ahead": "holds", "near": "holds in part"}.get(alone, "can't be told"), evidence
    return "can't be told" if together == "between" else "does not hold", evidence


def distance(rows, other):
    """A case's time beside another's: "ahead" or "behind" by more than the factor of "far", "near", or "between"."""
    far, found = FINDINGS["far"], verdicts.compare(study.processes(rows), study.processes(other))
    if found.high < 1 / far:
        return "ahead"
    if found.low > far:
        return "behind"
    return "near" if found.low >= 1 / far and found.high <= far else "between"


def halved(shared, naive):
    """Whether shared memory more than halves the naive kernel's time."""
    if shared.empty or naive.empty:
        return Missing("not tested")
    found = verdicts.compare(study.processes(shared), study.processes(naive))
    if found.high < HALF:
        return "holds"
    return {"faster": "holds in part", "slower": "does not hold"}.get(found.word, "can't be told")


def square(found, dtype, top, ordinary):
    """The rungs on the large product in the form nn, each with its fastest tuning.

    `top` and `ordinary` are FLOP/s of cuBLAS and of multiply-adds at best, or None.
    """
    frame = study.one_size(found.samples(SQUARE[dtype], form="nn"))
    cases = {name: fastest(exact(study.where(frame, variant=name), name)) for name in RUNGS}
    values = {"shape": f"${frame['m'].iloc[0]}^3$" if len(frame) else None}
    for name, rows in cases.items():
        flops = rows["flops"].iloc[0] / rows["seconds"].median() if len(rows) else None
        values[f"{name}/rate"] = rate(flops, "flops") if flops else None
        values[f"{name}/share"] = percent(flops / top) if flops and top else None
        if name == "cuda_tiled":
            values[f"{name}/share-of-fma"] = percent(flops / ordinary) if flops and ordinary else None
        for other in AGAINST.get(name, ()):
            values[f"{name}/against/{other}"] = comparison(rows, cases[other], code(other))
    copies = transfers(found, cases["cublas"])
    values["transfers"] = seconds(copies) if copies else None
    values["product"] = seconds(cases["cublas"]["seconds"].median()) if len(cases["cublas"]) else None
    return values


def transfers(found, rows):
    """Median seconds of the copies to and from the card of a case, or None."""
    if rows.empty:
        return None
    parts = [
        found.samples(
            rows["experiment"].iloc[0], phase=phase, variant=rows["variant"].iloc[0], case=rows["case"].iloc[0]
        )
        for phase in TRANSFERS
    ]
    return sum(part["seconds"].median() for part in parts) if all(len(part) for part in parts) else None


def training(found, dtype):
    """The epoch on the card: the fastest product, against PyTorch, and the products' share."""
    frame = found.samples("mlp_gpu", dtype=dtype)
    own = study.where(frame, variant="cuda")
    peers = {graph: study.where(frame, variant="pytorch_cuda", graph=graph) for graph in ("off", "on")}
    # What works in a lower precision doesn't compete.
    exact = own[own["precision"] == dtype] if len(own) else own
    best, plain = fastest(study.where(exact, graph="on")), fastest(study.where(exact, graph="off"))
    values = {"product": code(best["product"].iloc[0]) if len(best) else None}
    values["time"] = seconds(best["seconds"].median()) if len(best) else None
    values["against/graph-off"] = comparison(best, plain, "the fastest without a graph")
    values["against/eager"] = comparison(best, peers["off"], "PyTorch")
    values["against/graph"] = comparison(best, peers["on"], "PyTorch with a graph of the epoch")
    values["share"] = share(found, plain)
    copies = transfers(found, best)
    values["transfers"] = seconds(copies) if copies else None
    return values


def share(found, rows):
    """The products' share of the operations' time, or None."""
    if rows.empty:
        return None
    every = found.rows("samples", "mlp_gpu", variant="cuda", case=rows["case"].iloc[0])
    phases = every[~every["phase"].isin(["total", *TRANSFERS])].groupby("phase")["seconds"].median()
    products = phases[phases.index.str.match("forward|gradient|delta")]
    return percent(products.sum() / phases.sum()) if len(phases) else None


def tables(found, reports):
    """The section's tables; `reports` are the files that say what each built kernel takes."""
    every, found = found, of_a_gpu(found)
    return {
        "gpu_ceilings": ceilings_table(every),
        "gpu_square": square_table(found),
        "gpu_training": training_table(found),
        "gpu_mlp": mlp_table(found),
        "kernels": kernels(reports),
    }


def ceilings_table(found):
    """The measured ceilings of every machine's card: arithmetic, its memory, and the copies to it and back."""
    rows = []
    for name in found.machines():
        one = found.of(name)
        tf32 = study.best_rate(one.samples("ceiling_gpu_tf32"), "flops")
        flops = [*(ceiling(one, dtype) for dtype in DTYPES), tf32, *(multiply_adds(one, dtype) for dtype in DTYPES)]
        rates = [*(bandwidth(one, kernel) for kernel in KERNELS), *(link(one, phase) for phase in TRANSFERS)]
        if any([*flops, *rates]):
            cells = [digits(best / 1e12) if best else NONE for best in flops]
            rows.append([code(name), *cells, *(digits(best / 1e9) if best else NONE for best in rates)])
    heads = r"& \multicolumn{3}{c}{cuBLAS, TFLOP/s} & \multicolumn{2}{c}{multiply-adds, TFLOP/s}"
    heads += r" & \multicolumn{3}{c}{memory, GB/s} & \multicolumn{2}{c}{link, GB/s} \\"
    heads += r"\cmidrule(lr){2-4}\cmidrule(lr){5-6}\cmidrule(lr){7-9}\cmidrule(l){10-11}" + "\nMachine"
    heads = [heads, *map(code, [*DTYPES, "tf32", *DTYPES]), *KERNELS, "to", "from"]
    return latex.table(r">{\raggedright}p{0.2\linewidth}rrrrrrrrrr", heads, rows)


def square_table(found):
    """FLOP/s and the share of cuBLAS's best of every rung and tuning on the large product."""
    rows = []
    for dtype, experiment in SQUARE.items():
        frame, top = found.samples(experiment), ceiling(found, dtype)
        rows += [None] if rows and len(frame) else []
        for name in RUNGS:
            here = study.where(frame, variant=name)
            for tuning in sorted({tuned(case) for case in study.values(here, "case")}):
                cells = []
                for form in FORMS:
                    case = study.where(here[here["case"].map(tuned) == tuning], form=form)
                    flops = case["flops"].iloc[0] / case["seconds"].median() if len(case) else None
                    cells += [digits(flops / 1e12) if flops else NONE, percent(flops / top) if flops and top else NONE]
                precision = here[here["case"].map(tuned) == tuning]["precision"].iloc[0]
                rows.append([code(name), latex.escape(tuning.replace(",", ", ")), code(precision), *cells])
    heads = (
        r"&&& \multicolumn{2}{c}{\texttt{nn}} & \multicolumn{2}{c}{\texttt{tn}} & \multicolumn{2}{c}{\texttt{nt}} \\"
    )
    heads += r"\cmidrule(lr){4-5}\cmidrule(lr){6-7}\cmidrule(l){8-9}" + "\nVariant"
    columns = r"l>{\raggedright}p{0.2\linewidth}lrrrrrr"
    return latex.table(columns, [heads, "Tuning", "Precision", *["TFLOP/s", "of ceiling"] * 3], rows)


def tuned(case):
    """The tuning in a case's slug."""
    return case.partition(",cache=")[2].partition(",")[2]


def training_table(found):
    """The speed of every rung's fastest tuning on the training's products, as a multiple of cuBLAS's."""
    rows = []
    for dtype, experiment in TRAINING.items():
        typed = found.samples(experiment)
        rows += [None] if rows and len(typed) else []
        for form in FORMS:
            for flops in sorted(study.values(study.where(typed, form=form), "flops"), reverse=True):
                here = study.where(typed, form=form, flops=flops)
                base = fastest(exact(study.where(here, variant="cublas"), "cublas"))
                cells = [over(base, fastest(study.where(here, variant=name))) for name in RUNGS[:-1]]
                shape = " & ".join(f"\\num{{{here[name].iloc[0]}}}" for name in "mnk")
                time = seconds(base["seconds"].median()) if len(base) else NONE
                rows.append([code(dtype), code(form), shape, time, *cells])
    heads = ["Type", "Form", "M & N & K", code("cublas"), *map(code, RUNGS[:-1])]
    return latex.table("llrrrrrrrr", heads, rows)


def over(base, rows):
    """The speed-up of a case over a base."""
    if base.empty or rows.empty:
        return NONE
    return digits(verdicts.speedup(study.processes(base), study.processes(rows))[0])


def mlp_table(found):
    """The epoch on the card by product, with and without a graph, and PyTorch's."""
    frame, rows = found.samples("mlp_gpu"), []
    for dtype in study.values(frame, "dtype")[::-1]:
        rows += [None] if rows else []
        typed = study.where(frame, dtype=dtype)
        named = [*({"variant": "cuda", "product": name} for name in RUNGS), {"variant": "pytorch_cuda"}]
        for one in named:
            here = study.where(typed, **one)
            if len(here):
                cases = [study.where(here, graph=graph) for graph in ("off", "on")]
                times = [seconds(case["seconds"].median()) if len(case) else NONE for case in cases]
                shares = share(found, cases[0]) if "product" in one else None
                precision = code(here["precision"].iloc[0])
                rows.append([code(one.get("product", one["variant"])), precision, *times, shares or NONE])
    return latex.table("llrrr", ["Product", "Precision", "launched one by one", "as a graph", "products"], rows)


def kernels(reports):
    """Registers, shared memory, occupancy and spills of every kernel that was built."""
    order = ("architecture", "workload", "variant", "constants")
    found = [json.loads(Path(path).read_text()) for path in reports]
    rows = [binary(one) for one in sorted(found, key=lambda one: [one[name] for name in order])]
    head = ["Built for", "Variant", "Constants", "Registers", "Shared", "Occupancy", "Spills", "Warnings"]
    return latex.long_table(r"ll>{\raggedright}p{0.31\linewidth}rrrrr", head, rows)


def binary(report):
    """The row of one binary, over its kernels."""
    each = report["kernels"].values()
    shares = [int(100 * kernel["occupancy"]["share"] + 0.5) for kernel in each if kernel["occupancy"]]
    return [
        code(report["architecture"]),
        code(f"{report['workload']}/{report['variant']}"),
        latex.escape(report["constants"].removeprefix("dtype=").replace(",", ", ")),
        span(kernel["registers"] for kernel in each),
        span(kernel["shared"] + (kernel["dynamic"] or 0) for kernel in each),
        rf"{span(shares)}\,\%" if shares else NONE,
        span(kernel["spills"] for kernel in each),
        str(len(report["warnings"])),
    ]


def span(counts):
    """The lowest and the highest of some counts."""
    found = sorted(set(counts))
    return str(found[0]) if len(found) == 1 else f"{found[0]}--{found[-1]}"
