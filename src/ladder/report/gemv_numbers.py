"""The numbers of the paper's section on matrix-vector products: of threads and ranks, of a GPU, and of several.

Each part speaks of the study's subject or, where that has not measured it, of the machine with most cases of it; that
of several GPUs if possible of a machine that has measured ranks on its cores too.
"""

import math

import pandas as pd

from ladder.report import collect, distributed, gpu, study
from ladder.report.distributed import COMMUNICATION, COMPUTATION
from ladder.report.latex import code, number, percent, rate, seconds
from ladder.report.numbers import (
    FINDINGS,
    NO_ROWS,
    NOTHING,
    Missing,
    best_of,
    by_threads,
    caches,
    comparison,
    headed,
    intensity,
    ridge_of,
    scaling,
    side,
    threads_named,
    untested,
)
from ladder.statistics import verdicts

METHODS = {
    "openmp": {"variant": "openmp"},
    "spread": {"variant": "openmp_bound", "binding": "spread"},
    "close": {"variant": "openmp_bound", "binding": "close"},
    "blas": {"variant": "blas"},
}
BOUND = {"spread": ("openmp", "close", "blas"), "close": ("openmp",)}
MODES = ("ship", "resident")
ROLES = ("large", "long", "small")
RUNGS = ("cuda_naive", "cuda_coalesced", "cuda_shared", "cuda_warp", "cublas")
AGAINST = {"cuda_coalesced": ("cuda_naive", "cuda_warp"), "cuda_warp": ("cuda_naive", "cublas")}
CARDS = ("mpi_cublas", "nccl_cublas")
TRANSPOSITION = "transposition"


def numbers(found):
    """Every key's value."""
    return (
        headed("gemv/threads", threads(about(found, "gemv_threads")))
        | headed("gemv/mpi", ranks(about(found, "gemv_mpi")))
        | headed("gemv/gpu", on_gpu(about(found, "gemv_gpu")))
        | headed("gemv/cards", on_cards(about(found, "gemv_cards", beside="gemv_mpi")))
        | headed("gemv/cards/large", large(about(found, "gemv_cards_large")))
        | headed("gemv/cards/graph", as_graph(about(found, "gemv_cards", beside="gemv_mpi", graph="on")))
        | headed("gemv/findings", findings(about(found, "gemv_mpi")))
    )


def about(found, experiment, beside=None, **conditions):
    """The study about its subject, or if it has no cases of an experiment, about who has most of them.

    Who has cases of the experiment `beside` too comes before those who don't.
    """
    counts = {name: cases(found.of(name), experiment, **conditions) for name in (found.subject, *found.machines())}
    there = [name for name in counts if counts[name]]
    both = [name for name in there if beside and cases(found.of(name), beside)]
    first = {name: (name == found.subject, name in both, counts[name]) for name in there}
    return found.of(max(first, key=first.get, default=None))


def cases(found, experiment, **conditions):
    """How many cases of an experiment the subject has measured."""
    rows = found.samples(experiment, **conditions)
    return len(rows[["variant", "case"]].drop_duplicates()) if len(rows) else 0


def matrix(frame):
    """The size of a matrix."""
    return f"${frame['n'].iloc[0]} \\times {frame['m'].iloc[0]}$" if len(frame) else None


def machine(found):
    """Where a part was measured."""
    return code(found.subject) if found.subject else None


def throughput(rows):
    """B/s of a case at its median time."""
    return rows["bytes"].iloc[0] / rows["seconds"].median()


def bandwidth(rows, ceiling):
    """B/s at the median time, and its share of a ceiling."""
    if rows.empty:
        return {"rate": None, "share": None}
    return {
        "rate": rate(throughput(rows), "bandwidth"),
        "share": percent(throughput(rows) / ceiling) if ceiling else None,
    }


# Threads


def by_method(frame):
    """The cases of every method by number of threads."""
    return {name: by_threads(study.where(frame, **chosen)) for name, chosen in METHODS.items()}


def threads(found):
    """How the product does on threads, and whether to bind them helps on as many as were tried."""
    frame = study.one_size(found.samples("gemv_threads"))
    cases = by_method(frame)
    values = {"machine": machine(found), "matrix": matrix(frame), "cache": caches(frame)}
    flops = intensity(frame)
    values |= {"intensity": number(flops) if flops else None, "side": side(flops, ridge_of(found, "float64"))}
    for name, counts in cases.items():
        best = best_of(counts)
        values |= headed(name, scaling(counts) | bandwidth(best, reading(found, best)))
    every = [best_of(counts) for counts in cases.values() if counts]
    best = min(every, key=lambda rows: rows["seconds"].median(), default=NO_ROWS)
    ceiling = reading(found, best)
    values |= headed("best", bandwidth(best, ceiling))
    values["best/method"] = called(next(name for name in cases if best_of(cases[name]) is best)) if len(best) else None
    values["best/threads"] = threads_named(best["threads"].iloc[0]) if len(best) else None
    values["best/reading"] = rate(ceiling, "bandwidth") if ceiling else None
    values["best/against/reading"] = against_reading(found, best)
    most = max((count for counts in cases.values() for count in counts), default=None)
    values["most"] = threads_named(most) if most else None
    for name, others in BOUND.items():
        for other in others:
            pair = [cases[one].get(most, NO_ROWS) for one in (name, other)]
            values[f"{name}/against/{other}"] = comparison(*pair, code(other))
    return values


def called(name):
    """A method's variant, with its binding where it has one."""
    chosen = METHODS[name]
    return code(chosen["variant"]) + (f" ({code(chosen['binding'])})" if "binding" in chosen else "")


def against_reading(found, rows):
    """The time that a case takes for a byte against that of reading alone on as many threads."""
    threads = rows["threads"].iloc[0] if len(rows) else None
    reads = found.samples("ceiling_bandwidth", kernel="read", threads=threads) if threads else NO_ROWS
    by_byte = (one.assign(seconds=one["seconds"] / one["bytes"]) if len(one) else one for one in (rows, reads))
    return comparison(*by_byte, "reading alone")


def reading(found, rows):
    """The best B/s of reading alone on as many threads as a case has, or None."""
    return study.bandwidth(found, rows["threads"].iloc[0], kernel="read") if len(rows) else None


# Ranks


def sizes(found, *experiments):
    """The timed calls of some experiments by matrix, the smallest first: a list of frames."""
    frames = [frame for frame in map(found.samples, experiments) if len(frame)]
    if not frames:
        return []
    every = collect.whole(pd.concat(frames))
    columns = [name for name in ("n", "m", "dtype", "cache") if name in every]
    parts = [rows for _, rows in every.groupby(columns, sort=False)]
    return sorted(parts, key=lambda rows: rows["flops"].iloc[0])


def phases(found, rows):
    """The phases of a case."""
    if rows.empty:
        return rows
    row = rows.iloc[0]
    every = found.rows("samples", row["experiment"], variant=row["variant"], case=row["case"])
    return every[every["phase"] != "total"]


def most_ranks(rows, **conditions):
    """The rows of the case with most ranks among those of one variant and mode."""
    rows = study.where(rows, **conditions)
    return study.where(rows, ranks=rows["ranks"].max()) if len(rows) else rows


def ranks(found):
    """What ranks gain and cost on the largest matrix, and from how many products on they pay on it and the smallest."""
    several = sizes(found, "gemv_mpi")
    largest = study.where(several[-1], device="mpi") if several else NO_ROWS
    together = distributed.distinct(largest[largest["ranks"] > 1]) if len(largest) else largest
    values = {"machine": machine(found), "matrix": matrix(largest), "cache": caches(largest), "nodes": nodes(together)}
    for mode in MODES:
        pure = most_ranks(together, variant="mpi", mode=mode)
        one = study.where(largest, variant="mpi", mode=mode, ranks=1)
        values |= headed(mode, parts(found, pure, mode))
        values[f"{mode}/against/one"] = comparison(pure, one, "one rank")
        best = {
            name: distributed.fastest(study.where(together, variant=name, mode=mode)) for name in ("mpi", "mpi_openmp")
        }
        values[f"{mode}/hybrid"] = place(best["mpi_openmp"])
        values[f"{mode}/pure"] = place(best["mpi"])
        values[f"{mode}/hybrid/against/pure"] = comparison(best["mpi_openmp"], best["mpi"], code("mpi"))
    known = {"largest": several[-1:], "smallest": several[:-1][:1]}
    threads_too = sizes(found, "gemv_mpi", "gemv_threads")
    for role, some in known.items():
        values |= headed(role, pays(found, some[0] if some else NO_ROWS, threads_too))
    return values


def nodes(rows):
    """The nodes among which ranks were spread, where these were several."""
    known = rows["nodes"].dropna() if "nodes" in rows else ()
    most = max(known, default=1)
    return named(most, "node") if most > 1 else None


def parts(found, rows, mode):
    """A case on ranks: its time, what of it is computation and communication, and how evenly the former is spread."""
    names = ("ranks", "time", "computation", "communication", "sending", "imbalance")
    if rows.empty:
        return dict.fromkeys(names) | {"verdict": Missing("has no measurement")}
    own = phases(found, rows)
    kinds, once = distributed.by_kind(own, mode), distributed.spent(own, mode)[1]
    uneven = study.where(own, phase="compute")
    values = {"ranks": named(rows["ranks"].iloc[0], "rank"), "time": seconds(rows["seconds"].median())}
    values |= {kind: seconds(kinds[kind]) if kind in kinds else None for kind in (COMPUTATION, COMMUNICATION)}
    values["sending"] = seconds(sum(once.values())) if once else None
    values["imbalance"] = number(uneven["imbalance"].median()) if "imbalance" in uneven and len(uneven) else None
    spent = (distributed.passes(own, mode, kind) for kind in (COMMUNICATION, COMPUTATION))
    return values | {"verdict": comparison(*spent, "the computation")}


def named(count, noun):
    """1 rank, 2 ranks."""
    return f"\\num{{{count}}} {noun}{'s' if count > 1 else ''}"


def place(rows):
    """Where a case runs: so many ranks, and threads in each; or None."""
    if rows.empty:
        return None
    row = rows.iloc[0]
    if row["device"] == "mpi_cuda":
        return named(row["ranks"], "GPU")
    words = named(row["ranks"], "rank")
    return f"{words} of {threads_named(row['threads'])}" if row["variant"] == "mpi_openmp" else words


def pays(found, rows, every):
    """From how many products of one matrix on it pays to have sent it to ranks, over one rank and over threads."""
    keys = ("matrix", "place", "sending", "one", "shared")
    if rows.empty:
        return dict.fromkeys(keys) | {name: after(None, False) for name in ("one", "shared")}
    same = next(one for one in every if matrix(one) == matrix(rows))
    cases = distributed.contenders(same)
    resident = cases.get("resident", NO_ROWS)
    own = phases(found, resident)
    once = distributed.spent(own, "resident")[1] if len(own) else {}
    values = {
        "matrix": matrix(rows),
        "place": place(resident),
        "sending": seconds(sum(once.values())) if once else None,
    }
    for name in ("one", "shared"):
        other = cases.get(name, NO_ROWS)
        values[name] = after(distributed.break_even(resident, own, other), bool(len(other) and once))
    return values


def after(count, is_measured):
    """When something pays, in words."""
    if not is_measured:
        return Missing("at a number of products that was not measured")
    if count is None:
        return "at a number of products that can't be told, since the two can't be told apart"
    return "never" if math.isinf(count) else f"after {named(count, 'product')}"


# GPUs


def on_gpu(found):
    """The rungs on a GPU: of the largest matrix, the smallest, and the one of longest rows among the others."""
    values = {"machine": machine(found)}
    ceiling, copying = (gpu.bandwidth(found, kernel) for kernel in ("read", "copy"))
    values["reading"] = rate(ceiling, "bandwidth") if ceiling else None
    values["copy"] = rate(copying, "bandwidth") if copying else None
    for dtype in ("float64", "float32"):
        for role, rows in roles(found, dtype).items():
            values |= headed(f"{role}/{dtype}", rungs(found, rows, ceiling))
    return values


def roles(found, dtype):
    """The timed calls on the matrices by role; without rows where there is none."""
    several = [study.where(rows, dtype=dtype) for rows in sizes(found, "gemv_gpu")]
    several = [rows for rows in several if len(rows)]
    middle = sorted(several[1:-1], key=lambda rows: rows["m"].iloc[0])
    chosen = {"large": several[-1:], "long": middle[-1:], "small": several[:-1][:1]}
    return {role: chosen[role][0] if chosen[role] else NO_ROWS for role in ROLES}


def rungs(found, rows, ceiling):
    """Each rung with its fastest tuning on one matrix."""
    cases = {name: distributed.fastest(study.where(rows, variant=name)) for name in RUNGS}
    values = {"matrix": matrix(rows), "cache": caches(rows)}
    for name, one in cases.items():
        values |= headed(name, bandwidth(one, ceiling))
        values[f"{name}/time"] = seconds(one["seconds"].median()) if len(one) else None
    values |= {
        f"{name}/against/{other}": comparison(cases[name], cases[other], code(other))
        for name, others in AGAINST.items()
        for other in others
    }
    shared, naive = on_one_block(*(study.where(rows, variant=name) for name in ("cuda_shared", "cuda_naive")))
    values["cuda_shared/against/cuda_naive"] = comparison(shared, naive, code("cuda_naive"))
    values["cuda_shared/block"] = f"\\num{{{int(shared['block'].iloc[0])}}}" if len(shared) else None
    once = study.where(phases(found, cases["cuda_coalesced"]), phase=TRANSPOSITION)
    values[TRANSPOSITION] = seconds(once["seconds"].median()) if len(once) else None
    return values


def on_one_block(rows, others):
    """The fastest case among blocks that two rungs both have, and the other rung's on the same block.

    Apart from what they stage the two do the same, so that another block must not be taken for another rung.
    """
    if rows.empty or others.empty:
        return NO_ROWS, NO_ROWS
    best = distributed.fastest(rows[rows["block"].isin(others["block"])])
    return best, study.where(others, block=best["block"].iloc[0]) if len(best) else NO_ROWS


def on_cards(found):
    """Several GPUs, on the largest matrix, if possible one of ranks on cores too."""
    of_cards = [rows for rows in sizes(found, "gemv_mpi", "gemv_cards") if "mpi_cuda" in set(rows["device"])]
    both = [rows for rows in of_cards if "mpi" in set(rows["device"])]
    rows = (both or of_cards or [NO_ROWS])[-1]
    shared = distributed.fastest(study.where(rows, device="host"))
    values = {"machine": machine(found), "matrix": matrix(rows)}
    values["shared/time"] = seconds(shared["seconds"].median()) if len(shared) else None
    for mode in MODES:
        here = study.where(rows, mode=mode)
        several, single = (here[here["ranks"] > 1], here[here["ranks"] == 1]) if len(here) else (here, here)
        cores = distributed.fastest(distributed.distinct(study.where(several, device="mpi")))
        best, one = (distributed.fastest(study.where(some, device="mpi_cuda")) for some in (several, single))
        values |= headed(f"{mode}/best", parts(found, best, mode))
        values[f"{mode}/best/method"] = method(best)
        values[f"{mode}/best/place"] = place(best)
        values |= headed(f"{mode}/cores", parts(found, cores, mode))
        values[f"{mode}/cores/place"] = place(cores)
        values[f"{mode}/best/against/cores"] = comparison(best, cores, "that")
        values[f"{mode}/best/against/shared"] = comparison(best, shared, "the fastest on threads")
        values[f"{mode}/best/against/one"] = comparison(best, one, "the fastest on one GPU")
        values[f"{mode}/nccl/against/mpi"] = by_nccl(several)
        values[f"{mode}/overlap"] = overlap(eager(here), best)
    return values


def method(rows):
    """A case's variant, and whether its steps are launched as one; or None."""
    if rows.empty:
        return None
    row = rows.iloc[0]
    return code(row["variant"]) + (" as one CUDA graph" if row.get("graph") == "on" else "")


def by_nccl(rows):
    """The fastest product by NCCL against the fastest by the hosts' MPI, both launched one by one."""
    cases = [distributed.fastest(study.where(eager(rows), variant=name)) for name in ("nccl_cublas", "mpi_cublas")]
    return comparison(*cases, code("mpi_cublas"))


def eager(rows):
    """The cases whose steps the host launches one by one."""
    return rows[rows["graph"] != "on"] if "graph" in rows else rows


def overlap(rows, best):
    """How pieces that overlap do against one piece, on as many cards and by the same link as a case."""
    here = study.where(rows, **{name: best[name].iloc[0] for name in ("variant", "ranks")}) if len(best) else NO_ROWS
    pieces = distributed.fastest(here[here["chunks"] > 1]) if len(here) else NO_ROWS
    return comparison(pieces, study.where(here, chunks=1), "the same in one piece")


def as_graph(found):
    """A product as a graph against the same without, on the largest matrix and the most cards that have both."""
    graph, plain = next(twins(found), (NO_ROWS, NO_ROWS))
    return {
        "machine": machine(found),
        "matrix": matrix(graph),
        "place": place(graph),
        "against/eager": comparison(graph, plain, "the same launched one by one"),
    }


def twins(found):
    """Cases as a graph, each with the one that differs in nothing else: the largest matrix first, and most cards."""
    for rows in reversed(sizes(found, "gemv_cards")):
        graphs, plain = study.where(rows, graph="on"), eager(rows)
        for count in reversed(study.values(graphs, "ranks")):
            same = {"variant": "nccl_cublas", "mode": "resident", "chunks": 1, "ranks": count}
            pair = study.where(graphs, **same), study.where(plain, **same)
            if all(map(len, pair)):
                yield pair


def large(found):
    """The largest matrix of the cards' own, resident: most of them against one, and the bandwidth of all.

    The efficiency is one card's time over that of as many as there are and their number.
    """
    several = sizes(found, "gemv_cards_large")
    rows = study.where(several[-1], mode="resident") if several else NO_ROWS
    single = study.where(rows, ranks=1)
    together = study.where(rows, ranks=rows["ranks"].max()) if len(rows) else NO_ROWS
    most, one = map(distributed.fastest, (together, single))
    card = gpu.bandwidth(found, "read")
    count = most["ranks"].iloc[0] if len(most) else 1
    values = {
        "machine": machine(found),
        "matrix": matrix(rows),
        "place": place(most),
        "method": method(most),
    }
    values |= bandwidth(most, card and card * count)
    if count == 1:
        unknown = dict.fromkeys(("efficiency", "eager/efficiency"))
        return values | dict.fromkeys(("against/one", "nccl/against/mpi"), NOTHING) | unknown
    return values | {
        "against/one": comparison(most, one, "the fastest on one GPU"),
        "nccl/against/mpi": by_nccl(together),
        "efficiency": efficiency(most, one, count),
        "eager/efficiency": efficiency(*(distributed.fastest(eager(some)) for some in (together, single)), count),
    }


def efficiency(most, one, count):
    """The share of `count` times what one card does that as many cards do."""
    return percent(throughput(most) / throughput(one) / count) if len(most) and len(one) else None


# The findings of the earlier study


def findings(found):
    """Whether communication is far longer than computation, and whether a matrix that stays makes up for it."""
    several = sizes(found, "gemv_mpi")
    largest = several[-1] if several else NO_ROWS
    answers = {"communication": longer(found, most_ranks(largest, variant="mpi", mode="ship"))}
    answers["resident"] = makes_up(found, largest)
    return {
        f"{name}/{part}": value
        for name, answer in answers.items()
        for part, value in zip(("verdict", "evidence"), answer, strict=True)
    }


def longer(found, rows):
    """Whether the communication of a case on several ranks takes more than twice the time of its computation."""
    if rows.empty or rows["ranks"].iloc[0] < 2:
        return untested("no product ran on several ranks")
    own = phases(found, rows)
    spent = [distributed.passes(own, "ship", kind) for kind in (COMMUNICATION, COMPUTATION)]
    if any(frame.empty for frame in spent):
        return untested("a measurement is missing")
    told = verdicts.compare(*map(study.processes, spent))
    verdict = {"slower": "holds in part", "faster": "does not hold"}.get(told.word, "can't be told")
    evidence = f"on {place(rows)} the communication {comparison(*spent, 'the computation')}"
    return "holds" if told.low > FINDINGS["far"] else verdict, evidence


def makes_up(found, rows):
    """Whether ranks that have the matrix are faster than one rank, and ranks to which it is sent every time are not."""
    cases = distributed.contenders(rows) if len(rows) else {}
    if not {"one", "ship", "resident"} <= set(cases):
        return untested("no product ran on several ranks")
    one = cases["one"]
    words = [verdicts.compare(*map(study.processes, (cases[mode], one))).word for mode in MODES]
    count = distributed.break_even(cases["resident"], phases(found, cases["resident"]), one)
    evidence = (
        f"sending the matrix every time, the product on ranks {comparison(cases['ship'], one, 'on one')}; "
        f"if it stays it {comparison(cases['resident'], one, 'that')}; the sending is repaid {after(count, True)}"
    )
    if "can't tell" in words:
        return "can't be told", evidence
    return {("slower", "faster"): "holds", ("faster", "faster"): "holds in part"}.get(
        (*words,), "does not hold"
    ), evidence
