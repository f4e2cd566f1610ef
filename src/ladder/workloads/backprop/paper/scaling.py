"""How epochs scale with threads: on the chapter's host, and on the one with most cores."""

from ladder.report import ratios, roofs, study
from ladder.report.latex import code, percent
from ladder.workloads.backprop.paper import query, rungs, varied

LINES = {
    "openmp": rungs.Line("openmp", {"update": "accumulators"}),
    "owner": rungs.Line("openmp", {"update": "owner"}),
    "tuned": rungs.Line("tuned", {}),
}


def threads(found):
    """The speed-up on most threads over one, and the parallel efficiency."""
    values = {}
    for key, line in LINES.items():
        rows = line.rows(found.ladder)
        most = max(study.values(rows, "threads"), default=None)
        ratio = speedup(rows, most)
        values[f"{key}/speedup"] = ratios.prose(ratio)
        values[f"{key}/efficiency"] = ratios.efficiency(ratio, most)
        values[f"{key}/most"] = f"\\num{{{most}}}" if most else None
    return values


def speedup(rows, threads):
    """The time on one thread over that on several, or None."""
    one, several = (study.where(rows, threads=count) for count in (1, threads))
    return ratios.of(one, several) if threads != 1 and len(one) and len(several) else None


def many_cores(found, host):
    """Efficiencies on the machine with most threads, if these are more than the host's, on most and on half of them.

    Beside them that of the BLAS, which tells what the machine's clock and neighbours leave of its cores.
    """
    widest = max((query.Machine(found.of(name)) for name in found.machines()), key=most_threads, default=host)
    if most_threads(widest) <= most_threads(host):
        widest = query.Machine(found.of(None))
    most = most_threads(widest)
    counts = {"half": most // 2, "most": most}
    values = {"machine": code(widest.found.subject) if most else None}
    for name, count in counts.items():
        values[f"{name}/threads"] = f"\\num{{{count}}}" if most else None
        for key, line in LINES.items():
            values[f"{name}/{key}"] = ratios.efficiency(speedup(line.rows(widest.ladder), count), count)
        one, several = (roofs.arithmetic(widest.found, query.SIZE["dtype"], threads) for threads in (1, count))
        values[f"{name}/products"] = percent(several / one / count, 2) if one and several else None
    pair = varied.paired(varied.OPENMP.rows(widest.varied, update="atomic"), varied.OPENMP.rows(widest.varied))
    return values | {"atomic": ratios.compared(ratios.of(*pair[::-1]), "the base")}


def most_threads(machine):
    """On how many threads a machine has run the best form on the host at most; 0 where it hasn't."""
    return max(study.values(LINES["tuned"].rows(machine.ladder), "threads"), default=0)
