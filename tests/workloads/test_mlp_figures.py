"""The figures of the training."""

import numpy as np

from drawings import words
from ladder.data import dataset
from ladder.report import figures
from ladder.report.figures import theme


def test_sample_digits_are_those_of_the_data_set(tmp_path):
    labels = np.array([3, 3, 7], np.uint8)
    images = np.stack([np.full((28, 28), shade, np.uint8) for shade in (10, 20, 30)])
    known = dataset.Dataset(images, labels, images, labels)
    with theme.context():
        figure = figures.module("mlp_sample_digits").draw(data=("mnist", known))
    sheet = figure.axes[0].images[0].get_array()
    assert [sheet[0, 28 * 3], sheet[28, 28 * 3], sheet[0, 28 * 7], sheet[28, 28 * 7]] == [10, 20, 30, 0]
    assert any("MNIST: 3 images" in text for text in words(figure))
