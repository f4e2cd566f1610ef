"""What this chapter's text asks for beside what every chapter's may."""

from ladder.harness.validation import product_factor
from ladder.report import latex, rates
from ladder.report.study import CASE, count, where
from ladder.report.telling.chapter_study import NotMeasured


def driver(study, role):
    """The driver of a machine's GPUs."""
    machine = study.machine(role)
    gpus = machine.descriptions.get(machine.subject, {}).get("gpus") or [{}]
    if "driver" not in gpus[0]:
        raise NotMeasured
    return latex.escape(gpus[0]["driver"])


def product_rate(study, role, precision):
    """FLOP/s of the best product of a precision on a machine's GPU."""
    rate = rates.products(study.machine(role), precision, device="cuda")
    if not rate:
        raise NotMeasured
    return latex.rate(rate, "flops")


def error(study, precision):
    """The largest error of an element, as a multiple of what float32 may have at most."""
    case = study.rows(precision).iloc[0]
    conditions = {"variant": case["variant"], "case": case["case"], "check": "product"}
    checks = study.machine_of(precision).rows("checks", case["experiment"], **conditions)
    if checks.empty:
        raise NotMeasured
    own, single = (product_factor(int(case["k"]) + 1, name) for name in (precision, "float32"))
    return latex.number(float((checks["error"] / checks["bound"]).max()) * own / single)


def cases_with_clock(study, **conditions):
    """How many cases ran on a GPU that reports whether it was throttled; with `throttled=True` those that were."""
    machine = study.machine("card")
    calls = where(
        machine.everything("samples", "machine", *CASE, "device", "throttled"), machine=machine.subject, device="cuda"
    )
    known = calls[calls["throttled"].notna()] if "throttled" in calls else calls.iloc[:0]
    if known.empty:
        raise NotMeasured
    return latex.num(count(where(known, **conditions)))
