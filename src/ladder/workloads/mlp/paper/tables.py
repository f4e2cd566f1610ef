"""The tables of the supplement: peers, the GPU's epochs, and all machines side by side."""

from ladder.report import latex, rates, study
from ladder.report.cells import NONE, flops, median, share
from ladder.report.latex import code
from ladder.report.telling.case_tables import ruled
from ladder.workloads.mlp.paper.lines import DTYPE, GPU_PRODUCTS, PRODUCTS

PEERS = {name: {"variant": "host", "product": name} for name in ("tiled", "blas")}
PEERS |= {name: {"variant": name} for name in ("numpy_loop", "pytorch")}
ON_GPU = {name: {"variant": "cuda", "product": name} for name in GPU_PRODUCTS}
ON_GPU |= {"pytorch_cuda": {"variant": "pytorch_cuda"}}


def peers(chapter):
    """The training and its peers, by batch and threads."""
    host = chapter.machine("host")
    frame = host.samples("mlp_peers", dtype=DTYPE)
    groups = [of_batch(host, study.one_size(study.where(frame, batch=batch))) for batch in study.values(frame, "batch")]
    return latex.table("rlrrr", ["Batch", "Training", "Threads", "Epoch", "of ceiling"], ruled(groups))


def of_batch(host, rows):
    """The lines of one size of batch."""
    return [
        [
            str(case["batch"].iloc[0]),
            code(name),
            str(count),
            median(case),
            share(case, rates.products(host, DTYPE, count), 2),
        ]
        for name, tuning in PEERS.items()
        for count, case in study.by_threads(study.where(rows, **tuning)).items()
    ]


def gpu(chapter):
    """The epoch on the GPU by product, with and without a graph, and PyTorch's; with the precision by name."""
    frame, groups = chapter.machine("card").samples("mlp_gpu"), []
    for dtype in study.values(frame, "dtype")[::-1]:
        cases = {name: study.where(frame, dtype=dtype, **tuning) for name, tuning in ON_GPU.items()}
        groups.append([of_product(name, dtype, rows) for name, rows in cases.items() if len(rows)])
    return latex.table("llrr", ["Product", "Type", "kernel launches", "CUDA graph"], ruled(groups))


def of_product(name, dtype, rows):
    """The line of a product on the GPU."""
    words = ", TF32" if rows["precision"].iloc[0] == "tf32" else ""
    return [code(name) + words, code(dtype), *(median(study.where(rows, graph=graph)) for graph in ("off", "on"))]


def compared(chapter):
    """The machines side by side: the rungs on the square product, and the best training by two of them."""
    rows = [of_machine(chapter.study.of(name), name) for name in chapter.study.machines()]
    groups = {"product, GFLOP/s": PRODUCTS, "training, best time (threads)": ("openmp", "blas")}
    head = latex.grouped(["Machine", "Size"], {words: [*map(code, names)] for words, names in groups.items()})
    columns = r">{\raggedright}p{0.19\linewidth}lrrrrrr"
    return latex.table(columns, head, [row for row in rows if {*row[2:]} != {NONE}])


def of_machine(machine, name):
    """The line of a machine."""
    square = study.one_size(machine.samples("gemm_square", threads=1, dtype=DTYPE, form="nn"))
    cases = [study.where(square, variant=variant) for variant in PRODUCTS]
    trainings = study.one_size(machine.samples("mlp_threads", dtype=DTYPE, device="host"))
    best = [best_of(study.by_threads(study.where(trainings, product=name))) for name in ("openmp", "blas")]
    return [
        code(name),
        f"${square['m'].iloc[0]}^3$" if len(square) else NONE,
        *(flops(case, 1e9) for case in cases),
        *best,
    ]


def best_of(counts):
    """The time on the best number of threads, which other processes choose than test it, and the number."""
    if not counts:
        return NONE
    best, tested = study.chosen_apart(counts)
    return f"{median(tested)} ({best})"
