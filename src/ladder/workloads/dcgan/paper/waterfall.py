"""What each rung gains: the time of a picture, from loops on the CPU to tensor cores with the copies home hidden."""

from ladder.report import study
from ladder.report.figures import formats, layout, looks, medians, peaks, theme, waterfall
from ladder.workloads.dcgan.paper import model, query, rungs, tables

TITLE = "What each rung of the generator gains"
CATEGORY = "Generator"
CAPTION = """\
The time of a picture, rung by rung, peers below. A dot is the median of a process, a tick the prediction of the model,
the wide line the exact products at the best rate of any precision there. Beside: the median of the dots, how many times
as fast a rung is as the one above of its kind, with its 99 % interval, and the shares of the layers where these were
timed apart.
"""
EXPERIMENTS = ("dcgan_host", "dcgan_gpu", "dcgan_home")
USES_CEILINGS = True
COLOURS = {part: looks.COLOURS[name] for part, name in zip(query.PARTS, looks.NAMES, strict=False)}
COLOURS |= {"epilogues": theme.GREY}


def draw(tables, ceilings):
    """A panel per machine of the chapter."""
    every = medians.joined(tables)
    calls, phases = medians.samples(every), medians.samples(every, total=False)
    found = {}
    for name in query.shown(tables):
        rows = of_one_size(study.where(calls, machine=name))
        shown = panel(rows, of_one_size(study.where(phases, machine=name)), ceilings.get(name, peaks.NONE))
        if shown[1]:
            found[name] = shown
    if not found:
        return layout.empty("the generator")
    return waterfall.figure(found, "time of a picture", "products alone", COLOURS)


def of_one_size(rows):
    """The largest network, and of each device the most images; by picture."""
    if rows.empty:
        return rows
    return query.of_pictures(query.of_most(study.where(rows, channels=rows["channels"].max())))


def panel(rows, phases, ceilings):
    """A machine's problem, rungs and ceiling."""
    lines, floors = [], []
    for one, own in measured(rungs.LINES.values(), rows):
        first = own.iloc[0]
        rate = model.rate_of_ceilings(ceilings, first)
        floors.append(model.floor(first, rate))
        lines.append(
            waterfall.Rung(
                label(one, first),
                one.variant,
                study.processes(own),
                model.seconds(first, rate),
                bool(own["converged"].all()),
                one.is_peer,
                query.parts(own, phases),
                begins=bool(lines) and lines[-1].method != one.variant,
            )
        )
    problem = f"{rows.iloc[0]['channels']} channels" if len(rows) else ""
    return problem, lines, min(filter(None, floors), default=None)


def measured(lines, rows):
    """[(line, its rows of one case)] of those that were measured, each case once."""
    found = {}
    for line, _ in lines:
        own = tables.one_case(line.rows(rows)) if len(rows) else rows
        if len(own):
            found.setdefault((line.variant, own["case"].iloc[0]), (line, own))
    return list(found.values())


def label(line, row):
    """What the figure calls a rung: its variant, the line's words and, on the host, the threads of a case."""
    threads = formats.threads(int(row["threads"])) if "threads" in line.tuning else ""
    return ", ".join(filter(None, (line.variant, line.words, threads)))
