"""The numbers of the product on threads, bound to cores or not."""

from ladder.report import roofs, study
from ladder.report.latex import code, number, rate
from ladder.report.phrases import caches, comparison, intensity, scaling, side, thread_count, with_prefix
from ladder.workloads.gemv.paper.query import bandwidth, machine, matrix

METHODS = {
    "openmp": {"variant": "openmp"},
    "spread": {"variant": "openmp_bound", "binding": "spread"},
    "close": {"variant": "openmp_bound", "binding": "close"},
    "static": {"variant": "c_openmp", "schedule": "static"},
    "dynamic": {"variant": "c_openmp", "schedule": "dynamic"},
    "guided": {"variant": "c_openmp", "schedule": "guided"},
    "blas": {"variant": "blas"},
}
AGAINST = {
    "spread": ("openmp", "close", "blas"),
    "close": ("openmp",),
    "static": ("openmp",),
    "dynamic": ("static",),
    "guided": ("static",),
}


def threads(found):
    """How the product does on threads, and whether to bind them helps on the most that were tried."""
    frame = study.one_size(found.samples("gemv_threads"))
    cases = by_method(frame)
    values = {"machine": machine(found), "matrix": matrix(frame), "cache": caches(frame)}
    flops = intensity(frame)
    values |= {"intensity": number(flops) if flops else None, "side": side(flops, roofs.ridge(found, "float64"))}
    for name, counts in cases.items():
        best = study.best_of(counts)
        values |= with_prefix(name, scaling(counts) | bandwidth(best, reading(found, best)))
    every = [study.best_of(counts) for counts in cases.values() if counts]
    best = min(every, key=lambda rows: rows["seconds"].median(), default=study.NO_ROWS)
    ceiling = reading(found, best)
    values |= with_prefix("best", bandwidth(best, ceiling))
    method = next((name for name in cases if study.best_of(cases[name]) is best), None) if len(best) else None
    values["best/method"] = method_code(method) if method else None
    values["best/threads"] = thread_count(best["threads"].iloc[0]) if len(best) else None
    values["best/reading"] = rate(ceiling, "bandwidth") if ceiling else None
    values["best/against/reading"] = against_reading(found, best)
    most = max((count for counts in cases.values() for count in counts), default=None)
    values["most"] = thread_count(most) if most else None
    for name, others in AGAINST.items():
        for other in others:
            pair = [cases[one].get(most, study.NO_ROWS) for one in (name, other)]
            values[f"{name}/against/{other}"] = comparison(*pair, code(other))
    return values


def by_method(frame):
    """The cases of every method by number of threads."""
    return {name: study.by_threads(study.where(frame, **chosen)) for name, chosen in METHODS.items()}


def method_code(name):
    """A method's variant, with its binding or schedule where it has one."""
    variant, *others = METHODS[name].values()
    return code(variant) + "".join(f" ({code(other)})" for other in others)


def against_reading(found, rows):
    """The time that a case takes for a byte against that of reading alone on the same number of threads."""
    threads = rows["threads"].iloc[0] if len(rows) else None
    reads = found.samples("ceiling_bandwidth", kernel="read", threads=threads) if threads else study.NO_ROWS
    by_byte = (one.assign(seconds=one["seconds"] / one["bytes"]) if len(one) else one for one in (rows, reads))
    return comparison(*by_byte, "reading alone")


def reading(found, rows):
    """The best B/s of reading alone on a case's number of threads, or None."""
    return roofs.bandwidth(found, int(rows["threads"].iloc[0])) if len(rows) else None
