"""The figures of matrix products."""

import pytest
from matplotlib.collections import PathCollection

from drawings import MACHINES, ceilings, draw, tables, visible_texts
from ladder.report import figures
from ladder.report.figures import layout
from ladder.store.study import Study
from ladder.workloads.gemm.paper.roofline import roofs_of_threads


def test_roofs_are_on_the_fewest_and_on_the_best_number_of_threads():
    single, best = roofs_of_threads(Study({}, MACHINES[0], roofs=ceilings()))
    assert single == ("1 thread", 50e9, 20e9)
    assert best == ("24 threads", 1200e9, 480e9)
    assert roofs_of_threads(Study({}, MACHINES[0], roofs={})) == []


@pytest.mark.slow
def test_a_gpu_has_a_panel_with_roofs_with_and_without_tensor_cores():
    figure = draw("gemm_roofline", tables("gemm_roofline"))
    titles = [part.get_suptitle() for part in figure.subfigs]
    assert titles == [MACHINES[0], f"{MACHINES[0]}, GPU"]
    gpu = figure.axes[1]
    assert [max(line.get_ydata()) for line in gpu.lines[:2]] == [60e3, 33e3]
    assert {"60000 GFLOP/s, cuBLAS", "33000 GFLOP/s\nno tensor cores"} <= {text.get_text() for text in gpu.texts}
    host = [row for row in ceilings()[MACHINES[0]]["rows"] if row.get("device", "host") == "host"]
    figure = draw("gemm_roofline", tables("gemm_roofline"), {MACHINES[0]: {"rows": host}})
    assert [part.get_suptitle() for part in figure.subfigs] == [MACHINES[0]]


@pytest.mark.slow
def test_the_roofline_has_the_matrix_vector_product_at_a_quarter_flop_per_byte():
    figure = draw("gemm_roofline", tables("gemm_roofline"))
    points = [collection for collection in figure.axes[0].collections if isinstance(collection, PathCollection)]
    assert 0.25 in {round(float(x), 3) for collection in points for x, _ in collection.get_offsets()}
    assert "matrix-vector" in visible_texts(figure)


@pytest.mark.slow
def test_a_gpu_without_measured_products_has_no_roofline():
    inputs, gpu = tables("gemm_roofline", MACHINES[:2]), f"{layout.mark_published(MACHINES[1])}, GPU"
    assert gpu in " ".join(visible_texts(draw("gemm_roofline", inputs)))
    for name in figures.module("gemm_roofline").GROUPS["cuda"]:
        samples = inputs[name]["samples"]
        inputs[name]["samples"] = samples[samples["machine"] != MACHINES[1]]
    text = " ".join(visible_texts(draw("gemm_roofline", inputs)))
    assert layout.mark_published(MACHINES[1]) in text
    assert gpu not in text


def test_every_tiling_has_a_row_and_every_form_a_column_of_the_heat_map():
    inputs = tables("gemm_tilings")
    samples = inputs["gemm_gpu_float64"]["samples"]
    samples = samples[(samples["variant"] != "cuda_shared") | (samples["block"] != 8) | (samples["form"] != "nt")]
    seconds = samples["flops"] / samples["form"].map({"nn": 1e12, "tn": 2e12, "nt": 4e12})
    inputs["gemm_gpu_float64"]["samples"] = samples.assign(seconds=seconds)
    axes = draw("gemm_tilings", inputs).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["nn", "tn", "nt"]
    rows = [text.get_text() for text in axes.get_yticklabels()]
    tiles = ["16·64·16", "32·128·16", "64·64·16, 8·8", "64·128·8, 8·8", "64·64·16, 32·32", "128·64·16, 64·32"]
    tiles += ["128·128, 64·32", "192·96, 48·48"]
    assert rows == ["16", "8", "16", "32", *tiles, ""]
    numbers = [text.get_text() for text in axes.texts]
    assert [numbers.count(text) for text in ("1.00", "2.00", "4.00")] == [13, 13, 12]
