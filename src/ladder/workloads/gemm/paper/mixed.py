"""What the paper says of products in mixed precision: what rounding float32's operands gains, and what it loses."""

from ladder.harness.validation import product_factor
from ladder.report import latex, ratios, roofs, study
from ladder.report.cells import NONE, median, rate
from ladder.report.latex import code, percent
from ladder.report.phrases import with_prefix

EXPERIMENT = "gemm_gpu_mixed"
PRECISIONS = ("float32", "tf32", "float16", "bfloat16", "tf32x3")
TERA = 1e12


def numbers(found):
    """The machine, and by precision FLOP/s, the ceiling, the gain over float32 and the error."""
    found = on_card(found)
    values = {"machine": code(found.subject) if found.subject else None}
    cases = by_precision(found)
    for name, rows in cases.items():
        flops, top, off = achieved(rows), ceiling(found, name), error(found, name, rows)
        gain = ratios.of(cases["float32"], rows)
        values |= with_prefix(
            name,
            {
                "rate": latex.rate(flops, "flops") if flops else None,
                "ceiling": latex.rate(top, "flops") if top else None,
                "gain": ratios.prose(gain),
                "error": latex.number(off) if off is not None else None,
            },
        )
    return with_prefix("mixed", values)


def table(found):
    """A row per precision: time, FLOP/s, their share of the ceiling, the gain over float32, and the error."""
    found = on_card(found)
    cases, rows = by_precision(found), []
    for name, case in cases.items():
        if case.empty:
            continue
        flops, top, off = achieved(case), ceiling(found, name), error(found, name, case)
        gain = ratios.of(cases["float32"], case) if name != "float32" else None
        cells = [code(name), code(case["variant"].iloc[0]), median(case), rate(flops, TERA)]
        cells += [percent(flops / top) if top else NONE, ratios.latex(gain) if gain else NONE]
        rows.append([*cells, latex.number(off) if off is not None else NONE])
    head = ["Precision", "Variant", "time", "TFLOP/s", "of ceiling", "gain", "error"]
    return latex.table("llrrrrr", head, rows)


def on_card(found):
    """The study about the first machine that has measured them."""
    return found.first_with(EXPERIMENT)


def by_precision(found):
    """The rows of every precision, {precision: rows}."""
    frame = study.one_size(found.samples(EXPERIMENT))
    return {name: study.where(frame, precision=name) for name in PRECISIONS}


def achieved(rows):
    """FLOP/s at the median time, or None."""
    return rows["flops"].iloc[0] / study.middle(rows) if len(rows) else None


def ceiling(found, precision):
    """The most FLOP/s of products in that precision; None for three products in place of one."""
    return roofs.card_arithmetic(found, precision) if precision != "tf32x3" else None


def error(found, precision, rows):
    """The largest error of a case's elements, as a multiple of what float32 may have at most, or None."""
    if rows.empty:
        return None
    one = rows.iloc[0]
    checks = found.rows("checks", EXPERIMENT, variant=one["variant"], case=one["case"], check="product")
    own, single = (product_factor(int(one["k"]) + 1, name) for name in (precision, "float32"))
    return float((checks["error"] / checks["bound"]).max()) * own / single if len(checks) else None
