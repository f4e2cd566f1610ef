"""Figures and tables use the ceilings of the right machine, at the same number of threads."""

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

import made_up
from chapter import cells_of
from drawings import MACHINES, draw, tables
from ladder.catalogue import workloads
from ladder.report import figures
from ladder.report.figures import by_threads, layout, theme, waterfall
from ladder.report.latex import code, percent
from ladder.report.telling import chapter_study, scaling
from ladder.store import rates as rates_of_studies
from ladder.store.study import Study
from ladder.workloads.gemm.paper import tables as gemm_tables
from ladder.workloads.mlp.paper import tables as mlp_tables
from ladder.workloads.stream.paper import tables as stream_tables
from made_up import chapters as made_chapters

FIRST_MACHINE, SECOND_MACHINE = MACHINES[:2]
GIGA = 1e9
# Made-up ceilings: of products in FLOP/s and of streams in bytes/s, both in units of RATE_UNIT of the machine; for the
# host as {threads: (products, streams)}.
THREAD_CEILINGS = {1: (10, 2), 2: (18, 3), 6: (40, 5), 24: (90, 7)}
GPU_PRODUCTS = {"float64": 600, "float32": 900}
GPU_STREAMS, GPU_MULTIPLY_ADDS = 50, 300
RATE_UNIT = {FIRST_MACHINE: GIGA, SECOND_MACHINE: 7 * GIGA}


def ceilings():
    """The ceilings of both machines; the machine that figures are about is the second."""
    return {name: {"rows": rows(RATE_UNIT[name])} for name in (SECOND_MACHINE, FIRST_MACHINE)}


def rows(unit):
    """A machine's ceilings; float32 is twice as fast on the host."""
    ceiling_rows = []
    for threads, (flops, bandwidth) in THREAD_CEILINGS.items():
        for dtype, factor in (("float64", 1), ("float32", 2)):
            ceiling_rows.append(row("gemm/blas", f"n=9,dtype={dtype}", f"threads={threads}", factor * flops * unit))
        ceiling_rows.append(row("stream/openmp", "kernel=read,dtype=float64", f"threads={threads}", bandwidth * unit))
    for dtype, flops in GPU_PRODUCTS.items():
        ceiling_rows.append(row("gemm/cublas", f"n=9,dtype={dtype}", "math=default", flops * unit, "cuda"))
    ceiling_rows.append(row("fma/cuda", "n=9,dtype=float64", "block=128", GPU_MULTIPLY_ADDS * unit, "cuda"))
    ceiling_rows.append(row("stream/cuda", "kernel=read,dtype=float64", "block=512", GPU_STREAMS * unit, "cuda"))
    return ceiling_rows


def row(name, sizes, tuning, best, device="host"):
    """A ceiling as the verb `roofs` writes it."""
    workload, variant = name.split("/")
    case = f"{sizes},cache=cold,{tuning}"
    return {"workload": workload, "variant": variant, "case": case, "device": device, "best": best}


@pytest.fixture
def panel_ceilings(monkeypatch):
    """The ceilings, {threads or GPUs: rate}, that panels of rates get, in a list; the panels aren't drawn."""
    ceilings_of_panels = []
    monkeypatch.setattr(
        by_threads, "fill_rates", lambda axes, rows, at, looks, ceiling, inches: ceilings_of_panels.append(ceiling)
    )
    return ceilings_of_panels


def test_a_panel_stands_under_the_ceiling_of_its_own_machine(panel_ceilings):
    # Instead of a machine of a role, the study has its bandwidth.
    study = SimpleNamespace(machine={"host": 1e9, "widest": 5e9}.get)
    panel = scaling.Panel("widest", [], "threads", lambda rate: {1: rate, 2: 2 * rate})
    scaling.fill(
        layout.new_figure(1).subplots(), study, panel, pd.DataFrame({"count": [1], "method": ["x"]}), "GB/s", 1
    )
    assert panel_ceilings == [{1: 5.0}]


# `kind` is 0 for the ceilings of products in THREAD_CEILINGS and 1 for those of streams; float32 has a `factor` of 2.
@pytest.mark.parametrize(
    ("name", "kind", "factor", "gpu_ceilings", "headings"),
    [
        ("gemv_scaling", 1, 1, [{1: 50, 8: 400}], ["cores: GB/s", "GPUs: GB/s"]),
        ("backprop_host", 0, 2, [], ["time of an epoch: 1 thread, 20,000 images", "threads: GFLOP/s"]),
    ],
)
def test_a_ceiling_over_threads_is_that_of_as_many_threads_of_the_machine(
    name, kind, factor, gpu_ceilings, headings, panel_ceilings
):
    """The ceiling of several GPUs is the sum of their memory bandwidths."""
    figure = draw(name, tables(name), ceilings())
    host_ceilings = {threads: factor * rates[kind] for threads, rates in THREAD_CEILINGS.items()}
    assert panel_ceilings == [host_ceilings, *gpu_ceilings]
    assert [f"{axes.get_xlabel()}: {axes.get_title(loc='left')}" for axes in figure.axes] == headings


ROOFLINE_VARIANTS = {"blas", "cublas", "cuda_naive"}


@pytest.fixture(scope="module")
def roofline():
    """The figure of two machines, drawn with few variants, and the tables behind it."""
    inputs = tables(
        "gemm_roofline",
        (FIRST_MACHINE, SECOND_MACHINE),
        missing_variants=tuple(sorted({*workloads.variants("gemm")} - ROOFLINE_VARIANTS)),
    )
    return draw("gemm_roofline", inputs, ceilings()), inputs


def test_the_roofline_of_each_of_two_machines_has_its_own_roofs(roofline):
    figure, _ = roofline
    assert len(figure.axes) == 4
    for number, axes in enumerate(figure.axes):
        unit, is_gpu = RATE_UNIT[(FIRST_MACHINE, SECOND_MACHINE)[number // 2]] / GIGA, number % 2
        roofs = [line.get_ydata() for line in axes.lines if line.get_color() == theme.DARK]
        tops, slopes = [max(y) for y in roofs], [min(y) for y in roofs]
        # (FLOP/s, bytes/s) of each roof: with and without tensor cores, or of 1 and of 24 threads.
        expected = [(600, 50), (300, 50)] if is_gpu else [(10, 2), (90, 7)]
        assert tops == pytest.approx([unit * flops for flops, _ in expected])
        assert slopes == pytest.approx([unit * bandwidth / 10 for _, bandwidth in expected]), (
            "at a tenth of a FLOP per byte"
        )
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("FLOP per byte", "GFLOP/s")
        texts = " ".join(text.get_text() for text in axes.texts)
        words = [f"{unit * flops:.0f} GFLOP/s" if unit * flops >= 100 else "GFLOP/s" for flops, _ in expected]
        assert all(word in texts for word in words)
        names = ("cuBLAS", "no tensor cores") if is_gpu else ("1 thread", "24 threads")
        assert all(name in texts for name in names)


def test_a_point_of_the_roofline_is_the_fastest_number_of_threads_at_its_intensity(roofline):
    figure, inputs = roofline
    samples = inputs["gemm_threads"]["samples"]
    samples = samples[(samples["variant"] == "blas") & (samples["machine"] == FIRST_MACHINE)]
    axes = figure.axes[0]
    points = [
        tuple(point) for collection in axes.collections for point in getattr(collection, "get_offsets", list)().tolist()
    ]
    for _, problem in samples.groupby(["form", "m", "n", "k"]):
        first = problem.iloc[0]
        seconds = problem.groupby(["threads", "process"])["seconds"].median().groupby("threads").median().min()
        expected = first["flops"] / first["bytes"], first["flops"] / seconds / GIGA
        assert any(point == pytest.approx(expected) for point in points)


# {workload: (the time that its waterfall shows, the label of its ceiling)}.
WATERFALL_LABELS = {
    "mlp": ("time", "products at the best rate"),
    "gemv": ("time of a gigabyte", "memory of all GPUs"),
    "descent": ("time of an iteration", "A read once"),
    "dcgan": ("time of a picture", "work without zeros"),
    "backprop": ("time of an epoch", "products and images alone"),
}


@pytest.mark.parametrize("workload", WATERFALL_LABELS)
def test_a_waterfall_goes_by_the_ceilings_of_its_machine(workload, monkeypatch):
    """Also beside the ceilings of another machine; a machine that is seven times faster has a seventh of the time."""
    name, both_ceilings = f"{workload}_waterfall", ceilings()
    drawn_labels = []
    monkeypatch.setattr(
        waterfall, "figure", lambda panels, *labels, **options: drawn_labels.append(labels[:2]) or panels
    )
    faster_ceilings, inputs = {FIRST_MACHINE: both_ceilings[SECOND_MACHINE]}, tables(name)
    slower, faster = (
        predicted_times(figures.draw(name, tables=inputs, ceilings=ceilings_of_machines))
        for ceilings_of_machines in (both_ceilings, faster_ceilings)
    )
    assert slower[0] == pytest.approx(7 * faster[0])
    assert all(slow == fast or slow > fast for slow, fast in zip(slower, faster, strict=True))
    assert slower[1:] != faster[1:]
    assert drawn_labels == [WATERFALL_LABELS[workload]] * 2


def predicted_times(panels):
    """The ceiling's seconds of the first panel, and all predicted seconds."""
    return [
        next(iter(panels.values()))[2],
        *(rung.predicted or 0.0 for _, rungs, _ in panels.values() for rung in rungs),
    ]


@pytest.mark.parametrize("threads", [1, 6])
def test_models_in_tables_and_figures_take_the_rates_of_as_many_threads_of_the_machine(threads):
    """On a GPU they take the rates of the case's precision."""
    both_ceilings, unit = ceilings(), RATE_UNIT[FIRST_MACHINE]
    study = Study({}, FIRST_MACHINE, roofs=both_ceilings)
    on_host = {"device": "host", "dtype": "float32", "precision": "float32", "threads_found": threads}
    on_gpu = {"device": "cuda", "dtype": "float64", "precision": "float64", "threads_found": 1}
    flops, reading = (unit * rate for rate in THREAD_CEILINGS[threads])

    def rates_of(row, *resources):
        amounts = ({name: 1.0} for name in resources)
        return [pytest.approx(1 / rates_of_studies.seconds(study, row, amount, threads)) for amount in amounts]

    assert [2 * flops, reading] == rates_of(on_host, "products", "memory")
    assert [600 * unit, 50 * unit, GPU_MULTIPLY_ADDS * unit] == rates_of(on_gpu, "products", "memory", "multiply_adds")
    assert [rates_of_studies.products_of(study, row) for row in (on_host, on_gpu)] == [2 * flops, 600 * unit]
    memory = {count: unit * bandwidth for count, (_, bandwidth) in THREAD_CEILINGS.items()}
    assert (rates_of_studies.bandwidths(study), rates_of_studies.gpu_bandwidth(study)) == (memory, 50 * unit)


@pytest.fixture(scope="module")
def study_under_ceilings():
    """A study of products and trainings that take a second each, of 1e9 FLOPs, under the ceilings of two machines."""
    measurements = [
        item for name in ("gemm_threads", "gemm_square", "mlp_peers") for item in made_chapters.measurements(name)
    ]
    tiled_measurements = [
        item for item in measurements if "tiled" in (item.case.variant, item.case.tuning.get("product"))
    ]
    study = made_up.study([item for item in tiled_measurements if item.case.sizes["dtype"] == "float64"], FIRST_MACHINE)
    for parts in study.tables.values():
        parts["samples"]["seconds"] = 1.0
        parts["samples"]["flops"] = 1e9
    return replace(study, roofs=ceilings())


def test_a_share_in_a_table_is_of_the_best_on_as_many_threads_of_the_machine(study_under_ceilings):
    """1 GFLOP/s is a tenth of the ceiling of one thread, and a ninetieth of that of 24 threads."""
    products = chapter_study.study_of_chapter("gemm", study_under_ceilings)
    (cells,) = cells_of(gemm_tables.threads(products), code("nn"), code("tiled"))
    assert cells[4:6] == [percent(1 / 90), "24"]
    cells = cells_of(gemm_tables.square(products), code("tiled"))[0]
    assert cells[5:7] == [r"\qty{1.00}{\second}", percent(1 / 10)]
    peers = mlp_tables.peers(SimpleNamespace(machine=lambda role: study_under_ceilings))
    first, second = (cells for cells in cells_of(peers, code("tiled")) if cells[0] == "100")
    assert (first[2], first[-1]) == ("1", percent(1 / 10, 2))
    assert (second[2], second[-1]) == ("2", percent(1 / 18, 2))
    (cells,) = cells_of(stream_tables.ceilings(study_under_ceilings), code(FIRST_MACHINE))
    assert cells[1:6] == ["10.0", "90.0", "20.0", "180", "7.00"]
    (cells,) = cells_of(stream_tables.gpu_ceilings(study_under_ceilings), code(FIRST_MACHINE))
    assert cells[1:3] == ["0.600", "0.900"]
    assert cells[5] == "0.300"
