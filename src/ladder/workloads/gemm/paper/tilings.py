"""FLOP/s of every rung on a GPU by tiling and form."""

import math
import re

from ladder.records.case import Case
from ladder.report.figures import heat, layout, medians, methods
from ladder.workloads.gemm import SIZES

TITLE = "FLOP/s of the tilings on a GPU"
CATEGORY = "GEMM"
CAPTION = """\
FLOP/s of every tiling of the rungs on a square product on one GPU, by form. A cell is darker the closer it is to the
best of its column. Rows are labelled by the edge of a thread block, or by the rows, columns and depth of its tile and,
after the comma, those of a thread's or a warp's tile; cells show the fastest of all other tunings. Medians.
"""
EXPERIMENTS = ("gemm_gpu_float64", "gemm_gpu_float32")
PANEL_COLUMNS = ["m", "n", "k", "dtype", "precision", "cache", "threads"]  # a panel has one value of each


def draw(study):
    """A panel per machine, dtype and precision, with a row per tiling and a column per form."""
    frame, panels = medians.samples(medians.join_tables(study.study.tables)), {}
    for name in study.study.machines():
        products = frame[frame["machine"] == name].groupby(PANEL_COLUMNS, sort=False)
        panels[name] = [(title(rows.iloc[0]), rates_by_method(rows)) for _, rows in products]
    panels = {name: titled_rates for name, titled_rates in panels.items() if titled_rates}
    if not panels:
        return layout.empty("products on a GPU")
    return heat.figure(panels, 0.8)


def title(row):
    """The title of a panel: its product, the unit of its numbers, and its precision, which replaces the dtype."""
    size = f"{row['m']} × {row['n']} × {row['k']}"
    return ", ".join([size, *medians.condition_words({**row, "dtype": "float64"})]) + f"\n{row['precision']}, TFLOP/s"


def rates_by_method(rows):
    """[(method, TFLOP/s)], with a row per tiling and a column per form."""
    cases = medians.summaries(rows, ("method", "case", "variant", "form"))
    teraflops = rows.groupby("case")["flops"].first() / 1e12
    cases = cases.assign(rate=cases["case"].map(teraflops) / cases["median"])
    cases["tiling"] = [tiling(Case.parse("gemm", case.variant, case.case).tuning) for case in cases.itertuples()]
    cases = cases.sort_values("rate").drop_duplicates(["method", "tiling", "form"], keep="last")
    forms = [form for form in SIZES["form"] if form in set(cases["form"])]
    return [
        (method, rates.pivot(index="tiling", columns="form", values="rate").reindex(columns=forms).sort_index(key=area))
        for method, rates in ((name, cases[cases["method"] == name]) for name in methods.sort_methods(cases["method"]))
    ]


def tiling(tuning):
    """The edges of a tiling: `16`, or `64·64·16, 8·8`; empty if a library chooses."""
    if "block" in tuning:
        return str(tuning["block"])
    block = "·".join(str(tuning[name]) for name in ("bm", "bn", "bk") if name in tuning)
    part = "·".join(str(tuning[name]) for name in ("tm", "tn", "wm", "wn") if name in tuning)
    return ", ".join(filter(None, (block, part)))


def area(tilings):
    """The sort key of tilings: the area of a block's tile, or the edge of a block."""
    return tilings.map(lambda name: math.prod(map(int, re.findall(r"\d+", name)[:2])))
