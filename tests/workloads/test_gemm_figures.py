"""The figures of matrix products."""

import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from drawings import MACHINES, ceilings, draw, tables, visible_texts
from ladder.report import figures
from ladder.report.figures import formats, layout, shapes
from ladder.report.figures.roofline import roofs_of_threads
from ladder.store.study import Study


def test_roofs_are_on_the_fewest_and_on_the_best_number_of_threads():
    # (label, FLOP/s, bytes per second) of the made-up ceilings in `drawings.py`.
    single, best = roofs_of_threads(Study({}, MACHINES[0], roofs=ceilings()), "float64")
    assert single == ("1 thread", 50e9, 20e9)
    assert best == ("24 threads", 1200e9, 480e9)
    assert roofs_of_threads(Study({}, MACHINES[0], roofs={}), "float64") == []


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
    inputs, gpu_label = tables("gemm_roofline", MACHINES[:2]), f"{layout.mark_published(MACHINES[1])}, GPU"
    assert gpu_label in " ".join(visible_texts(draw("gemm_roofline", inputs)))
    for name in figures.module("gemm_roofline").EXPERIMENTS_BY_DEVICE["cuda"]:
        samples = inputs[name]["samples"]
        inputs[name]["samples"] = samples[samples["machine"] != MACHINES[1]]
    text = " ".join(visible_texts(draw("gemm_roofline", inputs)))
    assert layout.mark_published(MACHINES[1]) in text
    assert gpu_label not in text


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
    assert rows == ["16", "8", "16", "32", *tiles, "", ""]  # cuBLAS and cuBLASLt choose theirs
    numbers = [text.get_text() for text in axes.texts]
    assert [numbers.count(text) for text in ("1.00", "2.00", "4.00")] == [14, 14, 13]  # one row lacks `nt`


def rows_of_case(variant, precision, m, *seconds):
    """The rows of a case of a product (m, 8, 8), with one sample per process."""
    case = {"machine": "here", "workload": "gemm", "variant": variant, "precision": precision, "phase": "total"}
    case |= {"form": "nn", "m": m, "n": 8, "k": 8, "dtype": "float64" if precision == "float64" else "float32"}
    case |= {"case": f"{m},{precision}", "cache": "cold", "flops": 128 * m, "experiment": precision, "converged": True}
    return [case | {"process": number, "sample": 0, "seconds": time} for number, time in enumerate(seconds)]


def test_the_fastest_rung_of_a_shape_is_chosen_and_compared_by_other_processes():
    rows = [
        *rows_of_case("cublas", "float64", 5, 6.0, 6.0),
        *rows_of_case("cuda_mma", "float64", 5, 4.0, 2.0),  # the second process chooses it, the first one is compared
        *rows_of_case("cuda_tma", "float64", 5, 1.0, 3.0),
        *rows_of_case("cublas_lt", "float64", 5, 0.5, 0.5),  # a peer is no rung
        *rows_of_case("cublas", "tf32", 7, 6.0, 6.0),
        *rows_of_case("cuda_wgmma", "tf32", 7, 8.0, 8.0),
        *rows_of_case("cuda_packed", "float32", 7, 3.0, 3.0),  # competes with TF32, too
        *rows_of_case("cublas", "float32", 9, 6.0, 6.0),
        *rows_of_case("cuda_wgmma", "tf32", 9, 1.0, 1.0),
    ]
    points = shapes.points_of(pd.DataFrame(rows).assign(method=lambda frame: frame["variant"]), "cublas")
    rungs = points[["precision", "method", "flops", "ratio"]].itertuples(index=False, name=None)
    assert [*rungs] == [("float64", "cuda_mma", 640, 1.5), ("tf32", "cuda_packed", 896, 2.0)]


@pytest.mark.slow
def test_each_precision_has_a_panel_of_shapes_and_a_mean():
    panels = draw("gemm_shapes", tables("gemm_shapes")).axes
    titles = [panel.get_title(loc="left") for panel in panels]
    assert [title.split(":")[0] for title in titles] == ["float64", "float32"]  # made-up cases round no operands
    assert all(title.endswith(" over 12 shapes") for title in titles)


def test_ticks_are_powers_of_ten_with_a_factor():
    assert formats.scientific(1e9) == "$10^{9}$"
    assert formats.scientific(2.5e3) == r"$2.5 \cdot 10^{3}$"
