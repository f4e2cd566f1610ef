"""What the chapters say of one GPU."""

import json

import pytest

import chapter
import made_up
from ladder.planning import configuration
from ladder.report import kernels_table, numbers
from ladder.report.latex import code, digits, num, number, percent, rate
from ladder.report.phrases import Missing
from ladder.report.tables import tables
from ladder.report.telling.chapter_study import NotMeasured
from ladder.store.study import Study, middle
from ladder.workloads.stream.paper import tables as stream_tables
from made_up import chapters as made


@pytest.fixture(scope="module")
def measured():
    """A study of a host and a GPU with times made up."""
    return made.whole("gemm")


@pytest.fixture(scope="module")
def of_products():
    """The tables of the chapter on products of matrices."""
    return chapter.tables("gemm")


@pytest.fixture(scope="module")
def ask():
    """The functions of its text."""
    return chapter.asked("gemm")


def most(measured, precision):
    """The highest FLOP/s of all products in a precision."""
    products = [
        measured.samples(name, precision=precision) for name in measured.tables if "gemm" in name or "ceil" in name
    ]
    return max((rows["flops"] / rows["seconds"]).max() for rows in products if len(rows))


def cells_of(table, *names):
    """The cells of the lines of a table in which these names stand."""
    lines = [line.removesuffix(r" \\") for line in table.splitlines()]
    return [line.split(" & ") for line in lines if all(name in line for name in names)]


def test_a_precision_is_held_against_its_own_ceiling_and_the_library_in_it(measured, of_products, ask):
    """In float32 the tensor cores work in TF32: among the tunings, and in the training's products."""
    rows = measured.samples("gemm_gpu_float32", variant="cuda_mma", form="nn")
    reached = rows["flops"].iloc[0] / middle(rows)
    (line,) = [line for line in of_products["gpu"].splitlines() if code("tf32") in line]
    assert percent(reached / most(measured, "tf32")) in line
    assert ask["product_rate"]("card", "tf32") == rate(most(measured, "tf32"), "flops")
    lines = of_products["gpu_training"].splitlines()
    assert [line.split(" & ")[-1] for line in lines if code("float32") in line] == [r"-- \\"] * 3
    assert [line.split(" & ")[6] for line in lines if code("tf32") in line] == ["--"] * 3


def test_multiply_adds_are_the_best_ever_sampled(measured):
    rows = measured.samples("ceiling_gpu_fma", dtype="float64")
    (cells,) = cells_of(stream_tables.gpu_ceilings(measured), "texttt{a-")
    assert cells[5] == digits((rows["flops"] / rows["seconds"]).max() / 1e12)


def test_mixed_precision_is_told_with_what_it_gains_and_loses(measured, of_products, ask):
    """The error is a tenth of each bound: of float16's some 8 times float32's, of a split operand's hardly more."""
    assert ask["speedup"]("float32", "tf32").startswith(r"\num{6.0}")
    assert ask["speedup"]("float32", "tf32x3").startswith(r"\num{2.0}")
    assert ask["product_rate"]("mixed", "float16") == rate(most(measured, "float16"), "flops")
    single = 6 * 4097**0.5 * (2.0**-24 + 2.0**-53)
    assert ask["error"]("float16") == number(0.1 * (single + 2.0**-10) / single)
    assert ask["error"]("tf32x3") == number(0.1 * (single + 3 * 2.0**-22) / single)
    rows = cells_of(of_products["gpu_mixed"], "texttt")
    assert [cells[0] for cells in rows] == [code(name) for name in ("float32", "tf32", "float16", "bfloat16", "tf32x3")]
    assert [cells[6] for cells in rows[2::2]] == [ask["error"]("float16"), ask["error"]("tf32x3")]
    assert [cells[4] == "--" for cells in rows] == [False] * 4 + [True]
    assert rows[0][5] == "--"


def test_the_link_is_known_from_the_bytes_of_streams_arrays(measured):
    """Triad sends two arrays and brings back one; read brings back partial sums alone."""
    moved = {"to device": {"read": 1, "copy": 1, "triad": 2}, "to host": {"copy": 1, "triad": 1}}
    table = stream_tables.gpu_ceilings(made_up.both(measured, made_up.study(made.gemm(), "another (published)")))
    (cells,) = [cells for cells in cells_of(table, "texttt{a-") if len(cells) == 12]
    assert "--" not in cells
    for phase, cell in zip(moved, cells[-2:], strict=True):
        found = measured.samples("ceiling_gpu_bandwidth", phase=phase).groupby("kernel")["seconds"].min()
        best = max(arrays * 8 * 2**22 / found[kernel] for kernel, arrays in moved[phase].items())
        assert cell == digits(best / 1e9)


def test_cases_on_a_throttled_gpu_are_counted_each_once(measured, ask):
    cases = {one.case.key: one.case.variant for one in made.gemm_on_gpu()}
    assert ask["cases_with_clock"]() == num(len(cases))
    assert ask["cases_with_clock"](throttled=True) == num(list(cases.values()).count("cublas"))
    silent = made_up.study(made.gemm_on_gpu())  # without what a GPU tells
    with pytest.raises(NotMeasured):
        chapter.asked("gemm", silent)["cases_with_clock"](throttled=True)


def test_without_a_gpu_every_number_says_so():
    nothing = Study({}, None)
    for key, value in numbers.numbers(nothing, configuration.protocol({}), 1.25).items():
        if "/gpu/" in key:
            assert isinstance(value, Missing) or "want of a measurement" in value, key
    for name, text in tables(nothing).items():
        if name == "verdicts":  # counts of all chapters'
            continue
        sentence = "No kernel was built" if name == "kernels" else "no measurement"
        assert sentence in text or text.count("not tested") > 3, name


def test_the_table_of_kernels_shows_what_they_take(tmp_path):
    kernels = {
        f"gemm_{form}": {"registers": 30 + i, "shared": 1024, "stack": 0, "spills": 8 * i, "threads": 256, "dynamic": i}
        | {"occupancy": {"blocks": 8 - i, "warps": 64 - 8 * i, "share": 1 - i / 8} if i < 2 else None}
        for i, form in enumerate(("nn", "tn", "nt"))
    }
    report = made_up.kernel_report()
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report | {"kernels": kernels, "warnings": ["w"]}))
    assert r"30--32 & 1024--1026 & 88--100\,\% & 0--16 & 1" in kernels_table.kernels([path])
    for kernel in kernels.values():
        kernel |= {"dynamic": None, "occupancy": None}
    path.write_text(json.dumps(report | {"kernels": kernels}))
    assert "30--32 & 1024 & -- & 0--16 & 0" in kernels_table.kernels([path])
