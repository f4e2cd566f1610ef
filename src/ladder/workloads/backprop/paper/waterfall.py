"""What each rung gains: the time of an epoch from the untuned program to the card, with the shares of macro blocks."""

from ladder.report import study
from ladder.report.figures import layout, looks, medians, peaks, theme, waterfall
from ladder.report.rungs import measured
from ladder.workloads.backprop.paper import model, query, rates, rungs

TITLE = "What each rung of back-propagation gains"
CATEGORY = "Backprop"
CAPTION = """\
The time of an epoch, rung by rung, peers below; the first five at `O2`. A dot is the median of a process, a tick the
prediction of the model, the wide line the products at the best rate of any precision and two readings of the images.
Beside: the median of the dots, how many times as fast a rung is as the one above, with its 99 % interval, and the
shares of the macro blocks where these were timed apart.
"""
EXPERIMENTS = ("backprop_before", "backprop_ladder", "backprop_gpu")
USES_CEILINGS = True
NAMES = ("brown", "blue", "orange", "yellow", "pink", "sky", "green", "red")
COLOURS = {block: looks.COLOURS[name] for block, name in zip(query.BLOCKS.values(), NAMES, strict=True)}
COLOURS |= {query.OTHER: theme.GREY}


def draw(tables, ceilings):
    """A panel per machine."""
    every = medians.joined(tables)
    calls, phases = medians.samples(every), query.parts(medians.samples(every, total=False))
    found = {}
    for name in medians.machines(*tables.values()):
        rows = of_one_size(study.where(calls, machine=name))
        if len(rows):
            found[name] = panel(rows, study.where(phases, machine=name), ceilings.get(name, peaks.NONE))
    if not found:
        return layout.empty("back-propagation")
    return waterfall.figure(found, "time of an epoch", "products and images alone", COLOURS)


def of_one_size(rows):
    """The ladder with the most images, in single precision where there is a choice."""
    if rows.empty:
        return rows
    rows = study.where(rows, images=rows["images"].max())
    return study.where(rows, dtype=min(rows["dtype"]))


def panel(rows, phases, ceilings):
    """A machine's problem, rungs and ceiling."""
    lines, floors = [], []
    for one, own in measured(rungs.LINES, rows):
        first = own.iloc[0]
        reached = rates.of_ceilings(ceilings, first)
        floors.append(model.floor(first, reached))
        lines.append(
            waterfall.Rung(
                one.label(own),
                one.variant,
                study.processes(own),
                model.seconds(first, reached, rates.threads_of(first)),
                bool(own["converged"].all()),
                one.is_peer,
                query.blocks(own, phases),
            )
        )
    first = rows.iloc[0]
    title = f"{first['layers']}, {first['images']:,} images, {first['dtype']}"
    return title, lines, min(filter(None, floors), default=None)
