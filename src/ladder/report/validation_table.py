"""The tables of validation: per variant the comparison with a reference that came nearest to its error bound."""

import pandas as pd

from ladder.report import latex
from ladder.report.latex import code, escape
from ladder.store import PUBLISHED_SUFFIX
from ladder.store import study as queries
from ladder.store.study import CASE

COLUMNS = ("machine", *CASE, "process", "check", "error", "bound")


def nearest_comparisons(study):
    """Per workload, variant, product and dtype, the comparison that came nearest to its bound, as a frame.

    `product` is a tuning of trainings: the variant of `gemm` that computes their products.
    """
    checks = study.all_rows("checks", *COLUMNS, "product", "dtype")
    if checks.empty:
        return checks
    product = checks["product"] if "product" in checks else pd.Series(None, index=checks.index, dtype=object)
    checks = checks.assign(
        product=product.fillna(""), share=checks["error"] / checks["bound"].where(checks["bound"] > 0, float("nan"))
    ).fillna({"share": 0.0})
    checks = checks.drop_duplicates(["machine", *CASE, "process", "check"])
    rows = []
    for (workload, variant, product, dtype), part in checks.groupby(["workload", "variant", "product", "dtype"]):
        worst = part.loc[part["share"] == part["share"].max()].iloc[0]
        row = {"workload": workload, "variant": f"{variant}, {product}" if product else variant, "dtype": dtype}
        row |= {"cases": queries.count_cases(part), "comparisons": len(part), "check": worst["check"]}
        row |= {"error": worst["error"], "bound": worst["bound"]}
        rows.append(row | {"margin": worst["bound"] / worst["error"] if worst["error"] else float("inf")})
    return pd.DataFrame(rows)


def latex_table(study):
    """The table of `nearest_comparisons`."""
    frame, rows = nearest_comparisons(study), []
    for _, part in frame.groupby("workload") if len(frame) else ():
        rows += [None] if rows else []
        rows += [
            [
                *(code(row[name]) for name in ("workload", "variant", "dtype")),
                *(str(row[name]) for name in ("cases", "comparisons")),
                escape(row["check"]),
                *(latex.number(row[name]) for name in ("error", "bound")),
                "exact" if row["error"] == 0 else latex.number(row["margin"]),
            ]
            for row in part.to_dict("records")
        ]
    head = ["Workload", "Variant", "Type", "Cases", "Checks", "Nearest", "Error", "Bound", "Margin"]
    return latex.long_table(r"lllrr>{\raggedright}p{0.16\linewidth}rrr", head, rows)


def by_workload(study):
    """By workload, of this build's own measurements: cases, comparisons, and the largest error over its bound."""
    local = [name for name in study.machines() if not name.endswith(PUBLISHED_SUFFIX)]
    checks = study.all_rows("checks", *COLUMNS)
    checks = checks[checks["machine"].isin(local)] if len(checks) else checks
    rows = [
        [
            code(workload),
            str(queries.count_cases(part)),
            str(len(part.drop_duplicates([*CASE, "process", "check"]))),
            latex.percent((part["error"] / part["bound"].where(part["bound"] > 0)).max(), 2),
        ]
        for workload, part in (checks.groupby("workload") if len(checks) else ())
    ]
    return latex.table("lrrr", ["Problem", "Cases", "Comparisons", "Nearest"], rows)


def page(study):
    """The table of `nearest_comparisons` as an HTML page, for the report."""
    frame = nearest_comparisons(study)
    table = frame.to_html(index=False, float_format="%.3g", border=0, justify="left", na_rep="")
    style = "body{font-family:sans-serif} td,th{padding:.2em .8em;text-align:left} tr:nth-child(even){background:#eee}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Validation</title><style>{style}</style>'
        + (f"</head><body>\n{table}\n</body></html>\n")
    )
