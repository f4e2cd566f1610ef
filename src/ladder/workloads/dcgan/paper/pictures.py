"""The pictures of the trained generator for all of the workload's latents."""

from ladder.report.figures import layout
from ladder.report.figures.theme import imread

TITLE = "What the trained generator draws"
CAPTION = """\
Pictures that the published network, trained on MNIST's digits, draws from all of our latent vectors.
"""
USES_ARTEFACTS = ("pictures.png",)


def draw(artefacts):
    """The sheet as it is."""
    sheet = imread(artefacts["pictures.png"])
    figure = layout.new_figure(0.85)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.imshow(sheet, interpolation="antialiased")
    return figure
