"""The ceilings that figures draw are those of the machine that they show, on the threads that they show them for."""

import pytest

from drawings import MACHINES, draw, tables
from ladder.catalogue import workloads
from ladder.report import figures
from ladder.report.figures import by_threads, theme, waterfall

HERE, THERE = MACHINES[:2]
GIGA = 1e9
# Of each machine, in units of its own: products and streams by threads, which gain less and less, and those of a card.
ON_THREADS = {1: (10, 2), 2: (18, 3), 6: (40, 5), 24: (90, 7)}
ON_CARD = {"float64": 600, "float32": 900}
CARD_MEMORY, FUSED = 50, 300
UNIT = {HERE: GIGA, THERE: 7 * GIGA}


def ceilings():
    """Those of both machines, of which the figures' own is not the first."""
    return {name: {"rows": rows(UNIT[name])} for name in (THERE, HERE)}


def rows(unit):
    """A machine's ceilings; float32 is twice as fast on the host."""
    found = []
    for threads, (flops, bandwidth) in ON_THREADS.items():
        for dtype, factor in (("float64", 1), ("float32", 2)):
            found.append(row("gemm/blas", f"n=9,dtype={dtype}", f"threads={threads}", factor * flops * unit))
        found.append(row("stream/openmp", "kernel=read,dtype=float64", f"threads={threads}", bandwidth * unit))
    for dtype, flops in ON_CARD.items():
        found.append(row("gemm/cublas", f"n=9,dtype={dtype}", "math=default", flops * unit, "cuda"))
    found.append(row("fma/cuda", "n=9,dtype=float64", "block=128", FUSED * unit, "cuda"))
    found.append(row("stream/cuda", "kernel=read,dtype=float64", "block=512", CARD_MEMORY * unit, "cuda"))
    return found


def row(name, sizes, tuning, best, device="host"):
    """A ceiling as the verb `roofs` writes it."""
    workload, variant = name.split("/")
    case = f"{sizes},cache=cold,{tuning}"
    return {"workload": workload, "variant": variant, "case": case, "device": device, "best": best}


@pytest.fixture
def rates_drawn(monkeypatch):
    """The ceilings, {threads or cards: rate}, that panels of rates are given, in place of the panels."""
    found = []
    monkeypatch.setattr(by_threads, "fill_rates", lambda axes, rows, at, looks, ceiling, inches: found.append(ceiling))
    return found


@pytest.mark.parametrize(
    ("name", "column", "factor", "cards"),
    [("mlp_scaling", 0, 1, []), ("gemv_scaling", 1, 1, [{1: 50, 8: 400}]), ("backprop_host", 0, 2, [])],
)
def test_a_ceiling_over_threads_is_that_of_as_many_threads_of_the_machine(name, column, factor, cards, rates_drawn):
    """Of cards the memory of all; the training on the machine with most threads stands beside its product."""
    draw(name, tables(name), ceilings())
    on_threads = {threads: factor * own[column] for threads, own in ON_THREADS.items()}
    panels = 2 if name == "mlp_scaling" else 1
    assert rates_drawn == [pytest.approx(ceiling) for ceiling in [on_threads] * panels + cards]


LIBRARIES = {"blas", "cublas", "cuda_naive"}


@pytest.fixture(scope="module")
def roofline():
    """The figure of two machines, and its tables, of few variants."""
    found = tables("gemm_roofline", (HERE, THERE), drop=tuple(sorted({*workloads.variants("gemm")} - LIBRARIES)))
    return draw("gemm_roofline", found, ceilings()), found


def test_the_roofline_of_each_of_two_machines_has_its_own_roofs(roofline):
    figure, _ = roofline
    assert len(figure.axes) == 4
    for number, axes in enumerate(figure.axes):
        unit, is_card = UNIT[(HERE, THERE)[number // 2]] / GIGA, number % 2
        roofs = [line.get_ydata() for line in axes.lines if line.get_color() == theme.DARK]
        tops, slopes = [max(y) for y in roofs], [min(y) for y in roofs]
        due = [(600, 50), (300, 50)] if is_card else [(10, 2), (90, 7)]
        assert tops == pytest.approx([unit * flops for flops, _ in due])
        assert slopes == pytest.approx([unit * bandwidth / 10 for _, bandwidth in due]), "at a tenth of a FLOP per byte"
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("FLOP per byte", "GFLOP/s")
        told = " ".join(text.get_text() for text in axes.texts)
        words = [f"{unit * flops:.0f} GFLOP/s" if unit * flops >= 100 else "GFLOP/s" for flops, _ in due]
        assert all(word in told for word in words)
        names = ("cuBLAS", "no tensor cores") if is_card else ("1 thread", "24 threads")
        assert all(name in told for name in names)


def test_a_point_of_the_roofline_is_the_fastest_number_of_threads_at_its_intensity(roofline):
    figure, found = roofline
    samples = found["gemm_threads"]["samples"]
    samples = samples[(samples["variant"] == "blas") & (samples["machine"] == HERE)]
    axes = figure.axes[0]
    points = [tuple(point) for drawn in axes.collections for point in getattr(drawn, "get_offsets", list)().tolist()]
    for _, problem in samples.groupby(["form", "m", "n", "k"]):
        first = problem.iloc[0]
        seconds = problem.groupby(["threads", "process"])["seconds"].median().groupby("threads").median().min()
        due = first["flops"] / first["bytes"], first["flops"] / seconds / GIGA
        assert any(point == pytest.approx(due) for point in points)


@pytest.mark.parametrize("workload", ["mlp", "gemv", "descent", "dcgan", "backprop"])
def test_a_waterfall_goes_by_the_ceilings_of_its_machine(workload, monkeypatch):
    """Where another's stand beside them, too; a machine that is seven times as fast has a seventh of the time."""
    name, given = f"{workload}_waterfall", ceilings()
    monkeypatch.setattr(waterfall, "figure", lambda found, *words, **options: found)
    known, found = (given, {HERE: given[THERE]}), tables(name)
    slower, faster = (times(figures.module(name).draw(tables=found, ceilings=one)) for one in known)
    assert slower[0] == pytest.approx(7 * faster[0])
    assert all(one == other or one > other for one, other in zip(slower, faster, strict=True))
    assert slower[1:] != faster[1:]


def times(panels):
    """The ceiling's seconds of the first panel, and all that the models predict."""
    return [
        next(iter(panels.values()))[2],
        *(rung.predicted or 0.0 for _, rungs, _ in panels.values() for rung in rungs),
    ]
