"""What each rung gains: the time of a picture, from loops on the CPU to tensor cores with hidden copies to the host."""

from ladder.report.figures import looks, theme
from ladder.report.telling.ladder import waterfall_of
from ladder.workloads.dcgan import layout
from ladder.workloads.dcgan.paper import model
from ladder.workloads.dcgan.paper.lines import FIGURE, LINES, PHASES, SOURCES

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
COLOURS = {part: looks.COLOURS[name] for part, name in zip(PHASES, looks.NAMES, strict=False)}
COLOURS |= {"epilogues": theme.GREY}


def draw(study):
    """A panel for each machine of the chapter."""
    problem = f"{layout.FULL} channels"
    return waterfall_of(study, problem, "time of a picture", "products alone", products_alone, COLOURS)


def products_alone(machine):
    """Seconds of the products of a picture at the best rate of any precision in which a rung of a machine computes."""
    lines = [LINES[key] for key in FIGURE]
    rows = [case.iloc[0] for line in lines if len(case := line.rows(SOURCES[line.source].rows(machine)))]
    return min(filter(None, (model.products_alone(machine, row) for row in rows)), default=None)
