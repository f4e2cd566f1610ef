"""Images of the data set: four of each digit, the first that come."""

import numpy as np

from ladder.figures import style

TITLE = "Images of the data set"
CATEGORY = "Data"
USES_DATA = True
EACH = 4
NAMES = {"mnist": "MNIST", "digits": "scikit-learn's digits, enlarged to 28 × 28 pixels"}


def draw(data):
    """The first images of every class, a column a class."""
    name, found = data
    figure = style.new(3.0)
    style.headline(figure, f"{NAMES.get(name, name)}: {len(found.train_images):,} images for training")
    grid = figure.subplots(EACH, 10, gridspec_kw={"wspace": 0.04, "hspace": 0.04})
    for label in range(10):
        chosen = np.flatnonzero(found.train_labels == label)[:EACH]
        for row, axes in enumerate(grid[:, label]):
            axes.set_axis_off()
            if row < len(chosen):
                axes.imshow(found.train_images[chosen[row]], cmap="gray_r", vmin=0, vmax=255)
        grid[0, label].set_title(str(label), loc="center")
    return figure
