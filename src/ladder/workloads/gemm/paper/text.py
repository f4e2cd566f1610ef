"""Functions for this chapter's text only; `report/telling/functions.py` has those for every chapter."""

from ladder.harness.validation import product_factor
from ladder.report import latex
from ladder.report.telling.chapter_study import require_measured
from ladder.store.study import CASE, count_cases, where


def error(study, precision):
    """The largest error of an element, as a multiple of float32's bound; None without a check."""
    checks = study.machine_of(precision).of_case("checks", study.find(precision), check="product")
    if checks.empty:
        return None
    bound, float32_bound = (product_factor(int(checks["k"].iloc[0]) + 1, name) for name in (precision, "float32"))
    return latex.number(float((checks["error"] / checks["bound"]).max()) * bound / float32_bound)


def gpu_cases(study, **conditions):
    """The number of cases on GPUs whose throttling was recorded; with `throttled=True`, of the throttled ones."""
    machine = study.machine("gpu")
    samples = machine.all_rows("samples", "machine", *CASE, "device", "throttled")
    samples = where(samples, machine=machine.machine_name, device="cuda")
    rows = require_measured(samples[samples["throttled"].notna()] if "throttled" in samples else None)
    return latex.num(count_cases(where(rows, **conditions)))
