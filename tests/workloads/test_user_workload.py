"""A workload that the project has never seen, in a folder of a user's: found, measured, refused where it is wrong."""

import re
import shutil
import subprocess

import pytest
import yaml

from conftest import PROTOCOL, ROOT, TESTS, Study
from ladder.catalogue import locations, sources, workloads
from ladder.errors import LadderError
from ladder.harness.measure import measure
from ladder.planning import configuration, plan, targets
from ladder.records import record
from ladder.records.case import Case

SIZES = {"elements": 1000}


@pytest.fixture
def user_folder(tmp_path, monkeypatch):
    """The folder with the workload, outside of the project, which LADDER_VARIANTS names."""
    folder = shutil.copytree(TESTS / "workloads/example", tmp_path / "own")
    monkeypatch.setenv("LADDER_VARIANTS", str(folder))
    monkeypatch.chdir(tmp_path)
    sources.clear_caches()
    yield folder
    sources.clear_caches()


def case(variant, **sizes):
    return Case("axpy", variant, workloads.complete("axpy", SIZES | sizes), {"threads": 1}, "warm")


def test_a_users_workload_is_found_beside_the_projects_own(user_folder):
    assert "axpy" in workloads.names()
    assert workloads.variants("axpy") == ["parallel", "vectorised", "wrong_last"]
    assert list(workloads.rungs("axpy")) == ["vectorised", "parallel", "wrong_last"]
    assert {path.name for path in sources.code_paths(case("wrong_last"))} == {
        "__init__.py",
        "vectorised.py",
        "wrong_last.py",
    }
    before = sources.fingerprint(case("wrong_last")), sources.fingerprint(case("parallel"))
    path = user_folder / "axpy/vectorised.py"
    path.write_text(path.read_text().replace("np.add", "1 and np.add"))  # other code with the same result
    sources.clear_caches()
    assert sources.fingerprint(case("wrong_last")) != before[0]
    assert sources.fingerprint(case("parallel")) == before[1]


@pytest.mark.parametrize("variant", ["vectorised", pytest.param("parallel", marks=pytest.mark.slow)])
def test_a_users_variant_is_measured(user_folder, variant):
    measure(case(variant), "record.json", configuration.protocol(PROTOCOL), "here")
    document = record.read("record.json")
    assert (document["workload"], document["variant"], document["cost"]["bytes"]) == ("axpy", variant, 3 * 1000 * 8)
    assert document["processes"][0]["checks"][0]["error"] < 1


def test_a_wrong_result_and_too_large_a_size_are_refused(user_folder):
    with pytest.raises(LadderError, match="The result is wrong"):
        measure(case("wrong_last"), "record.json", configuration.protocol(PROTOCOL), "here")
    assert not (user_folder.parent / "record.json").exists()
    with pytest.raises(LadderError, match="is too many"):
        case("vectorised", elements=2**31)


@pytest.mark.slow
def test_a_mistake_is_reported_with_file_and_line_if_the_folder_is_relative(user_folder, monkeypatch):
    monkeypatch.setenv("LADDER_VARIANTS", "./own/../own")
    locations.split_folders.cache_clear()
    path = user_folder / "axpy/vectorised.py"
    path.write_text(path.read_text().replace("    def run", "    int('?')\n\n    def run"))  # the mistake is in line 14
    sources.clear_caches()
    with pytest.raises(LadderError, match=rf"stopped with ValueError: .* \(line 14 of {path}\)") as refusal:
        measure(case("vectorised"), "record.json", configuration.protocol(PROTOCOL), "here")
    log = re.search(r"results/logs/\S+\.log", str(refusal.value))[0]
    assert f'"{path}", line 14' in (user_folder.parent / log).read_text().splitlines()[1]


def test_the_documented_experiment_is_planned_in_full(user_folder):
    (text,) = re.findall(
        r"^```yaml\n(.*?)^```$", (ROOT / "docs/how-to/workload.md").read_text(), re.MULTILINE | re.DOTALL
    )
    config = configuration.validate({"experiments": yaml.safe_load(text), "cores": 2, "gpus": 0})
    planned_cases = [
        (item.case.variant, item.skip_reason and str(item.skip_reason))
        for item in plan.plan(config, targets.this_machine(config))
    ]
    assert planned_cases == [("vectorised", None), ("parallel", None), ("parallel", None)]


def test_sizes_beyond_a_variants_limits_are_skipped_with_a_sentence(user_folder):
    experiment = {"question": "?", "workload": "axpy", "sizes": {"elements": [1000, 2**21]}}
    experiment["variants"] = {"vectorised": {}, "parallel": {"threads": 1}}
    config = configuration.validate({"experiments": {"large": experiment}, "cores": 2, "gpus": 0})
    reasons = {
        (item.case.variant, item.case.sizes["elements"]): item.skip_reason and str(item.skip_reason)
        for item in plan.plan(config, targets.this_machine(config))
    }
    assert reasons.pop(("vectorised", 2**21)) == "axpy/vectorised takes elements from 1 to 1048576 only"
    assert set(reasons.values()) == {None}
    with pytest.raises(LadderError, match=r"can't be measured: axpy/vectorised takes elements from 1 to 1048576 only"):
        measure(case("vectorised", elements=2**21), "record.json", configuration.protocol(PROTOCOL), "here")


@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.xdist_group("workflow")
@pytest.mark.skipif(not shutil.which("pdftotext"), reason="requires pdftotext")
def test_a_users_workload_is_measured_drawn_and_in_the_paper_without_a_change_of_the_project(user_folder):
    study = Study(user_folder.parent)
    study.config["variant_folders"] = [str(user_folder)]
    variants = {"vectorised": {}, "parallel": {"threads": [1, 2]}, "wrong_last": {}}
    study.add("axpy_threads", variants, SIZES | {"elements": [1000, 2**21]}, "axpy")
    out, status = study.snakemake("results/table.csv")
    assert status != 0
    assert "The result is wrong" in out
    study.config["measure"] = False
    out, status = study.snakemake("results/paper.pdf", "results/figures/axpy_waterfall.png")
    assert status == 0, out
    assert {key.split("/")[1] for key in study.records()} == {"vectorised", "parallel"}
    text = subprocess.run(["pdftotext", study.folder / "results/paper.pdf", "-"], capture_output=True, text=True).stdout
    flat = " ".join(text.split())
    assert "Scaled sums" in flat
    assert "scaled sums move" in flat
    assert "The ladder of scaled sums" in flat
    assert "Time of a sum of axpy, rung by rung" in flat
