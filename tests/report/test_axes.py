"""The labels of every figure's axes: the quantity, its unit, and the problem."""

from collections import defaultdict

import pytest

from drawings import DEFAULT_RATE, RATES, draw, tables
from ladder.report import figures

pytestmark = pytest.mark.slow  # together: every figure is drawn

EPOCH_LABELS = {f"time of an epoch, 784-56-28-10, {count},000 images, float32" for count in (10, 60)}
SYSTEM_LABEL = "n, κ = 100, tolerance 1e-4"
SHARE_LABEL = "share of the time (%)"
# {figure: {(label of x, label of y)}}, without axes that have no label.
AXES = {
    "backprop_host": {("threads", ""), ("time of an epoch", "")},
    "backprop_variations": {("times as long", "")},
    "backprop_waterfall": {*((epoch, "") for epoch in EPOCH_LABELS), (SHARE_LABEL, "")},
    "dcgan_pictures": set(),
    "dcgan_splits": {("time since the start (ms)", "")},
    "dcgan_timeline": {("time since the start (ms)", "")},
    "dcgan_waterfall": {("time of a picture, 512 channels", ""), (SHARE_LABEL, "")},
    "descent_convergence": {("iteration", "relative residual"), ("iteration", "")},
    "descent_solution": {(SYSTEM_LABEL, "time of a solve"), (SYSTEM_LABEL, "")},
    "descent_waterfall": {("time of an iteration, n = 512, float32", "")},
    "gemm_roofline": {("FLOP per byte", "GFLOP/s")},
    "gemm_shapes": {("FLOP", "speed-up")},
    "gemm_tilings": set(),
    "gemv_phases": {("time (ms)", "")},
    "gemv_scaling": {("cores", ""), ("GPUs", "")},
    "gemv_waterfall": {("time of a gigabyte, float64", "")},
    "mlp_learning": {("epoch", "mean loss"), ("epoch", "test accuracy (%)"), ("epoch", "|loss − reference|")},
    "mlp_methods": {("time (ms)", "")},
    "mlp_threads": {("threads", "")},
    "mlp_waterfall": {
        ("time, 100 images, 784-1000-1000-1000-10, float64", ""),
        ("time, nn: 1000 × 300 × 784, float64", ""),
        ("time, nn: 4096 × 4096 × 4096, float64", ""),
    },
}


def test_the_list_of_axes_has_every_figure_that_needs_no_data_set():
    assert set(AXES) == {name for name in figures.names() if not figures.constants(name)["USES_DATA"]}


@pytest.mark.parametrize("name", AXES)
def test_the_axes_of_a_figure_say_what_they_measure(name):
    figure = draw(name, tables(name))
    assert {(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes} - {("", "")} == AXES[name]


@pytest.mark.parametrize("name", [name for name in AXES if name.endswith("_waterfall")])
def test_an_axis_of_a_waterfall_has_as_many_ticks_as_fit(name):
    for axes in draw(name, tables(name)).axes:
        if "time" in axes.get_xlabel():
            assert 2 <= len(axes.get_xticks()) <= 5


def milliseconds(text):
    """The first time of a text such as `31.2 ms + 15.6 ms`, in milliseconds."""
    number, unit = text.split()[:2]
    return float(number) * {"s": 1e3, "ms": 1, "µs": 1e-3, "ns": 1e-6}[unit]


# `phase_share` is the sum of the phases over the call in the made-up data, `min_bars` the fewest bars of a panel.
@pytest.mark.parametrize(("name", "phase_share", "min_bars"), [("gemv_phases", 0.95, 8), ("mlp_methods", 1.0, 1)])
def test_calls_with_phases_are_drawn_at_the_time_beside_them(name, phase_share, min_bars):
    for axes in draw(name, tables(name)).axes:
        # The times stand at the right edge of the axes, at x = 1.
        labels = {round(text.xy[1], 6): milliseconds(text.get_text()) for text in axes.texts if text.xy[0] == 1}
        dots = {round(y, 6): x for x, y in axes.collections[-1].get_offsets()}
        assert len(labels) >= min_bars
        assert {y: dots[y] for y in labels} == pytest.approx(labels, rel=5e-3)
        sums = defaultdict(float)
        for bar in axes.patches:
            sums[round(bar.get_y() + bar.get_height() / 2, 6)] += bar.get_width()
        assert sums == pytest.approx({y: phase_share * dots[y] for y in sums}, rel=0.01)


# The axis shows FLOPs or, for matrix-vector products, bytes: in float64 they read 8 for two operations.
@pytest.mark.parametrize(("name", "units_per_flop"), [("backprop_host", 1), ("gemv_scaling", 4)])
def test_rates_are_those_of_the_made_up_times_in_billions(name, units_per_flop):
    figure = draw(name, tables(name))
    first_rates = {
        line.get_ydata()[0] for axes in figure.axes for line in axes.lines if list(line.get_xdata()[:2]) == [1, 2]
    }
    assert first_rates
    for rate in first_rates:
        assert any(
            rate == pytest.approx(units_per_flop * expected, rel=0.015) for expected in {*RATES.values(), DEFAULT_RATE}
        )


def test_speedups_of_the_training_are_over_one_thread():
    """The made-up rates rise like threads to the power of 0.8."""
    *_, openmp, blas = draw("mlp_threads", tables("mlp_threads")).axes
    for axes in (openmp, blas):
        ideal, *lines = sorted(axes.lines, key=lambda line: -line.get_linewidth())
        assert [*ideal.get_ydata()] == [1, 2, 6, 24]
        assert len(lines) == 4  # the forms nn, tn and nt, and the whole training
        for line in lines:
            assert [*line.get_ydata()] == pytest.approx([1, 2**0.8, 6**0.8, 24**0.8], rel=1e-3)
