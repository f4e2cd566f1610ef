"""The sensitivity of checks: the experiment finds known bounds, and the project's own are tight."""

import numpy as np
import pytest

from ladder.catalogue import sources, workloads
from ladder.data.digits import write as write_digits
from ladder.errors import LadderError
from ladder.harness import sensitivity
from ladder.harness.sensitivity import ANY, ELEMENT, ROW
from ladder.harness.validation import unit_roundoff
from ladder.records.case import Case
from ladder.report import sensitivity_table

WORKLOAD = """
from types import SimpleNamespace

import numpy as np

from ladder.harness.validation import Check, compare

SIZES = {"n": int, "bound": 0.00375, "dtype": ("float64", "float32")}
SENSITIVITY = [("doubled", {}, {"n": 7})]


def arrays(sizes):
    shape = sizes["n"], 3
    return {"x": (shape, sizes["dtype"])}, {"y": (shape, sizes["dtype"]), "count": ((1,), "int64")}


def fill(inputs, sizes, round, data):
    inputs["x"][...] = np.arange(1, inputs["x"].size + 1).reshape(inputs["x"].shape)
    return ["x"]


def cost(sizes):
    return SimpleNamespace(flops=3 * sizes["n"], bytes=0, precision=sizes["dtype"])


def check(sizes, inputs, outputs, round, data, reference, precision):
    due = 2.0 * inputs["x"].astype(np.float64)
    y, largest = outputs["y"].astype(np.float64), due.max()
    return [
        compare("close", y, due, sizes["bound"] * largest),
        compare("first row", y[0], due[0], sizes["bound"] * largest),
        Check("blind", 0.5 * (len(y) == sizes["n"]), 1.0),
        compare("count", outputs["count"], np.array([16.0]), 0.0),
    ], None
"""
VARIANT = """
import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, factor: int = 2):
    def run():
        np.multiply(problem.x, factor, out=problem.y)
        problem.count[0] = 16

    return run
"""


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """A workload with a known bound, among the project's."""
    folder = tmp_path / "known"
    folder.mkdir()
    (folder / "__init__.py").write_text(WORKLOAD)
    (folder / "doubled.py").write_text(VARIANT)
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path))
    sources.forget()
    yield
    monkeypatch.undo()
    sources.forget()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "digits"
    write_digits(folder)
    return {"digits": folder}


def case(workload, variant, dtype, tuning=None, **sizes):
    return Case(workload, variant, workloads.complete(workload, sizes | {"dtype": dtype}), tuning or {"threads": 1})


def found(one, data=None, seed=1):
    """{(array, fault, check): Sensitivity}"""
    return {(row.array, row.fault, row.check): row for row in sensitivity.sensitivities(one, data, seed)}


def known(dtype="float64", bound=0.00375, **tuning):
    sizes = {"n": 7, "bound": bound, "dtype": dtype}
    return Case("known", "doubled", workloads.complete("known", sizes), tuning)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_known_bound_is_found_to_two_digits(made_up, dtype):
    rows = found(known(dtype))
    for fault in (ELEMENT, ROW):
        for check in ("close", ANY):
            row = rows["y", fault, check]
            assert row.seen == row.places == sensitivity.PLACES
            assert row.error == pytest.approx(0.00375, rel=0.012)
            assert row.error > 0.00375
    assert rows["count", ELEMENT, "count"].error == 1 / 16
    assert rows["y", ELEMENT, "close"].share == 0


def test_a_check_that_refuses_the_largest_error_alone_is_not_blind(made_up):
    row = found(known(bound=0.75))["y", ELEMENT, "close"]
    assert row.seen == row.places
    assert row.error == pytest.approx(0.75, rel=0.012)


def test_what_a_check_does_not_see_is_no_number(made_up):
    rows = found(known())
    for check in ("blind", "count"):
        assert (rows["y", ELEMENT, check].seen, rows["y", ELEMENT, check].error) == (0, None)
    assert (rows["y", ROW, "first row"].seen, rows["y", ROW, "first row"].places) == (1, sensitivity.PLACES)
    assert rows["y", ELEMENT, "blind"].share == 0.5


def test_the_result_is_right_again_and_a_seed_gives_the_same(made_up):
    result = sensitivity.Result(known(), None)
    before = result.arrays["y"].copy()
    (fault, *_) = sensitivity.faults(result, result.arrays["y"], ROW, np.random.default_rng(1))
    assert ANY in fault.failed_checks(1.0)
    assert np.array_equal(result.arrays["y"], before)
    assert found(known(), seed=3) == found(known(), seed=3)


def test_a_wrong_result_and_one_elsewhere_are_refused(made_up):
    with pytest.raises(LadderError, match=r"The result is wrong \(known/doubled/.*, round 1\)"):
        found(known(factor=3))
    with pytest.raises(LadderError, match="its arrays aren't on the host"):
        found(case("gemm", "cuda_naive", "float64", {}, m=3, n=3, k=3))


def test_workloads_declare_their_cases_for_every_dtype(made_up):
    declared = sensitivity.cases()
    assert {one.sizes["dtype"] for one in declared if one.workload == "known"} == {"float64", "float32"}
    assert {"gemm", "gemv", "stream", "mlp", "backprop", "descent", "tconv", "dcgan"} <= {
        one.workload for one in declared
    }
    for one in declared:
        workloads.require_sound(one)
    first = sensitivity.cases("first")
    assert all(one.sizes["dtype"] == workloads.load(one.workload).SIZES["dtype"][0] for one in first)
    assert {one.workload for one in first} == {one.workload for one in declared}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [1, 3, 17, 64, 1000])
@pytest.mark.parametrize("workload", ["gemm", "gemv"])
def test_a_wrong_element_is_refused_from_a_few_roundings_on(workload, k, dtype):
    sizes = {"m": 37, "n": 29, "k": k} if workload == "gemm" else {"n": 37, "m": k}
    rows = found(case(workload, "blas", dtype, **sizes))
    row = next(row for (_, fault, check), row in rows.items() if (fault, check) == (ELEMENT, ANY))
    assert row.seen == row.places
    assert row.error <= 4 * unit_roundoff(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_wrong_element_anywhere_in_a_large_product_is_refused(dtype):
    result = sensitivity.Result(case("gemm", "blas", dtype, m=257, n=259, k=261), None)
    out, generator = result.arrays["out"], np.random.default_rng(2)
    places = list(zip(*(generator.integers(0, length, 20) for length in out.shape), strict=True))
    for place in places:
        assert {"rows projected", "columns projected"} <= sensitivity.Fault(result, out, place).failed_checks(0.01)
    result.solve(1)
    for place in places:
        assert ANY in sensitivity.Fault(result, out, place).failed_checks(4 * unit_roundoff(dtype))


TRAININGS = {
    "mlp": {"layers": "784-13-10", "images": 130, "batch": 20, "epochs": 1, "rate": 0.5, "source": "digits"},
    "backprop": {"layers": "784-13-10", "images": 130, "epochs": 1, "rate": 0.005, "source": "digits"},
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("workload", sorted(TRAININGS))
def test_a_training_refuses_a_hundred_times_the_usual_distance(data, workload, dtype):
    """The usual distance is that of two trainings of which one rounds, scaled to the dtype."""
    result = sensitivity.Result(case(workload, "numpy_loop", dtype, **TRAININGS[workload]), data)
    scale = unit_roundoff(dtype) / unit_roundoff("float32")
    for name, array in result.arrays.items():
        usual = float(result.reference[f"{name}_drift"][0]) * scale
        for fault in sensitivity.faults(result, array, ELEMENT, np.random.default_rng(1)):
            assert ANY in fault.failed_checks(100 * usual / fault.largest), name


@pytest.mark.parametrize("workload", sorted(TRAININGS))
def test_a_training_refuses_a_hundred_times_what_a_right_variant_is_off_by(data, workload):
    """The largest of several seeds: how a host rounds may happen to suit one."""
    sizes = [TRAININGS[workload] | {"seed": seed} for seed in range(1, 10)]
    results = [sensitivity.Result(case(workload, "numpy_loop", "float32", **some), data) for some in sizes]
    shares = {check: max(result.shares[check] for result in results) for check in results[0].shares}
    assert shares.keys() > {ANY}
    assert {key: share for key, share in shares.items() if share < 0.01} == {}


def test_the_table_says_what_is_refused_and_what_is_not_seen(made_up, tmp_path):
    import pandas as pd

    rows = [
        {"workload": "known", "variant": "doubled", "case": one.slug, "dtype": one.sizes["dtype"], **vars(row)}
        for one in (known(), known("float32"))
        for row in sensitivity.sensitivities(one, None)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "sensitivity.csv", index=False)
    text = sensitivity_table.latex_table(tmp_path / "sensitivity.csv")
    lines = {line.partition(" & ")[0]: line for line in text.splitlines()}
    assert lines["blind"].count("not seen") == 4
    assert f"(1/{sensitivity.PLACES})" in lines["first row"]
    assert r"\num{0.0038}" in lines["close"]
    assert "n=7, " in lines[next(line for line in lines if "multicolumn{8}" in line)].replace(r"\allowbreak{}", "")
    assert "no measurement" in sensitivity_table.latex_table(None)
