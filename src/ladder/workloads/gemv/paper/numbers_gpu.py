"""The numbers of the product's rungs on a card."""

from ladder.report import roofs, study
from ladder.report.latex import code, rate, seconds
from ladder.report.phrases import caches, comparison, with_prefix
from ladder.workloads.gemv.paper.query import bandwidth, machine, matrix, phases, sizes

ROLES = ("large", "long", "small")
RUNGS = ("cuda_naive", "cuda_coalesced", "cuda_shared", "cuda_warp", "cublas")
AGAINST = {"cuda_coalesced": ("cuda_naive", "cuda_warp"), "cuda_warp": ("cuda_naive", "cublas")}
TRANSPOSITION = "transposition"


def on_gpu(found):
    """The rungs on a GPU: of the largest matrix, the smallest, and the one of longest rows among the others."""
    values = {"machine": machine(found)}
    ceiling, copying = (roofs.card_bandwidth(found, kernel) for kernel in (None, "copy"))
    values["reading"] = rate(ceiling, "bandwidth") if ceiling else None
    values["copy"] = rate(copying, "bandwidth") if copying else None
    for dtype in ("float64", "float32"):
        for role, rows in roles(found, dtype).items():
            values |= with_prefix(f"{role}/{dtype}", rungs(found, rows, ceiling))
    return values


def roles(found, dtype):
    """The timed calls on the matrices by role; without rows where there is none."""
    several = [study.where(rows, dtype=dtype) for rows in sizes(found, "gemv_gpu")]
    several = [rows for rows in several if len(rows)]
    middle = sorted(several[1:-1], key=lambda rows: rows["m"].iloc[0])
    chosen = {"large": several[-1:], "long": middle[-1:], "small": several[:-1][:1]}
    return {role: chosen[role][0] if chosen[role] else study.NO_ROWS for role in ROLES}


def rungs(found, rows, ceiling):
    """Each rung with its fastest tuning on one matrix."""
    cases = {name: study.fastest(study.where(rows, variant=name)) for name in RUNGS}
    values = {"matrix": matrix(rows), "cache": caches(rows)}
    for name, one in cases.items():
        values |= with_prefix(name, bandwidth(one, ceiling))
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
        return study.NO_ROWS, study.NO_ROWS
    best = study.fastest(rows[rows["block"].isin(others["block"])])
    return best, study.where(others, block=best["block"].iloc[0]) if len(best) else study.NO_ROWS
