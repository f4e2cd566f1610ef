"""The numbers of products of two matrices: ceilings, one product on one thread, larger ones, and those by threads."""

import itertools

from ladder.report import roofs, study
from ladder.report.latex import code, listed, number, rate
from ladder.report.phrases import (
    caches,
    intensity,
    number_of_cases,
    pairs,
    rate_of,
    scaling,
    side,
    time_of,
    with_prefix,
)
from ladder.workloads.gemm import SIZES
from ladder.workloads.gemm.paper import numbers_gpu

RUNGS = ("openmp", "interchanged", "tiled", "blas")
VARIANTS = (*RUNGS, "c_openmp")
FORMS = SIZES["form"]
DTYPES = SIZES["dtype"]


def numbers(found):
    """Every key's value."""
    values = ceilings(found) | square(found) | large(found) | threads(found) | numbers_gpu.numbers(found)
    return with_prefix("gemm", values)


def ceilings(found):
    """Arithmetic by precision on one thread, at best, and where it meets the ceiling of memory."""
    values = {}
    for dtype in DTYPES:
        one, best = (roofs.arithmetic(found, dtype, threads) for threads in (1, None))
        ridge = roofs.ridge(found, dtype)
        values[f"ceiling/{dtype}/one"] = rate(one, "flops") if one else None
        values[f"ceiling/{dtype}/best"] = rate(best, "flops") if best else None
        values[f"ceiling/{dtype}/ridge"] = number(ridge) if ridge else None
    return values


def square(found):
    """The rungs on one large product, one thread each."""
    frame = found.samples("gemm_square", threads=1)
    values = {"square/cache": caches(frame), "square/cases": number_of_cases(found, "gemm_square", device="host")}
    for dtype, form in itertools.product(DTYPES, FORMS):
        here = study.one_size(study.where(frame, dtype=dtype, form=form))
        cases = {variant: study.where(here, variant=variant) for variant in VARIANTS}
        ceiling = roofs.arithmetic(found, dtype, 1)
        for variant, rows in cases.items():
            values |= with_prefix(f"square/{variant}/{form}/{dtype}", time_of(rows) | rate_of(rows, ceiling))
        values |= with_prefix("square", pairs(cases, f"/{form}/{dtype}"))
        measured = {variant: rows for variant, rows in cases.items() if len(rows)}
        values[f"square/{form}/{dtype}/fastest"] = code(study.shortest(measured)) if measured else None
        values[f"square/{form}/{dtype}/shape"] = shape(here)
        moved = intensity(here)
        values[f"square/{form}/{dtype}/intensity"] = number(moved) if moved else None
        values[f"square/{form}/{dtype}/side"] = side(moved, roofs.ridge(found, dtype))
    return values


def large(found):
    """The faster rungs on the smallest and the largest of the products beyond the caches, one thread each."""
    frame = found.samples("gemm_large", threads=1, dtype="float64", form="nn")
    work = study.values(frame, "flops")
    roles = {"smallest": work[:1], "largest": work[1:][-1:]}
    values = {"large/cache": caches(frame), "large/cases": number_of_cases(found, "gemm_large", device="host")}
    for role, flops in roles.items():
        here = study.one_size(study.where(frame, flops=flops[0] if flops else None))
        cases = {variant: study.where(here, variant=variant) for variant in RUNGS}
        values[f"large/{role}/shape"] = shape(here)
        for variant, rows in cases.items():
            rates = rate_of(rows, roofs.arithmetic(found, "float64", 1))
            values |= with_prefix(f"large/{variant}/{role}", time_of(rows) | rates)
        values |= with_prefix("large", pairs(cases, f"/{role}"))
    return values


def threads(found):
    """The training's products by the number of threads."""
    frame = found.samples("gemm_threads", dtype="float64")
    values = {
        "threads/cache": caches(frame),
        "threads/cases": number_of_cases(found, "gemm_threads", device="host"),
        "threads/threads": listed(study.values(frame, "threads")) or None,
    }
    for form in FORMS:
        here = study.one_size(study.where(frame, form=form))
        moved = intensity(here)
        values[f"threads/{form}/shape"] = shape(here)
        values[f"threads/{form}/intensity"] = number(moved) if moved else None
        cases = {variant: study.by_threads(study.where(here, variant=variant)) for variant in RUNGS}
        for variant, counts in cases.items():
            values |= with_prefix(f"threads/{variant}/{form}", scaling(counts))
        values |= with_prefix(
            "threads", pairs({name: study.best_of(counts) for name, counts in cases.items()}, f"/{form}/best")
        )
    return values


def shape(frame):
    """The sizes of a product."""
    if frame.empty:
        return None
    row = frame.iloc[0]
    return f"${row['m']} \\times {row['n']} \\times {row['k']}$"
