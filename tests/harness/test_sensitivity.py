"""The sensitivity of checks: known bounds are found, and those of the project's workloads are tight."""

import numpy as np
import pytest

from ladder.catalogue import soundness, sources, workloads, wrong_results
from ladder.errors import LadderError
from ladder.harness import sensitivity
from ladder.harness.sensitivity import ANY, ELEMENT, ROW
from ladder.harness.validation import unit_roundoff
from ladder.records.case import Case
from ladder.report import sensitivity_table

# A workload whose result is 2 x: the check `close` allows errors up to `bound` of the largest value, and `blind` any.
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
    expected = 2.0 * inputs["x"].astype(np.float64)
    y, largest = outputs["y"].astype(np.float64), expected.max()
    return [
        compare("close", y, expected, sizes["bound"] * largest),
        compare("first row", y[0], expected[0], sizes["bound"] * largest),
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
def known_workload(tmp_path, monkeypatch):
    """Add a workload with a known bound to those of the project."""
    folder = tmp_path / "known"
    folder.mkdir()
    (folder / "__init__.py").write_text(WORKLOAD)
    (folder / "doubled.py").write_text(VARIANT)
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path))
    sources.clear_caches()
    yield
    monkeypatch.undo()
    sources.clear_caches()


@pytest.fixture(scope="module")
def data(digits_folder):
    """The paths of data by name, as a case gets them."""
    return {"digits": digits_folder}


def case(workload, variant, dtype, tuning=None, **sizes):
    return Case(workload, variant, workloads.complete(workload, sizes | {"dtype": dtype}), tuning or {"threads": 1})


def sensitivities(case, data=None, seed=1):
    """The sensitivities of a case, {(array, fault, check): Sensitivity}."""
    return {(row.array, row.fault, row.check): row for row in sensitivity.sensitivities(case, data, seed)}


def known_case(dtype="float64", bound=0.00375, **tuning):
    """A case of the workload with a known bound."""
    sizes = {"n": 7, "bound": bound, "dtype": dtype}
    return Case("known", "doubled", workloads.complete("known", sizes), tuning)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_known_bound_is_found_to_about_one_per_cent(known_workload, dtype):
    rows = sensitivities(known_case(dtype))
    for fault in (ELEMENT, ROW):
        for check in ("close", ANY):
            row = rows["y", fault, check]
            assert row.seen == row.places == sensitivity.MAX_PLACES
            assert row.error == pytest.approx(0.00375, rel=0.012)
            assert row.error > 0.00375
    assert rows["count", ELEMENT, "count"].error == 1 / 16  # 17 in place of 16
    assert rows["y", ELEMENT, "close"].share == 0


def test_a_check_that_refuses_only_the_largest_error_is_not_blind(known_workload):
    row = sensitivities(known_case(bound=0.75))["y", ELEMENT, "close"]
    assert row.seen == row.places
    assert row.error == pytest.approx(0.75, rel=0.012)


def test_the_error_of_a_blind_check_is_none(known_workload):
    rows = sensitivities(known_case())
    for check in ("blind", "count"):
        assert (rows["y", ELEMENT, check].seen, rows["y", ELEMENT, check].error) == (0, None)
    assert (rows["y", ROW, "first row"].seen, rows["y", ROW, "first row"].places) == (1, sensitivity.MAX_PLACES)
    assert rows["y", ELEMENT, "blind"].share == 0.5


def test_the_result_is_restored_and_a_seed_is_reproducible(known_workload):
    result = sensitivity.Result(known_case(), None)
    before = result.arrays["y"].copy()
    (fault, *_) = sensitivity.faults(result, result.arrays["y"], ROW, np.random.default_rng(1))
    assert ANY in fault.failed_checks(1.0)
    assert np.array_equal(result.arrays["y"], before)
    assert sensitivities(known_case(), seed=3) == sensitivities(known_case(), seed=3)


def test_a_wrong_result_and_a_case_on_a_gpu_are_refused(known_workload):
    with pytest.raises(LadderError, match=r"The result is wrong \(known/doubled/.*, round 1\)"):
        sensitivities(known_case(factor=3))
    with pytest.raises(LadderError, match="its arrays aren't on the host"):
        sensitivities(case("gemm", "cuda_naive", "float64", {}, m=3, n=3, k=3))


def test_workloads_declare_their_cases_for_every_dtype(known_workload):
    declared_cases = sensitivity.cases()
    assert {item.sizes["dtype"] for item in declared_cases if item.workload == "known"} == {"float64", "float32"}
    assert {"gemm", "gemv", "stream", "mlp", "backprop", "descent", "tconv", "dcgan"} <= {
        item.workload for item in declared_cases
    }
    for item in declared_cases:
        soundness.require_sound(item)
    first = sensitivity.cases("first")
    assert all(item.sizes["dtype"] == workloads.load(item.workload).SIZES["dtype"][0] for item in first)
    assert {item.workload for item in first} == {item.workload for item in declared_cases}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [1, 3, 17, 64, 1000])
@pytest.mark.parametrize("workload", ["gemm", "gemv"])
def test_an_error_of_a_few_roundings_in_an_element_is_refused(workload, k, dtype):
    sizes = {"m": 37, "n": 29, "k": k} if workload == "gemm" else {"n": 37, "m": k}
    rows = sensitivities(case(workload, "blas", dtype, **sizes))
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


@pytest.mark.parametrize("item", sensitivity.cases("first"), ids=lambda item: item.key[:40])
def test_the_checks_of_every_project_case_refuse_corrupted_outputs(data, item):
    result = sensitivity.Result(item, data)
    wrong_results.corrupt(result.problem.outputs)
    assert not all(check.passed for check in result.checks())


TRAININGS = {
    "mlp": {"layers": "784-13-10", "images": 130, "batch": 20, "epochs": 1, "rate": 0.5, "source": "digits"},
    "backprop": {"layers": "784-13-10", "images": 130, "epochs": 1, "rate": 0.005, "source": "digits"},
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("workload", sorted(TRAININGS))
def test_a_training_refuses_a_hundred_times_the_usual_distance(data, workload, dtype):
    """The usual distance is the reference's drift between two trainings, of which one rounds, scaled to the dtype."""
    result = sensitivity.Result(case(workload, "numpy_loop", dtype, **TRAININGS[workload]), data)
    scale = unit_roundoff(dtype) / unit_roundoff("float32")
    for name, array in result.arrays.items():
        drift = float(result.reference[f"{name}_drift"][0]) * scale
        for fault in sensitivity.faults(result, array, ELEMENT, np.random.default_rng(1)):
            assert ANY in fault.failed_checks(100 * drift / fault.largest), name


@pytest.mark.parametrize("workload", sorted(TRAININGS))
def test_a_right_training_uses_at_least_a_hundredth_of_its_bounds(data, workload):
    """Of several seeds, the one with the largest errors counts: for a single seed, they may happen to be small."""
    every_size = [TRAININGS[workload] | {"seed": seed} for seed in range(1, 10)]
    results = [sensitivity.Result(case(workload, "numpy_loop", "float32", **sizes), data) for sizes in every_size]
    shares = {check: max(result.shares[check] for result in results) for check in results[0].shares}
    assert shares.keys() > {ANY}
    assert {key: share for key, share in shares.items() if share < 0.01} == {}


def test_the_table_has_the_errors_and_the_blind_checks(known_workload, tmp_path):
    import pandas as pd

    rows = [
        {"workload": "known", "variant": "doubled", "case": item.slug, "dtype": item.sizes["dtype"], **vars(row)}
        for item in (known_case(), known_case("float32"))
        for row in sensitivity.sensitivities(item, None)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "sensitivity.csv", index=False)
    text = sensitivity_table.latex_table(tmp_path / "sensitivity.csv")
    lines = {line.partition(" & ")[0]: line for line in text.splitlines()}
    assert lines["blind"].count("not seen") == 4
    assert f"(1/{sensitivity.MAX_PLACES})" in lines["first row"]
    assert r"\num{0.0038}" in lines["close"]
    assert "n=7, " in lines[next(line for line in lines if "multicolumn{8}" in line)].replace(r"\allowbreak{}", "")
    assert "no measurement" in sensitivity_table.latex_table(None)
