"""The figures of the training."""

import numpy as np
import pytest

from drawings import MACHINES, PHASES, draw, tables, words
from ladder.data import dataset
from ladder.report import figures
from ladder.report.figures import looks, theme


def test_shares_of_operations_add_up():
    figure = draw("mlp_methods", tables("mlp_methods"))
    bars = [patch for patch in figure.axes[1].patches if patch.get_width()]
    methods = 2 * 4 + 5  # on the host with one thread and with the most, on the GPU
    assert len(bars) == methods * len(PHASES)
    assert sum(bar.get_width() for bar in bars) == pytest.approx(methods * 100)


def test_the_gpu_stands_beside_the_host_and_its_copies_beside_its_bars():
    """Of three machines one has a GPU: its copies are in no share, and no other figure of the training shows it."""
    without = dict.fromkeys(MACHINES[1:], ("cuda",))
    found = tables("mlp_methods", MACHINES, without=without)
    shown = words(draw("mlp_methods", found))
    assert [text for text in shown if text.endswith(", GPU")] == [
        f"{looks.look(name).label}, GPU" for name in ("cuda_naive", "cuda_shared", "cuda_tiled", "cuda_mma", "cublas")
    ]
    assert shown.count("+ 210 µs") == 5
    assert sum("once for all epochs" in text for text in shown) == 1
    assert not {"to device", "to host"} & set(shown)
    for name in ("mlp_time", "mlp_speedup"):
        assert not any("cu" in text.lower() for text in words(draw(name, tables(name))) if "CPU" not in text)


def test_a_missing_peer_has_its_reason():
    assert "it is not installed" in words(draw("mlp_peers", tables("mlp_peers", drop=("pytorch",))))


def test_sample_digits_are_those_of_the_data_set(tmp_path):
    labels = np.array([3, 3, 7], np.uint8)
    images = np.stack([np.full((28, 28), shade, np.uint8) for shade in (10, 20, 30)])
    known = dataset.Dataset(images, labels, images, labels)
    with theme.context():
        figure = figures.module("mlp_sample_digits").draw(data=("mnist", known))
    sheet = figure.axes[0].images[0].get_array()
    assert [sheet[0, 28 * 3], sheet[28, 28 * 3], sheet[0, 28 * 7], sheet[28, 28 * 7]] == [10, 20, 30, 0]
    assert any("MNIST: 3 images" in text for text in words(figure))
