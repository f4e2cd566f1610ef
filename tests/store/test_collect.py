"""Tables from records and from publications.

Values such as 0.1 + 0.2, which has 17 digits, and 1e-7 show whether tables keep numbers to the last bit.
"""

import copy
import gzip
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from conftest import PROTOCOL
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness import measure, traces
from ladder.machine import revision
from ladder.planning import configuration
from ladder.records import record
from ladder.records.case import Case
from ladder.store import collect, gpu_counts, publish, study, table_files
from ladder.store.published_tables import PublishedTables

CASE_COLUMNS = ["machine", "experiment", "workload", "variant", "case", "cache"]
SIZES = ["form", "m", "n", "k", "dtype", "source", "seed", "threads"]


@pytest.fixture(scope="module")
def real_record(tmp_path_factory):
    """The record of a measurement on this machine."""
    folder = tmp_path_factory.mktemp("one")
    case = case_of(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        measure.measure(case, "record.json", configuration.protocol(PROTOCOL), "here")
        return record.read("record.json")


@pytest.fixture(autouse=True)
def working_directory(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def case_of(threads, **sizes):
    return Case("gemm", "blas", workloads.complete("gemm", {"m": 17, "n": 5, "k": 9} | sizes), {"threads": threads})


def case_keys(case):
    """The entries of a record that identify its case."""
    return {"workload": case.workload, "variant": case.variant, "case": case.slug}


class Machine:
    """Plans of a machine and its records, which are copies of a measured record with changed values."""

    def __init__(self, template, name="here"):
        self.template, self.name = template, name
        self.cases = []

    def plan(self, experiment="small"):
        return {"experiment": experiment, "cases": self.cases}

    def add(self, case, skip_reason=None, has_record=True, commit=None, protocol=None, **process):
        """Plan a case; if it `has_record` and planning has no `skip_reason`, write its record.

        `commit` and `protocol` replace the template's in the record, and `process` values of its first process.
        """
        plan_entry = {
            "key": case.key,
            "machine": self.name,
            "left_out": skip_reason,
            "sources": self.template["sources"],
        }
        self.cases.append(plan_entry)
        if has_record and not skip_reason:
            document = copy.deepcopy(self.template) | {"machine": self.name, **case_keys(case)}
            document["processes"][0] |= process
            document["protocol"] |= {"cold_start": True} | (protocol or {})
            document["source"] = {"commit": commit, "dirty": False} if commit else document["source"]
            record.write(record.path_of(self.name, case.key), document)
        return self

    def publish(self, *experiments, keep=False):
        """Publish the records; returns the folder. With `keep`, published cases without a record stay published."""
        plans = [self.plan(name) for name in experiments or ["small"]]
        publish.publish(plans, self.name, f"published/{self.name}", keep)
        return f"published/{self.name}"

    def forget(self):
        """Remove the records and the plan."""
        self.cases = []
        for path in Path("results/records").rglob("*.json"):
            path.unlink()
        return self


@pytest.fixture
def local(real_record):
    return Machine(real_record)


@pytest.fixture
def other_machine(real_record):
    return Machine(real_record, "there")


def collect_and_load(plan, *published_folders):
    collect.collect(plan, "tables", PublishedTables(published_folders))
    return table_files.load("tables")


def published_table(name):
    """A published table of `here`."""
    return table_files.read_published("published/here", name)


def published_description():
    return json.loads(Path("published/here/machine.json").read_text(encoding="utf-8"))


def table_bytes():
    """The bytes of every published table, by path."""
    return {path: path.read_bytes() for path in Path("published").rglob("*.csv.gz")}


def table_lines(name):
    return Path(f"tables/{name}.csv").read_text(encoding="utf-8").splitlines()


def test_every_table_has_its_columns_in_order(local, real_record):
    samples = [0.25, 0.1 + 0.2, 1e-7]
    curve = [{"epoch": 1, "loss": 2.5, "reference_loss": 2.5, "loss_bound": 1e-9, "accuracy": 0.5}]
    trace = [["copy", "2", 0.25, 0.5]]
    local.add(case_of(1), samples=samples, phases=[{"gather": 0.5, "loss": 0.125}], curve=curve, trace=trace)
    local.add(case_of(64), skip_reason="needs 64 cores, 2 available")
    local.add(case_of(2), has_record=False)
    frames = collect_and_load(local.plan())
    columns_of_process = ["device", "converged", "flops", "bytes", "precision", "commit"]
    columns_of_process += ["campaign", "host", "process", "threads_found"]
    assert list(frames["samples"]) == [
        *CASE_COLUMNS,
        *SIZES,
        *columns_of_process,
        *("sample", "phase", "seconds", "cold_start"),
    ]
    assert list(frames["checks"]) == [*CASE_COLUMNS, *SIZES, "process", "check", "error", "bound"]
    assert list(frames["curves"]) == [*CASE_COLUMNS, *SIZES, "process", *curve[0]]
    assert list(frames["traces"]) == [*CASE_COLUMNS, *SIZES, "process", "lane", "name", "start", "end"]
    assert frames["traces"][["lane", "name", "start", "end"]].values.tolist() == trace
    assert list(frames["missing"]) == [*CASE_COLUMNS, *SIZES, "why"]
    assert frames["samples"].query("phase == 'total'")["seconds"].tolist() == samples
    assert frames["samples"].query("phase != 'total'")[["phase", "seconds"]].values.tolist() == [
        ["gather", 0.5],
        ["loss", 0.125],
    ]
    assert frames["checks"]["error"].tolist() == [check["error"] for check in real_record["processes"][0]["checks"]]
    assert frames["missing"][["threads", "why"]].values.tolist() == [
        [64, "needs 64 cores, 2 available"],
        [2, "not measured"],
    ]
    assert frames["samples"]["flops"].unique().tolist() == [2 * 17 * 5 * 9]


def test_the_cache_and_the_variables_of_a_case_are_columns_in_every_table(local):
    warm = replace(case_of(1), cache="warm", variables={"NUMBA_OPT": "0"})
    local.add(warm).add(case_of(1)).add(replace(warm, variables={"NUMBA_OPT": "1"}), has_record=False)
    frames = collect_and_load(local.plan())
    measured, not_measured = [["warm", 0], ["cold", -1]], [["warm", 1]]
    for name, expected in (("samples", measured), ("checks", measured), ("missing", not_measured)):
        rows = frames[name].drop_duplicates("case")[["cache", "NUMBA_OPT"]]
        assert rows.fillna(-1).values.tolist() == expected


def test_a_gpu_s_state_becomes_columns_and_energy_is_that_of_whole_runs(local):
    phases, throttled = [{"gather": 0.5}], {"reasons": ["sw_power_cap"], "joules": 0.75, "sustained": 2.5}
    local.add(case_of(1), samples=[1.0, 2.0], phases=phases, state=throttled, setup=3.0, first=0.5)
    local.add(case_of(2), samples=[1.0], state={"reasons": []})
    samples = collect_and_load(local.plan())["samples"]
    calls = samples[samples["phase"] == "total"]
    assert calls["throttled"].tolist() == [True, True, False]
    assert calls["joules"].fillna(-1).tolist() == [0.75, 0.75, -1]
    assert calls["sustained"].fillna(-1).tolist() == [2.5, 2.5, -1]
    assert calls["cold_start"].tolist()[:2] == [3.5, 3.5]
    assert samples[samples["phase"] == "gather"][["joules", "sustained", "cold_start"]].isna().all(axis=None)


def test_processes_that_were_set_up_together_have_no_cold_start(local):
    local.add(case_of(1)).add(case_of(2), protocol={"cold_start": False})
    samples = collect_and_load(local.plan())["samples"]
    starts = samples[samples["phase"] == "total"].groupby("threads")["cold_start"]
    assert starts.count().astype(bool).to_dict() == {1: True, 2: False}


def test_the_imbalance_of_ranks_is_the_slowest_over_the_mean(local):
    """Only phases have an imbalance: a whole call has the time of the slowest rank."""
    passes = [{"compute": 0.5, "gather": 0.25}, {"compute": 0.75, "gather": 0.0}]
    by_rank = [{"compute": [0.5, 0.0, 0.25], "gather": [0.25] * 3}, {"compute": [0.75] * 3, "gather": [0.0] * 3}]
    local.add(case_of(1), samples=[1.0, 2.0], phases=passes, by_rank=by_rank).add(case_of(2), samples=[1.0])
    samples = collect_and_load(local.plan())["samples"]
    assert list(samples)[-2:] == ["cold_start", "imbalance"]
    imbalances = samples.dropna(subset="imbalance")
    assert imbalances[["phase", "imbalance"]].values.tolist() == [
        ["compute", 2.0],
        *([name, 1.0] for name in ("gather", "compute", "gather")),
    ]
    assert (samples["phase"] == "total").sum() == len(samples) - len(imbalances) == 3


def test_the_nodes_of_ranks_are_counted(local):
    threads = local.template["processes"][0]["threads"]
    ranks = [threads | {"node": node} for node in ("a", "b", "a")]
    local.add(case_of(1), threads=threads | {"ranks": ranks}).add(case_of(2))
    samples = collect_and_load(local.plan())["samples"]
    assert samples.groupby("threads")["nodes"].first().dropna().to_dict() == {1: 2}


@pytest.mark.parametrize(
    ("runtimes", "threads"), [({"numba-omp": 2, "blas-openblas": 1}, 2), ({"a": 1, "b": 7, "c": 3}, 7), ({}, 1)]
)
def test_the_threads_found_are_those_of_the_runtime_that_has_most(local, runtimes, threads):
    local.add(case_of(2), threads=local.template["processes"][0]["threads"] | {"runtimes": runtimes})
    assert collect_and_load(local.plan())["samples"]["threads_found"].unique().tolist() == [threads]


def test_a_record_of_other_code_is_refused(local):
    local.add(case_of(1))
    local.cases[0]["sources"] = "0" * 16
    with pytest.raises(LadderError, match="was measured with code that has changed since: delete it"):
        collect_and_load(local.plan())


def test_a_torn_record_is_refused(local):
    local.add(case_of(1))
    path = Path(record.path_of("here", local.cases[0]["key"]))
    path.write_text(path.read_text(encoding="utf-8")[:-100], encoding="utf-8")
    with pytest.raises(LadderError, match="is not JSON"):
        collect_and_load(local.plan())


def test_whole_numbers_stay_whole_beside_rows_without_them(local, real_record):
    local.add(case_of(16))
    training = {"images": 10, "batch": 5, "epochs": 1, "rate": 0.5}
    case = Case("mlp", "numpy_loop", workloads.complete("mlp", training), {"threads": 16})
    local.add(case)
    frames = collect_and_load(local.plan())
    _, *rows = table_lines("samples")
    assert ".0," not in "".join(rows)
    assert frames["samples"]["threads"].unique().tolist() == [16]
    assert {str(dtype) for dtype in frames["samples"][["m", "images"]].dtypes} == {"Int64"}, "empty cells on both sides"
    assert ",16," in rows[0]
    assert ",16," in rows[-1]


def test_the_same_records_give_the_same_bytes(local, other_machine):
    for machine in (local, other_machine):
        machine.add(case_of(1)).add(case_of(2), has_record=False).publish()
    collect_and_load(local.plan(), "published/there")
    before = table_bytes() | {path: path.read_bytes() for path in Path("tables").iterdir()}
    # The tables of two publications and of this study, and this study's checksums.
    assert len(before) == 3 * len(collect.TABLES) + 1
    other_machine.publish()
    local.publish()
    collect_and_load(local.plan(), "published/there")
    assert all(path.read_bytes() == content for path, content in before.items())


def test_published_rows_have_a_label_and_join_new_ones(local, other_machine):
    other_machine.add(case_of(16)).add(case_of(64), skip_reason="needs 64 cores, 16 available").publish()
    local.add(case_of(1), samples=[1.0])
    frames = collect_and_load(local.plan(), "published/there")
    assert frames["samples"]["machine"].unique().tolist() == ["here", "there (published)"]
    assert frames["missing"]["machine"].unique().tolist() == ["there (published)"]
    assert sorted(frames["samples"]["threads"].unique()) == [1, 16]
    assert any(",16," in line for line in table_lines("samples"))


def test_publishing_and_collecting_gives_the_same_tables(local):
    trace = [["compute", "01", 0.0, 0.1 + 0.2], ["null", "02", 0.1 + 0.2, 1.0]]
    local.add(case_of(1)).add(case_of(2), samples=[0.1 + 0.2, 1e-7], trace=trace).add(case_of(4), has_record=False)
    before = collect_and_load(local.plan())
    folder = local.publish("other", "small")
    local.forget()
    empty_plan = {"experiment": "small", "cases": []}
    after = collect_and_load(empty_plan, folder)
    for name, frame in before.items():
        expected = frame.assign(machine="here (published)") if len(frame) else frame
        pd.testing.assert_frame_equal(after[name].reset_index(drop=True), expected, check_dtype=False)
    assert after["traces"][["lane", "name"]].values.tolist() == [["compute", "01"], ["null", "02"]]
    assert collect_and_load({**empty_plan, "experiment": "third"}, folder)["samples"].empty


def test_what_was_published_without_traces_is_shown_and_kept(local):
    trace = [["compute", "1", 0.0, 0.5]]
    local.add(case_of(1), trace=trace).publish()
    Path("published/here/traces.csv.gz").unlink()
    frames = collect_and_load({"experiment": "small", "cases": []}, "published/here")
    assert frames["samples"]["threads"].unique().tolist() == [1]
    assert frames["traces"].empty
    local.forget().add(case_of(2), trace=trace).publish(keep=True)
    assert published_table("traces")["threads"].tolist() == [2]
    assert published_table("samples")["threads"].unique().tolist() == [1, 2]
    local.forget().add(case_of(4)).publish(keep=True)
    assert published_table("traces")["threads"].tolist() == [2]


def test_a_study_has_the_traces_of_each_case(local):
    rows = [["compute", "1", 0.0, 0.5], ["copy", "1", 0.5, 0.75]]
    local.add(case_of(1), trace=rows).add(case_of(2), trace=rows[:1]).add(case_of(4))
    collect.collect(local.plan(), "tables/small")
    loaded = study.load(["tables/small"], "here")
    assert loaded.rows("traces", "small", threads=1)[[*traces.COLUMNS]].values.tolist() == rows
    assert [len(loaded.rows("traces", "small", threads=count)) for count in (2, 4)] == [1, 0]
    assert loaded.rows("traces", "other").empty


def test_the_result_of_tests_on_a_gpu_is_published_with_its_machine(local):
    local.add(case_of(1))
    folder = Path(local.publish())
    assert not (folder / "tests-gpu.json").exists()
    Path("results/tests-gpu.json").write_text('{"tests": 1}', encoding="utf-8")
    local.publish()
    assert (folder / "tests-gpu.json").read_text() == '{"tests": 1}'


def test_what_is_published_of_this_machine_is_not_shown_twice(local):
    local.add(case_of(1), samples=[1.0]).add(case_of(2), samples=[2.0])
    local.add(case_of(4), has_record=False).add(case_of(64), skip_reason="needs 64 cores, 2 available")
    folder = local.publish()
    # After that one case is measured again, and the record of another is lost.
    local.add(case_of(1), samples=[3.0])
    Path(record.path_of("here", case_of(2).key)).unlink()
    local.cases = local.cases[:4]  # without the first case, which was added again
    frames = collect_and_load(local.plan(), folder)
    assert frames["samples"][["machine", "threads", "seconds"]].values.tolist() == [
        ["here", 1, 3.0],
        ["here (published)", 2, 2.0],
    ]
    checked = frames["checks"][["machine", "threads"]].drop_duplicates().values.tolist()
    assert checked == [["here", 1], ["here (published)", 2]]
    missing = frames["missing"][["machine", "threads"]].values.tolist()
    assert sorted(missing) == [["here", 2], ["here", 4], ["here", 64]]


def test_a_campaign_is_kept_beside_a_new_measurement(local):
    """Verdicts rest on it."""
    folder = Path(local.add(case_of(1), samples=[1.0]).publish())
    Path("published/campaigns").mkdir()
    folder = folder.rename("published/campaigns/first")
    local.add(case_of(1), samples=[3.0])
    local.cases = local.cases[:1]
    frames = collect_and_load(local.plan(), folder)
    rows = frames["samples"][["machine", "seconds"]].values.tolist()
    assert rows == [["here", 3.0], ["here (published)", 1.0]]


def test_a_case_that_was_missing_when_published_and_is_measured_now_is_not_missing(local):
    local.add(case_of(1)).add(case_of(2), has_record=False)
    folder = local.publish()
    local.cases = local.cases[:1]
    local.add(case_of(2))
    assert collect_and_load(local.plan(), folder)["missing"].empty


def test_a_published_case_of_another_machine_or_variant_is_kept(local, other_machine):
    other_machine.add(case_of(1)).publish()
    other = Case("gemm", "tiled", case_of(1).sizes, {"threads": 1})
    local.add(other)
    local.publish()
    local.cases = []
    local.add(case_of(1))
    samples = collect_and_load(local.plan(), "published/there", "published/here")["samples"]
    assert samples[["machine", "variant"]].drop_duplicates().values.tolist() == [
        ["here", "blas"],
        ["there (published)", "blas"],
        ["here (published)", "tiled"],
    ]


def test_without_records_and_publications_tables_are_empty():
    frames = collect_and_load({"experiment": "small", "cases": []})
    assert all(frame.empty for frame in frames.values())


GZIP_HEADER_BYTES = 10
INTACT = gzip.compress(b"a,b\n1,2\n" * 999)


@pytest.mark.parametrize(
    "text",
    [b"\x1f\x8b", b"no gzip", INTACT[:-20], INTACT[:GZIP_HEADER_BYTES] + b"\xff" * 20],
    ids=["two bytes", "no gzip", "cut off", "damaged inside"],
)
def test_a_torn_publication_is_refused_with_a_sentence(local, text):
    local.add(case_of(1)).publish()
    Path("published/here/samples.csv.gz").write_bytes(text)
    with pytest.raises(LadderError, match=r"The table .*samples\.csv\.gz can't be read"):
        collect_and_load(local.plan(), "published/here")


def test_the_samples_of_all_experiments_are_joined_in_one_table(local):
    local.add(case_of(1), samples=[1.0])
    for name in ("small", "other", "empty"):
        collect.collect(local.plan(name) if name != "empty" else {**local.plan(name), "cases": []}, name)
    collect.join_samples(["small", "other", "empty"], "table.csv")
    assert table_files.read("table.csv")["experiment"].tolist() == ["small", "other"]
    with pytest.raises(LadderError, match="The table would be empty"):
        collect.join_samples(["empty"], "table.csv")
    with pytest.raises(LadderError, match="can't be read"):
        collect.join_samples(["nowhere"], "table.csv")


def test_a_publication_describes_its_contents(local, real_record):
    local.add(case_of(1), samples=[1.0, 2.0], phases=[{"gather": 0.5}]).add(case_of(64), skip_reason="needs 64 cores")
    local.publish()
    assert (
        published_description()["machine"],
        published_description()["cases"],
        published_description()["samples"],
    ) == ("here", 1, 2)
    assert published_description()["description"] == real_record["description"]
    assert published_description()["sources"] == [real_record["source"] | {"cases": 1}]
    files = {path.name for path in Path("published/here").iterdir()}
    assert files == {*(f"{name}.csv.gz" for name in collect.TABLES), "machine.json"}
    times_file = Path("published/here", gpu_counts.TIMES_FILE)
    times_file.write_text("[]", encoding="utf-8")
    local.publish()
    assert not times_file.exists(), "no case on several GPUs is published any more"


def test_times_by_number_of_gpus_are_published_unrounded(local, monkeypatch):
    times = [{"gpus": 1, "seconds": 0.1 + 0.2}, {"gpus": 2, "seconds": 1e-7}]
    monkeypatch.setattr(publish.gpu_counts, "rows_of", lambda calls: times if {*calls["phase"]} == {"total"} else [])
    local.add(case_of(1), samples=[1.0], phases=[{"gather": 0.5}]).publish()
    text = Path("published/here", gpu_counts.TIMES_FILE).read_text(encoding="utf-8")
    assert json.loads(text) == times
    assert text.endswith("]\n")


def test_a_publication_names_every_commit_of_its_cases(local):
    local.add(case_of(1), commit="a").add(case_of(2), commit="b").add(case_of(4), commit="a")
    local.publish("small", "other")
    cases_by_commit = {source["commit"]: source["cases"] for source in published_description()["sources"]}
    assert cases_by_commit == {"a": 2, "b": 1}, "a case of two experiments counts once"
    assert publish.sources(["b", "unknown-dirty", "b"]) == [
        {"commit": "b", "dirty": False, "cases": 2},
        {"commit": "unknown", "dirty": True, "cases": 1},
    ]


@pytest.mark.parametrize(("dirty", "text"), [(False, "a" * 40), (True, "a" * 40 + "-dirty")])
def test_a_source_is_formatted_as_one_word_and_parsed(dirty, text):
    source = {"commit": "a" * 40, "dirty": dirty}
    assert revision.format(source) == text
    assert revision.parse(text) == source


def test_publishing_with_keep_replaces_cases_with_a_record_and_keeps_the_rest(local):
    """This holds for every table; kept values are the same to the last bit."""
    curve = [{"epoch": 1, "loss": 0.1 + 0.2, "reference_loss": 0.3, "loss_bound": 1e-9, "accuracy": 0.5}]
    local.add(case_of(1), commit="a", samples=[0.1 + 0.2, 1 / 3], curve=curve)
    local.add(case_of(2), commit="a", samples=[5.0, 6.0, 7.0], curve=curve * 2)
    local.add(case_of(4), has_record=False).publish()
    before = {name: published_table(name) for name in ("samples", "checks", "curves")}
    local.forget().add(case_of(2), commit="b", samples=[2 / 3]).add(case_of(4), commit="b", samples=[1e-7])
    local.add(case_of(1), has_record=False).add(case_of(8), has_record=False).publish(keep=True)
    for name, old in before.items():
        new = published_table(name)
        expected = old[old["threads"] == 1].reset_index(drop=True)
        pd.testing.assert_frame_equal(new[new["threads"] == 1][list(old)], expected, check_exact=True)
    assert published_table("samples")[["threads", "commit", "seconds"]].values.tolist() == [
        *([1, "a", seconds] for seconds in (0.1 + 0.2, 1 / 3)),
        [2, "b", 2 / 3],
        [4, "b", 1e-7],
    ]
    assert published_table("checks")["threads"].unique().tolist() == [1, 2, 4]
    assert published_table("curves")["threads"].tolist() == [1], "the other's new record has no curve"
    assert published_table("missing")["threads"].tolist() == [8], "neither the kept case nor the measured one"
    assert [(source["commit"], source["cases"]) for source in published_description()["sources"]] == [
        ("a", 1),
        ("b", 2),
    ]
    assert (published_description()["cases"], published_description()["samples"]) == (3, 4)


def test_values_of_replaced_cases_go_with_them(local):
    by_rank = [{"compute": [0.5, 0.25]}]
    local.add(case_of(1)).add(case_of(2), phases=[{"compute": 0.5}], by_rank=by_rank).publish()
    assert published_table("samples")["imbalance"].notna().any()
    local.forget().add(case_of(2)).publish(keep=True)
    assert published_table("samples")["imbalance"].isna().all()


def test_publishing_without_keeping_replaces_all(local):
    local.add(case_of(1)).publish()
    local.forget().add(case_of(2)).publish()
    assert published_table("samples")["threads"].unique().tolist() == [2]


def test_an_experiment_that_is_no_longer_planned_is_kept(local):
    """New measurements replace its cases too, and its missing cases stay missing."""
    local.add(case_of(1), commit="a").add(case_of(2), commit="a").add(case_of(4), has_record=False).publish("other")
    local.forget().add(case_of(2), commit="b").publish("small", keep=True)
    samples = published_table("samples")[["experiment", "threads", "commit"]].drop_duplicates()
    assert sorted(samples.values.tolist()) == [["other", 1, "a"], ["other", 2, "b"], ["small", 2, "b"]]
    assert published_table("missing")[["experiment", "threads", "why"]].values.tolist() == [
        ["other", 4, "not measured"]
    ]
    assert [(source["commit"], source["cases"]) for source in published_description()["sources"]] == [
        ("a", 1),
        ("b", 1),
    ]


def test_the_reason_of_the_present_plan_is_reported(local):
    local.add(case_of(1)).add(case_of(64), has_record=False).publish()
    local.forget().add(case_of(2)).add(case_of(64), skip_reason="needs 64 cores, 2 available").publish(keep=True)
    assert published_table("missing")["why"].tolist() == ["needs 64 cores, 2 available"]


def test_publishing_twice_with_keep_gives_the_same_bytes(local):
    training = workloads.complete("mlp", {"images": 10, "batch": 5, "epochs": 1, "rate": 0.5})
    local.add(Case("mlp", "numpy_loop", training, {"threads": 1}), samples=[0.1 + 0.2], commit="a")
    local.add(case_of(1), commit="b").add(case_of(4), has_record=False).publish("other", "small")
    local.forget().add(case_of(2), commit="c").add(case_of(8), has_record=False).add(case_of(1), has_record=False)
    local.publish("small", "third", keep=True)
    tables_before, sources = table_bytes(), published_description()["sources"]
    local.publish("small", "third", keep=True)
    assert table_bytes() == tables_before
    assert published_description()["sources"] == sources
    assert [source["commit"] for source in sources] == ["a", "b", "c"]


def test_with_keep_the_first_publication_is_the_same(local):
    local.add(case_of(1)).add(case_of(2), has_record=False).publish(keep=True)
    before = table_bytes()
    local.publish()
    assert table_bytes() == before


def test_a_disk_that_fills_up_leaves_what_was_published(local, monkeypatch):
    local.add(case_of(1)).publish()
    tables_before, description_before = table_bytes(), published_description()
    write = publish.write_atomically

    def fill_up(path, contents):
        if path.name == "machine.json":
            raise LadderError("No space is left.")
        write(path, contents)

    monkeypatch.setattr(publish, "write_atomically", fill_up)
    with pytest.raises(LadderError, match="No space"):
        local.forget().add(case_of(2)).publish(keep=True)
    assert (table_bytes(), published_description()) == (tables_before, description_before)
    assert [path.name for path in Path("published").iterdir()] == ["here"]


def test_what_was_published_without_commits_is_not_kept(local):
    """It can be replaced as a whole, and it is still shown."""
    local.add(case_of(1)).publish()
    path = Path("published/here/samples.csv.gz")
    published_table("samples").drop(columns="commit").to_csv(path, index=False)
    before = table_bytes()
    local.forget().add(case_of(2))
    assert collect_and_load(local.plan(), "published/here")["samples"]["threads"].unique().tolist() == [2, 1]
    with pytest.raises(LadderError, match=r"before the commit of each case was recorded.*publish it whole"):
        local.publish(keep=True)
    assert table_bytes() == before
    local.add(case_of(1)).publish(keep=True)
    assert published_table("samples")["commit"].notna().all()


def test_a_torn_publication_is_not_kept(local):
    local.add(case_of(1)).publish()
    path = Path("published/here/checks.csv.gz")
    path.write_bytes(path.read_bytes()[:-20])
    before = table_bytes()
    local.forget().add(case_of(2))
    with pytest.raises(LadderError, match=r"The table .*checks\.csv\.gz can't be read"):
        local.publish(keep=True)
    assert table_bytes() == before


def test_without_records_nothing_is_published(local):
    local.add(case_of(1), has_record=False)
    with pytest.raises(LadderError, match="There is nothing to publish"):
        local.publish()
    assert not Path("published").exists()


def test_every_value_of_a_record_is_in_its_own_column_and_row():
    """The record has two processes, which differ in all values."""

    def process(number, **fields):
        whole, half = 1.0 + number, 0.5 + number
        entry = {
            "setup": 10.0 * whole,
            "first": half,
            "samples": [whole, 2 * whole],
            "phases": [{"a": half}, {"a": 4}],
        }
        entry["threads"] = {"runtimes": {"numba": 2 + number, "openblas": 4 + number}}
        entry["checks"] = [{"name": f"{name}{number}", "error": half, "bound": 8 * whole} for name in ("x", "y")]
        entry["curve"] = [{"epoch": epoch, "loss": half / epoch} for epoch in (1, 2)]
        return entry | {"trace": [[f"lane{number}", f"name{number}", whole, 2 * whole]]} | fields

    ranks = [{"node": node} for node in ("a", "b", "a")]
    first_process = process(0, facts={"steps": 7}, state={"reasons": ["gpu_idle"]})
    second_process = process(1, facts={"steps": 8}, by_rank=[{"a": [1.0, 3.0]}, {"a": [0.0, 0.0]}])
    second_process |= {"state": {"reasons": ["gpu_idle", "hw_slowdown"], "joules": 3.0, "sustained": 0.25}}
    second_process["threads"] |= {"ranks": ranks}
    cost = {"flops": 90, "bytes": 11, "precision": "tf32"}
    document = {
        "device": "mpi",
        "converged": False,
        "cost": cost,
        "source": {"commit": "abc", "dirty": True},
    }
    document["protocol"] = {}
    columns = {"machine": "here", "experiment": "one", "m": 3}
    rows = collect.rows_of(document | {"processes": [first_process, second_process]}, columns)
    common = columns | cost | {"device": "mpi", "converged": False, "commit": "abc-dirty"}
    first_row = common | {"process": 0, "threads_found": 4, "steps": 7, "throttled": False}
    second_row = common | {"process": 1, "threads_found": 5, "steps": 8, "throttled": True, "nodes": 2}
    total, phase = {"phase": "total"}, {"phase": "a"}
    total_row = total | {"cold_start_of_ranks": 21.5, "joules": 3.0, "sustained": 0.25}
    assert rows["samples"] == [
        first_row | total | {"sample": 0, "seconds": 1.0, "cold_start": 10.5},
        first_row | total | {"sample": 1, "seconds": 2.0, "cold_start": 10.5},
        first_row | phase | {"sample": 0, "seconds": 0.5},
        first_row | phase | {"sample": 1, "seconds": 4},
        second_row | total_row | {"sample": 0, "seconds": 2.0},
        second_row | total_row | {"sample": 1, "seconds": 4.0},
        second_row | phase | {"sample": 0, "seconds": 1.5, "imbalance": 1.5},
        second_row | phase | {"sample": 1, "seconds": 4, "imbalance": 1.0},
    ]
    assert rows["checks"] == [
        columns | {"process": number, "check": f"{name}{number}", "error": 0.5 + number, "bound": 8.0 * (1 + number)}
        for number in (0, 1)
        for name in ("x", "y")
    ]
    assert rows["curves"] == [
        columns | {"process": number, "epoch": epoch, "loss": (0.5 + number) / epoch}
        for number in (0, 1)
        for epoch in (1, 2)
    ]
    assert rows["traces"] == [
        columns
        | {"process": number, "lane": f"lane{number}", "name": f"name{number}", "start": 1.0 + number}
        | {"end": 2.0 + 2 * number}
        for number in (0, 1)
    ]


def test_a_case_that_was_timed_beside_other_jobs_is_not_published(local):
    local.add(case_of(1)).add(case_of(2), protocol={"share_machine": True})
    with pytest.raises(LadderError, match="1 case can't be published, because other jobs ran meanwhile"):
        local.publish()
    assert not Path("published").exists()


def test_two_machines_that_share_the_results_keep_their_records_apart(local, other_machine):
    """Each machine has a case that the other hasn't measured, and another time of a common case."""
    local.add(case_of(1), samples=[1.0]).add(case_of(2), samples=[2.0]).add(case_of(4), has_record=False)
    other_machine.add(case_of(1), samples=[5.0]).add(case_of(2), has_record=False).add(case_of(4), samples=[6.0])
    for machine, measured, missing in ((local, [[1, 1.0], [2, 2.0]], [4]), (other_machine, [[1, 5.0], [4, 6.0]], [2])):
        frames = collect_and_load(machine.plan())
        assert frames["samples"][["threads", "seconds"]].values.tolist() == measured
        assert frames["samples"]["machine"].unique().tolist() == [machine.name]
        assert frames["missing"][["machine", "threads", "why"]].values.tolist() == [
            [machine.name, count, "not measured"] for count in missing
        ]
    plan = {"experiment": "small", "cases": local.cases + other_machine.cases}
    publish.publish([plan], "here", "published/here")
    assert published_table("samples")[["machine", "threads", "seconds"]].values.tolist() == [
        ["here", 1, 1.0],
        ["here", 2, 2.0],
    ]
    assert published_table("missing")[["machine", "threads"]].values.tolist() == [["here", 4]]
    assert (published_description()["cases"], published_description()["samples"]) == (2, 2)
    for path in Path("results/records/here").rglob("*.json"):
        path.unlink()
    with pytest.raises(LadderError, match="There is nothing to publish"):
        publish.publish([plan], "here", "published/here")


def test_a_publication_describes_the_machine_as_its_last_measurement_found_it(local):
    """The order of the plan doesn't matter."""
    for threads, day in ((1, "02"), (2, "03"), (4, "01")):
        local.add(case_of(threads))
        path = record.path_of("here", case_of(threads).key)
        document = record.read(path)
        description = document["description"] | {"cores": int(day)}
        record.write(path, document | {"started": f"2030-01-{day}T00:00:00+00:00", "description": description})
    local.publish()
    assert published_description()["description"]["cores"] == 3
