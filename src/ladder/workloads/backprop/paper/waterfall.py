"""What each rung gains: the time of an epoch from the untuned program to the card, with the shares of macro blocks."""

from ladder.report.figures import looks, theme
from ladder.report.telling.ladder import waterfall_of
from ladder.workloads.backprop.paper import model
from ladder.workloads.backprop.paper.lines import BLOCKS, LINES, OTHER, SIZE

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
COLOURS = {block: looks.COLOURS[name] for block, name in zip(BLOCKS.values(), NAMES, strict=True)}
COLOURS |= {OTHER: theme.GREY}


def draw(study):
    """A panel for each machine of the chapter, mostly one."""
    problem = f"{SIZE['layers']}, {SIZE['images']:,} images, {SIZE['dtype']}"

    def ceiling_of(machine):
        """The least floor of all rungs of a machine."""
        rows = [study.find(key) for key in LINES if study.machine_of(key).subject == machine.subject]
        return min(filter(None, (model.floor(machine, one.iloc[0]) for one in rows if len(one))), default=None)

    return waterfall_of(study, problem, "time of an epoch", "products and images alone", ceiling_of, COLOURS)
