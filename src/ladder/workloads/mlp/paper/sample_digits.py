"""Images of the data set: the first of each digit."""

import numpy as np

from ladder.report.figures import formats, layout

TITLE = "Images of the data set"
CATEGORY = "Data"
CAPTION = """\
Digits that the trainings of this build read: the first four training images of each digit.
"""
USES_DATA = True
IMAGES_PER_DIGIT = 4
NAMES = {"mnist": "MNIST", "digits": "scikit-learn's digits, enlarged to 28 × 28 pixels"}


def draw(data):
    """The first images of every class for training, a column a class."""
    name, digits = data
    side = digits.train_images.shape[1]
    sheet = np.zeros((IMAGES_PER_DIGIT * side, 10 * side), np.uint8)
    for label in range(10):
        for row, image in enumerate(digits.train_images[digits.train_labels == label][:IMAGES_PER_DIGIT]):
            sheet[row * side : (row + 1) * side, label * side : (label + 1) * side] = image
    figure = layout.new_figure(2.85)
    layout.headline(figure, f"{NAMES.get(name, name)}: {formats.plain(len(digits.train_images))} images for training")
    axes = figure.subplots()
    axes.imshow(sheet, cmap="gray_r", vmin=0, vmax=255)
    axes.spines[:].set_visible(False)
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(10) * side + side / 2 - 0.5, range(10))
    axes.set_yticks([])
    axes.tick_params(length=0)
    return figure
