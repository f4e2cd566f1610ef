"""What an earlier study found of the training on a machine of twelve cores, held against the study's subject."""

from ladder.report import study
from ladder.report.findings import FAR, answers, untested
from ladder.report.latex import code, percent
from ladder.report.phrases import comparison, levels_off, thread_count
from ladder.statistics import verdicts
from ladder.workloads.mlp.paper.operations import shares_of

# Its words: "from about 4 threads", "best at 12, worse at 24", "more than 99 %".
LEVELS_OFF = (3, 6)
BEST, WORSE = 12, 24
SHARE = 0.99


def findings(found):
    """Whether each finding holds: a verdict and the evidence for it."""
    frame = study.one_size(found.samples("mlp_threads", dtype="float64", device="host"))
    plain, blas = (study.by_threads(study.where(frame, product=name)) for name in ("openmp", "blas"))
    return answers(
        {
            "levels-off": about_levelling_off(plain),
            "best": about_best(plain),
            "serial": about_lead(blas.get(1, study.NO_ROWS), plain.get(1, study.NO_ROWS)),
            "parallel": about_lead(study.best_of(blas), study.best_of(plain)),
            "share": about_share(shares_of(found, "openmp", 1)),
        }
    )


def about_levelling_off(cases):
    low, high = LEVELS_OFF
    if not (any(count <= low for count in cases) and any(count > high for count in cases)):
        return untested(f"needs thread counts on both sides of {low} to {high}; {most_threads(cases)}")
    count = levels_off(cases)
    evidence = f"within a tenth of the shortest time from {thread_count(count)} on"
    return "holds" if low <= count <= high else "does not hold", evidence


def about_best(cases):
    if BEST not in cases or WORSE not in cases:
        return untested(f"needs {BEST} and {WORSE} threads; {most_threads(cases)}")
    found = verdicts.compare(study.processes(cases[WORSE]), study.processes(cases[BEST])).outcome
    verdict = {"slower": "holds" if study.shortest(cases) == BEST else "holds in part", "faster": "does not hold"}
    worse = comparison(cases[WORSE], cases[BEST], str(BEST))
    evidence = f"best on {thread_count(study.shortest(cases))}; {WORSE} {worse}"
    return verdict.get(found, "can't be told"), evidence


def most_threads(cases):
    """How far the thread counts went."""
    return f"at most {thread_count(max(cases))} ran" if cases else "none ran"


def about_lead(blas, plain):
    if blas.empty or plain.empty:
        return untested("a measurement is missing")
    found = verdicts.compare(study.processes(blas), study.processes(plain))
    far = found.high < 1 / FAR
    verdict = (
        "holds" if far else {"faster": "holds in part", "slower": "does not hold"}.get(found.outcome, "can't be told")
    )
    return verdict, f"{code('blas')} {comparison(blas, plain, code('openmp'))}"


def about_share(shares):
    if shares.empty:
        return untested("a measurement is missing")
    by_process = shares["products"].groupby("process").median()
    verdict = "can't be told"
    if (by_process > SHARE).all() or (by_process <= SHARE).all():
        verdict = "holds" if by_process.iloc[0] > SHARE else "does not hold"
    return verdict, f"{percent(shares['products'].median())} of the plain loops' training on one thread"
