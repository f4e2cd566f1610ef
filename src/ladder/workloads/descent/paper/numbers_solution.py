"""The numbers of times to solution: the system, where algorithms cross, and what steps say of one that is harder."""

from ladder.report import ratios, study
from ladder.report.latex import number, seconds
from ladder.workloads.descent.paper import algorithms, query, theory
from ladder.workloads.descent.paper.convergence import chosen

HARDER = 1000  # the condition of a system whose steps alone are known
PAIRS = (("steepest", "direct"), ("cg", "direct"), ("cg", "steepest"))


def solution(found):
    """Under which conditions algorithms cross, and their times at the largest size."""
    frame = algorithms.alike(query.solves(found))
    kappa, tolerance = (query.condition(found, column) for column in ("kappa", "tolerance"))
    values = {"kappa": kappa and number(kappa), "tolerance": tolerance and number(tolerance, 1)}
    for device in algorithms.CHOSEN:
        values |= {f"{device}/{key}": value for key, value in on(study.where(frame, device=device), device).items()}
    values["cuda/cuda_symmetric/against/direct"] = symmetric(study.where(frame, device="cuda"))
    return values | {f"harder/{key}": value for key, value in harder(found, frame).items()}


def on(own, device):
    """The numbers of the solves of a device."""
    values = {}
    for one, other in PAIRS:
        some = algorithms.points(own, device, one, other)
        values[f"{one}/below/{other}"] = algorithms.sentence(some)
        last = some[-1][1].inverse() if some else None
        values[f"{one}/against/{other}"] = ratios.compared(last, algorithms.NAMES[other])
    sizes = algorithms.common(own, device)
    values["largest"] = f"\\num{{{sizes[-1]}}}" if sizes else None
    for name in algorithms.NAMES:
        rows = algorithms.rows_of(own, device, name, sizes[-1]) if sizes else study.NO_ROWS
        values[f"{name}/time"] = query.timed(rows)
        values[f"{name}/steps"] = query.steps(rows)
    return values


def symmetric(own):
    """How CG by half of A does against Cholesky at the largest size of the card."""
    sizes = algorithms.common(own, "cuda")
    n = sizes[-1] if sizes else None
    half = study.where(own, variant="cuda_symmetric", algorithm="cg", n=n)
    direct = algorithms.rows_of(own, "cuda", "direct", n)
    return ratios.compared(ratios.of(direct, half), algorithms.NAMES["direct"])


def harder(found, frame):
    """What a solve by CG would take on the card of a system that is worse conditioned, by its steps, and Cholesky's."""
    more, n = more_steps(found)
    cg, direct = (study.middle(algorithms.rows_of(frame, "cuda", name, n)) for name in ("cg", "direct"))
    known = more and cg and direct
    return {
        "kappa": number(HARDER, 4) if known else None,
        "n": f"\\num{{{n}}}" if known else None,
        "steps": number(more, 2) if known else None,
        "time": seconds(more * cg, 2) if known else None,
        "direct": seconds(direct, 2) if known else None,
    }


def more_steps(found):
    """How many times the steps of the solves' condition CG takes at HARDER, and at which n; or None twice."""
    kappa, tolerance = (query.condition(found, column) for column in ("kappa", "tolerance"))
    curves = study.where(chosen(found.rows("curves", query.CONVERGENCE)), method="cg")
    easy, hard = (theory.steps_to(study.where(curves, kappa=one), tolerance) for one in (kappa, HARDER))
    return (hard / easy, int(curves["n"].iloc[0])) if easy and hard else (None, None)
