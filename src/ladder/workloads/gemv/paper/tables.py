"""The tables of products of a matrix and a vector, of the machines that the chapter's numbers speak of."""

from ladder.report import latex, roofs, study
from ladder.report.cells import NONE, median, rate, speedup
from ladder.report.latex import code, digits, percent, seconds
from ladder.workloads.gemv.paper import distributed
from ladder.workloads.gemv.paper.numbers_gpu import RUNGS
from ladder.workloads.gemv.paper.numbers_threads import METHODS, by_method, reading
from ladder.workloads.gemv.paper.query import MODES, nodes, phases, sizes, study_of, throughput

CARDS = ("mpi_cublas", "nccl_cublas")
PHASES = ("scatter", "broadcast", "compute", "gather")
NAMES = {name: ", ".join(chosen.values()) for name, chosen in METHODS.items()}
GIGA = 1e9


def tables(found):
    """Every table's LaTeX by its name."""
    return {
        "threads": threads(study_of(found, "gemv_threads")),
        "mpi": mpi(study_of(found, "gemv_mpi")),
        "gpu": gpu(study_of(found, "gemv_gpu")),
        "cards": cards(study_of(found, "gemv_cards", beside="gemv_mpi")),
    }


def bandwidth(rows, ceiling):
    """GB/s at the median time and their share of a ceiling in B/s."""
    if rows.empty:
        return [NONE, NONE]
    return [rate(throughput(rows), GIGA), percent(throughput(rows) / ceiling) if ceiling else NONE]


def threads(found):
    """The product by threads: per method on one thread and on the best number of them, and the gain."""
    frame = study.one_size(found.samples("gemv_threads"))
    rows = []
    for name, counts in by_method(frame).items():
        if counts:
            one, best = counts.get(1, study.NO_ROWS), study.best_of(counts)
            cells = [median(one), *bandwidth(one, reading(found, one)), str(best["threads"].iloc[0])]
            cells += [median(best), *bandwidth(best, reading(found, best)), speedup(one, best)]
            rows.append([code(NAMES[name]), *cells])
    heads = r"& \multicolumn{3}{c}{1 thread} & \multicolumn{4}{c}{best} & \\"
    heads += r"\cmidrule(lr){2-4}\cmidrule(lr){5-8}" + "\nVariant"
    head = [heads, "time", "GB/s", "of reading", "threads", "time", "GB/s", "of reading", "speed-up"]
    return latex.table("lrrrrrrrr", head, rows)


def mpi(found):
    """Every case on ranks, by matrix: its time, phases, speed-up over one rank, and the imbalance of computation."""
    rows = []
    for here in sizes(found, "gemv_mpi"):
        here = study.where(here, device="mpi")
        rows += [None] if rows and len(here) else []
        for mode in MODES:
            one = study.where(here, variant="mpi", mode=mode, ranks=1)
            for variant in ("mpi", "mpi_openmp"):
                cases = study.where(here, variant=variant, mode=mode)
                for _, case in cases.groupby([name for name in ("ranks", "threads") if name in cases], dropna=False):
                    rows.append([*naming(case), *of_ranks(found, case), speedup(one, case)])
    head = ["$n$", "$m$", "Matrix", "Variant", "Ranks", "Time"]
    return latex.long_table("rrllrrrrrrrr", [*head, *PHASES, "imbalance", "speed-up"], rows)


def naming(case):
    """A case's matrix, mode and variant, and its ranks, times the threads in each, and their nodes if not one."""
    row = case.iloc[0]
    ranks = f"${row['ranks']} \\times {row['threads']}$" if row["variant"] == "mpi_openmp" else str(row["ranks"])
    ranks += f" on {spread}" if (spread := nodes(case)) else ""
    return [str(row["n"]), str(row["m"]), code(row["mode"]), code(row["variant"]), ranks]


def of_ranks(found, case):
    """A case's median time and phases, and the median of the imbalance of its computation."""
    own = phases(found, case)
    cells = [median(case), *(median(study.where(own, phase=phase)) for phase in PHASES)]
    uneven = study.where(own, phase="compute")
    return [*cells, digits(uneven["imbalance"].median()) if "imbalance" in uneven and len(uneven) else NONE]


def gpu(found):
    """Each rung with its fastest tuning on every matrix, in both dtypes: time, GB/s, and its share of reading."""
    ceiling, rows = roofs.card_bandwidth(found), []
    matrices = {}
    for here in sizes(found, "gemv_gpu"):
        matrices.setdefault((here["n"].iloc[0], here["m"].iloc[0]), []).append(here)
    for (n, m), frames in reversed(matrices.items()):
        rows += [None] if rows else []
        for name in RUNGS:
            cells = []
            for dtype in ("float64", "float32"):
                typed = next((one for one in frames if one["dtype"].iloc[0] == dtype), study.NO_ROWS)
                case = study.fastest(study.where(typed, variant=name))
                cells += [median(case), *bandwidth(case, ceiling)]
            rows.append([str(n), str(m), code(name), *cells])
    heads = r"&&& \multicolumn{3}{c}{float64} & \multicolumn{3}{c}{float32} \\"
    heads += r"\cmidrule(lr){4-6}\cmidrule(l){7-9}" + "\n$n$"
    return latex.table("rrlrrrrrr", [heads, "$m$", "Variant", *["time", "GB/s", "of reading"] * 2], rows)


def cards(found):
    """Products on several GPUs by matrix and number of them, in the fastest number of pieces: time and its parts."""
    rows, ruled = [], None
    for here in sizes(found, "gemv_cards", "gemv_cards_large"):
        here = study.where(here, device="mpi_cuda")
        for name in CARDS:
            for count in study.values(study.where(here, variant=name), "ranks"):
                cells = []
                for mode in MODES:
                    case = study.fastest(study.where(here, variant=name, ranks=count, mode=mode))
                    parts = (spent(found, case, mode, kind) for kind in distributed.KINDS)
                    cells += [median(case), *parts, pieces(case)]
                row = here.iloc[0]
                rows += [None] if ruled not in (None, (row["n"], row["m"])) else []
                ruled = row["n"], row["m"]
                rows.append([str(row["n"]), str(row["m"]), code(name), str(count), *cells])
    heads = r"&&&& \multicolumn{5}{c}{sent every time} & \multicolumn{5}{c}{resident} \\"
    heads += r"\cmidrule(lr){5-9}\cmidrule(l){10-14}" + "\n$n$"
    head = [heads, "$m$", "Variant", "GPUs", *["time", "computing", "sending", "both", "pieces"] * 2]
    return latex.table("rrlrrrrrrrrrrr", head, rows)


def pieces(case):
    """In how many pieces a rank's rows are, and whether the product is one CUDA graph."""
    if case.empty:
        return NONE
    row = case.iloc[0]
    return f"{row['chunks']}, graph" if row.get("graph") == "on" else str(row["chunks"])


def spent(found, case, mode, kind):
    """The median time of one kind of phase."""
    own = phases(found, case)
    kinds = distributed.by_kind(own, mode) if len(own) else {}
    return seconds(kinds[kind]) if kind in kinds else NONE
