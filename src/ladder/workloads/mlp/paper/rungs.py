"""The lines of the chapter's ladders, at tunings that are fixed beforehand, so that none is picked.

The tilings of the card's products are those that are best on another machine than the chapter's, `nvidia-h200-x4`;
`cuda_shared` has the blocks of the earlier study.
"""

from functools import partial

from ladder.report import rungs, study
from ladder.report.figures import formats
from ladder.report.rungs import MOST
from ladder.workloads.mlp.paper import earlier, query

RELIEVES = {
    "openmp": "",
    "interchanged": "instructions",
    "tiled": "caches, instructions",
    "blas": "caches, instructions",
    "c_openmp": "",
    "cuda_naive": "",
    "cuda_shared": "caches",
    "cuda_columns": "loads",
    "cuda_tiled": "loads",
    "cuda_mma": "instructions",
    "cublas": "instructions",
    "host": "cores",
    "cuda": "cores, launches",
}
PRODUCTS = ("openmp", "interchanged", "tiled", "blas")
CARD_PRODUCTS = ("cuda_naive", "cuda_shared", "cuda_tiled", "cuda_mma", "cublas")
Product, Training = partial(rungs.Line, "gemm"), partial(rungs.Line, "mlp")
ON_HOST = (
    *(Product(name, {"threads": 1}) for name in PRODUCTS),
    Product("blas", {"threads": MOST}),
    Product("c_openmp", {"threads": 1}),
)
ON_CARD = (
    Product("cuda_naive", {"block": 16}),
    Product("cuda_shared", {"block": 16}),
    Product("cuda_columns", {"bm": 32, "bn": 128, "bk": 16}),
    Product("cuda_tiled", {"bm": 64, "bn": 64, "bk": 16, "tm": 8, "tn": 8, "splitk": 1}),
    Product("cuda_mma", {"bm": 128, "bn": 64, "bk": 16, "wm": 64, "wn": 32, "stages": 4, "splitk": 1}),
    Product("cublas", {"math": "default"}),
)
# The tensor cores take float32's operands rounded to TF32.
IN_TF32 = {
    "cuda_mma": Product("cuda_mma", {"bm": 128, "bn": 128, "bk": 32, "wm": 64, "wn": 64, "stages": 3}, "TF32"),
    "cublas": Product("cublas", {"math": "tf32"}, "TF32"),
}
BY_BLAS = tuple(Training("host", {"product": "blas", "threads": count}) for count in (earlier.BEST, MOST))
TRAINED_ON_HOST = (
    *(Training("host", {"product": name, "threads": 1}) for name in PRODUCTS),
    *BY_BLAS,
)
TRAINED_ON_CARD = tuple(Training("cuda", {"product": name, "graph": "on"}) for name in CARD_PRODUCTS)
BESIDE_PEERS = Training("host", {"product": "tiled", "threads": MOST})  # of the threads that peers were given
PEERS_ON_HOST = (Training("numpy_loop", {"threads": MOST}), Training("pytorch", {"threads": MOST}))
BY_TENSOR_CORES = (Training("cuda", {"product": "cuda_mma", "graph": "on"}),)
PEER_ON_CARD = Training("pytorch_cuda", {"graph": "on"})  # not its strongest form: the step isn't compiled


def name(line):
    """Whose products a line takes, or the peer that it is."""
    return line.tuning.get("product", line.variant)


def label(line, rows):
    """What figures call a line."""
    form = words(line, rows)
    return f"{name(line)}, {form}" if form else name(line)


def words(line, rows):
    """The form in which a line was measured: its threads, or a graph."""
    if "threads" in line.tuning:
        return formats.threads(int(rows["threads"].iloc[0]))
    return "graph" if line.tuning.get("graph") == "on" else line.words


def measured(host, card):
    """The ladders, {ladder: [(Line, its rows, whose)]}: products by time, trainings by the time of a batch."""
    products = host.samples(query.PRODUCTS, device="host")
    peers, trained = host.samples(query.PEERS), query.of_batches(card.card)
    return {
        "host": [(line, rows, host) for line, rows in rungs.measured(ON_HOST, products)],
        "card": [(line, rows, card) for line, rows in rungs.measured(ON_CARD, card.samples(query.SQUARE))],
        "training": [
            *((line, rows, host) for line, rows in rungs.measured(TRAINED_ON_HOST, query.of_batches(host.training))),
            *((line, rows, card) for line, rows in rungs.measured(TRAINED_ON_CARD, trained)),
            *((line, rows, host) for line, rows in rungs.measured(PEERS_ON_HOST, query.of_batches(peers))),
            *((line, rows, card) for line, rows in rungs.measured([PEER_ON_CARD], trained)),
        ],
    }


def trainings(host, card):
    """The trainings of the ladder's table: ours in their best forms beside others, then peers."""
    peers, on_card = query.of_batches(host.samples(query.PEERS)), query.of_batches(card.card)
    parts = (
        ((BESIDE_PEERS,), peers, host),
        (BY_BLAS, query.of_batches(host.training), host),
        (BY_TENSOR_CORES, on_card, card),
        (PEERS_ON_HOST, peers, host),
        ((PEER_ON_CARD,), on_card, card),
    )
    return [(line, rows, machine) for lines, frame, machine in parts for line, rows in rungs.measured(lines, frame)]


def trained(rows, product, **tuning):
    """The trainings of some rows with the products of a variant."""
    return study.where(rows, product=product, **tuning)
