"""The stored results of a system: which rows a case has, their ranking, and what `ladder show` prints of it."""

import json
import math
import re
from dataclasses import replace

import pandas as pd
import pytest

from conftest import PROTOCOL, ROOT
from ladder import terminal
from ladder.__main__ import main
from ladder.catalogue import workloads
from ladder.harness import measure
from ladder.harness.case_arguments import cases_of
from ladder.planning import configuration
from ladder.records import record
from ladder.records.case import Case
from ladder.report import ranking, ranking_text
from ladder.statistics.quotients import Ratio
from ladder.store import results
from stored_folders import gemv_case, publish, rows_of

# Seconds of the calls of each of four processes.
FAST = [[0.010, 0.011], [0.0101, 0.0109], [0.0102, 0.0110], [0.0099, 0.0112]]
SLOW = [[3 * time for time in times] for times in FAST]
MIDDLE = [[1.5 * time for time in times] for times in FAST]


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


@pytest.fixture
def published_folders():
    """A machine with three variants at one size and one at another, two campaigns there, and a second machine."""
    rows = rows_of(gemv_case("openmp", threads=1), SLOW) + rows_of(gemv_case("openmp", threads=2), FAST)
    rows += rows_of(gemv_case("blas", threads=2), MIDDLE) + rows_of(
        gemv_case("c_openmp", threads=2, schedule="static"), SLOW
    )
    rows += rows_of(gemv_case("blas", 2048, threads=1), SLOW)
    publish("box-a", rows)
    publish("box-b", rows_of(gemv_case("openmp", threads=1), SLOW))
    campaign = rows_of(gemv_case("openmp", threads=2), MIDDLE) + rows_of(gemv_case("blas", threads=2), SLOW)
    publish("box-a", campaign, "2026-01-01")
    publish("box-a", campaign, "2026-01-02")


def rankings_of(**options):
    return ranking.rankings(results.load("gemv", ["box-a"])["box-a"], **options)


def show(capsys, *options):
    main(["show", "gemv", *options])
    return capsys.readouterr().out


def test_variants_are_ranked_within_each_set_of_sizes_with_their_best_tuning(published_folders):
    small, large = rankings_of()
    assert [entry.case.variant for entry in small.entries] == ["openmp", "blas", "c_openmp"]
    assert [entry.case.tuning["threads"] for entry in small.entries] == [2, 2, 2]
    assert small.entries[0].tuning_count == 2
    assert small.entries[0].over_fastest is None
    assert [entry.case.variant for entry in large.entries] == ["blas"]
    assert large.sizes["n"] == 2048


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_best_tuning_counts_wherever_it_is_listed(order):
    times = {1: SLOW, 2: FAST}
    publish("box-a", [row for threads in order for row in rows_of(gemv_case(threads=threads), times[threads])])
    (ranking_of_size,) = rankings_of()
    assert [entry.case.tuning for entry in ranking_of_size.entries] == [{"threads": 2}]


def test_a_case_that_campaigns_measured_has_only_their_samples(published_folders):
    small, _ = rankings_of()
    first, second, third = small.entries
    assert first.seconds.value == pytest.approx(1.5 * 0.0105, rel=0.02)
    assert second.over_fastest.spread.campaigns == 2
    assert second.over_fastest.value == pytest.approx(2, rel=1e-6)
    assert third.over_fastest.spread is None
    assert len(first.rows["process"].unique()) == 2 * len(FAST)


def test_a_record_of_this_machine_replaces_what_is_published(published_folders, monkeypatch):
    calls = results.load("gemv", ["box-a"])["box-a"].calls
    own_calls = calls[calls["variant"] == "blas"].assign(seconds=1.0, phase="total", experiment="")
    monkeypatch.setattr(results, "record_rows", lambda systems, machines: [(results.FROM_RECORDS, own_calls)])
    small, _ = rankings_of()
    seconds = {entry.case.variant: entry.seconds.value for entry in small.entries}
    assert seconds["blas"] == 1.0
    assert seconds["openmp"] < 1.0


def test_samples_that_several_experiments_repeat_count_once():
    rows = rows_of(gemv_case(), FAST) + rows_of(gemv_case(), FAST, experiment="other")
    publish("box-a", rows)
    (ranking_of_size,) = rankings_of()
    assert len(ranking_of_size.entries[0].rows) == sum(map(len, FAST))


def test_every_tuning_is_ranked_if_asked_for_and_filters_pick_cases(published_folders):
    small, _ = rankings_of(every_tuning=True)
    assert len(small.entries) == 4
    (ranked_sizes,) = rankings_of(filters={"n": "2048"})
    assert ranked_sizes.sizes["n"] == 2048
    assert rankings_of(filters={"schedule": "static"})[0].entries[0].case.variant == "c_openmp"
    assert rankings_of(filters={"schedule": "guided"}) == []


def test_shares_refer_to_the_ceiling_that_is_closest():
    stream = ranking.Case("stream", "openmp", {"kernel": "read", "elements": 4096, "dtype": "float64", "seed": 1}, {})
    publish(
        "box-a", rows_of(gemv_case(), FAST) + rows_of(gemv_case(cache="warm"), FAST) + rows_of(stream, [[1e-3]] * 4)
    )
    cold, warm = rankings_of()
    assert cold.entries[0].ceiling == ranking.MEMORY
    # The product moves more bytes in a second than the stream, and so raises the ceiling to its own rate.
    assert cold.entries[0].share == pytest.approx(1, abs=0.02)
    assert warm.entries[0].share is None


def test_the_largest_sizes_are_printed_in_full_and_others_in_a_line(published_folders, capsys):
    text = show(capsys, "--machine", "box-a")
    lines = text.splitlines()
    assert lines[0].startswith("gemv on box-a: ")
    assert max(map(len, lines)) <= terminal.WIDTH
    summary = next(line for line in lines if line.startswith("n=512 "))
    assert summary.split()[1:5] == ["openmp", "CPU", "15.8", "ms"]  # the campaigns' time, 1.5 × 10.5 ms
    assert summary.endswith("blas  CPU  2.0 ×")
    # The largest sizes are ranked in full.
    assert lines[lines.index("n=2048 m=512 dtype=float64 seed=1 cache=cold") + 2].startswith("1  blas")
    assert "From 2 campaigns and 1 commit." in text
    full_text = show(capsys, "--machine", "box-a", "--all")
    assert re.search(r"c_openmp .* ~(1\.9|2)", full_text)
    assert "in no campaign together" in full_text
    assert "From 2 campaigns and 1 commit." in full_text


def test_a_case_that_has_not_converged_is_marked(capsys):
    publish("box-a", rows_of(gemv_case("blas"), FAST, converged=False) + rows_of(gemv_case("openmp"), SLOW))
    text = show(capsys)
    assert "1  blas*" in text
    assert "2  openmp " in text
    assert "*: out of time before" in text


RATIOS = [
    ((1.2, 1.1, 1.3), "1.2 × [1.1, 1.3]"),
    ((1.02, 1.015, 1.025), "1.020 × [1.015, 1.025]"),  # slower by more than 1 %, though within 10 %
    ((0.99, 0.96, 1.02), "tie within 5 %"),
    ((0.94, 0.7, 1.2), "not slower †"),
    ((0.8, 0.75, 0.85), "not slower †"),
    ((1.2, 1e-9, 758.8), "unknown"),
    ((2.4, 0.0, math.inf), "unknown"),
    ((40.0, 9.0, 300.0), "at least 9.0 ×"),
]


@pytest.mark.parametrize(("ratio", "text"), RATIOS)
def test_a_slowdown_is_a_ratio_a_tie_or_a_word(ratio, text):
    assert ranking_text.slower_by_text(Ratio(*ratio)) == text
    without_campaign = ranking_text.slower_by(Ratio(*ratio))
    assert without_campaign == (text if text == "unknown" else f"~{text}")


def test_a_ranking_says_which_case_runs_on_a_gpu(capsys):
    publish("box-a", rows_of(gemv_case("openmp"), FAST) + rows_of(gemv_case("cublas"), SLOW, device="cuda"))
    text = show(capsys)
    assert re.search(r"1  openmp +CPU ", text)
    assert re.search(r"2  cublas +GPU ", text)


def test_below_a_ranking_are_the_files_of_the_fastest_and_the_command_that_measures_it_again(published_folders, capsys):
    lines = show(capsys, "--machine", "box-a", "--size", "n=512").splitlines()
    start = lines.index("The samples of openmp are in")
    paths = [f"  results/published/campaigns/2026-01-0{day}/samples.csv.gz" for day in (1, 2)]
    assert lines[start + 1 : start + 3] == [
        f"{path} (2026-01-0{day}, when its campaign began)" for day, path in zip((1, 2), paths, strict=True)
    ]
    words = lines[start + 4].split()
    assert lines[start + 3] == "To measure it again:"
    assert words[-2:] == ["run", gemv_case("openmp", threads=2).key]
    assert [case.key for case in cases_of(words[-1:])] == words[-1:]
    large = show(capsys, "--machine", "box-a", "--size", "n=2048")
    assert "\n  results/published/box-a/samples.csv.gz\n" in large


def test_samples_without_a_day_of_measurement_have_that_of_their_publication(capsys):
    folder = publish("box-a", rows_of(gemv_case("mpi", ranks=2, mode="ship"), FAST, device="mpi"))
    document = json.loads((folder / "machine.json").read_text()) | {"published": "2026-02-03T10:00:00+00:00"}
    (folder / "machine.json").write_text(json.dumps(document))
    text = show(capsys, "--all")
    assert "samples.csv.gz (no later than 2026-02-03, when the table was published)" in text
    assert "ranks=2 --launcher mpiexec\n" in text


def test_rungs_that_were_not_measured_are_named_in_the_order_of_the_ladder(published_folders, capsys):
    text = " ".join(show(capsys, "--machine", "box-a").split())
    assert "Not measured at these sizes: openmp, c_openmp." in text
    (never_measured,) = re.findall("Never measured on box-a: ([^.]*)", text)
    measured = ["openmp", "c_openmp", "blas"]
    assert never_measured.split(", ") == [name for name in workloads.rungs("gemv") if name not in measured]
    small = json.loads(show(capsys, "--machine", "box-a", "--size", "schedule=static", "--json"))["results"][0]
    assert small["unmeasured"] == []  # a filter hides the others, but they are measured


def test_the_fastest_is_marked_where_a_machine_with_gpus_measured_none(capsys):
    rows = rows_of(gemv_case("openmp"), FAST) + rows_of(gemv_case("openmp", 2048), FAST)
    publish("box-a", rows + rows_of(gemv_case("cublas", 2048), SLOW, device="cuda"))
    text = show(capsys, "--machine", "box-a")
    assert re.search(r"n=512 +openmp‡", text)
    assert re.search(r"n=2048 +openmp ", text)
    assert "‡: the fastest of those measured; at these sizes the machine has measured no variant on a GPU." in text
    assert "fastest‡" in show(capsys, "--machine", "box-a", "--size", "n=512")
    publish("box-b", rows)
    assert "‡" not in show(capsys, "--machine", "box-b")


def test_a_variant_on_a_gpu_that_the_ladder_no_longer_has_counts_too(capsys):
    on_gpu = rows_of(gemv_case("cublas", 2048), SLOW, device="cuda")
    renamed = [row | {"variant": "cublas_of_old"} for row in on_gpu]
    publish("box-a", rows_of(gemv_case("openmp"), FAST) + rows_of(gemv_case("openmp", 2048), FAST) + on_gpu + renamed)
    text = show(capsys, "--machine", "box-a")
    assert re.search(r"n=512 +openmp‡", text)
    assert re.search(r"n=2048 +openmp ", text)


def test_ratios_of_campaigns_elsewhere_are_pointed_to(published_folders, capsys):
    pair = rows_of(gemv_case("openmp"), FAST) + rows_of(gemv_case("blas"), SLOW)
    publish("box-c", pair)
    text = show(capsys, "--machine", "box-c", "--size", "n=512")
    assert "Campaigns on box-a measured these sizes in turns, for ratios without ~:" in text
    command = text.rstrip().splitlines()[-1].split()
    assert command[1:5] == ["show", "gemv", "--machine", "box-a"]
    main(command[1:])
    assert re.search(r"blas .* [0-9.]+ ×", capsys.readouterr().out)
    assert "Campaigns on" not in show(capsys, "--machine", "box-a", "--size", "n=512")
    assert "Campaigns on" not in show(capsys, "--size", "n=512")
    single_variant = show(capsys, "--machine", "box-b", "--size", "n=512")
    assert "Campaigns on" not in single_variant, "a single variant has no ratio"


@pytest.mark.parametrize(
    ("ratio", "note"), [((0.8, 0.75, 0.85), "†: the fastest was chosen"), ((1.2, 0.0, math.inf), "unknown: too few")]
)
def test_words_instead_of_a_ratio_have_a_note(published_folders, ratio, note):
    small, _ = rankings_of()
    assert not [line for line in ranking_text.marks([small]) if line.startswith(note)]
    first, second, *_ = small.entries
    changed = replace(small, entries=[first, replace(second, over_fastest=Ratio(*ratio))])
    assert [line for line in ranking_text.marks([changed]) if line.startswith(note)]


def test_an_interval_of_a_time_that_has_no_ends_is_unknown(capsys):
    publish("box-a", rows_of(gemv_case("openmp"), FAST[:1]))
    assert "10.5 ms [unknown]" in show(capsys)


def test_all_machines_are_summarised(published_folders, capsys):
    text = show(capsys)
    assert "gemv on box-a" in text
    assert "gemv on box-b" in text
    assert re.search(r"Rankings: .*ladder show gemv --machine box-a", text)


def test_json_has_what_is_printed_and_more(published_folders, capsys):
    document = json.loads(show(capsys, "--machine", "box-a", "--size", "n=512", "--json"))
    assert {name: document[name] for name in ("verb", "workload")} == {"verb": "show", "workload": "gemv"}
    (result,) = document["results"]
    assert result["machine"] == "box-a"
    assert result["sizes"]["n"] == 512
    first, second, third = result["ranking"]
    assert first["over_fastest"] is None
    assert second["over_fastest"]["campaigns"] == 2
    assert second["campaigns"] == ["2026-01-01", "2026-01-02"]
    assert third["origin"] == "machine"
    assert third["over_fastest"]["campaigns"] is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--machine", "box"], "No results of gemv on box are stored: there are some on box-a, box-b. Did you mean"),
        (["--size", "n"], "'n' is not of the form KEY=VALUE"),
        (["--size", "threadz=2"], "Did you mean 'threads'?"),
        (["--size", "n=7"], "There are no stored results of gemv with n=7 on box-a or box-b"),
    ],
)
def test_what_is_not_stored_is_refused_in_a_sentence(published_folders, capsys, options, words):
    with pytest.raises(SystemExit):
        show(capsys, *options)
    assert words in capsys.readouterr().err


def test_without_any_results_there_is_a_sentence(capsys):
    with pytest.raises(SystemExit):
        show(capsys)
    assert "There are no stored results of gemv" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        show(capsys, "--machine", "box")
    assert "There are no stored results of gemv" in capsys.readouterr().err


def test_times_and_order_are_those_of_the_published_table(monkeypatch, capsys):
    """By other code, on what is published of a machine that has no campaigns."""
    monkeypatch.chdir(ROOT)
    document = json.loads(show(capsys, "--machine", "nvidia-h200-x4", "--all", "--json"))
    samples = pd.read_csv(ROOT / "results/published/nvidia-h200-x4/samples.csv.gz", low_memory=False)
    calls = samples[(samples["workload"] == "gemv") & (samples["phase"] == "total")]
    by_process = calls.groupby(["variant", "case", "process"])["seconds"].median()
    expected = by_process.groupby(["variant", "case"]).median()
    printed = {}
    for result in document["results"]:
        seconds = [entry["seconds"]["value"] for entry in result["ranking"]]
        assert seconds[1:] == sorted(seconds[1:])
        printed |= {
            tuple(entry["case"].split("/")[1:]): time for entry, time in zip(result["ranking"], seconds, strict=True)
        }
    assert printed == pytest.approx(expected.to_dict(), rel=1e-9)


def test_records_of_this_folder_are_results_too(capsys):
    case = Case("gemm", "blas", workloads.complete("gemm", {"m": 17, "n": 5, "k": 9}), {"threads": 1})
    measure.measure(case, record.path_of("here", case.key), configuration.protocol(PROTOCOL), "here")
    main(["show", "gemm", "--json"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    (entry,) = result["ranking"]
    assert (result["machine"], entry["case"], entry["origin"]) == ("here", case.key, "records")
    assert entry["seconds"]["low"] is entry["seconds"]["high"] is None  # of a single process


def test_records_of_this_folder_are_marked(published_folders, capsys, monkeypatch):
    text = show(capsys, "--machine", "box-a", "--size", "n=512")
    assert "°" not in text
    own_calls = pd.DataFrame(rows_of(gemv_case("blas", threads=2), FAST)).assign(machine="box-a", campaign=None)
    monkeypatch.setattr(results, "record_rows", lambda systems, machines: [(results.FROM_RECORDS, own_calls)])
    lines = show(capsys, "--machine", "box-a", "--size", "n=512").splitlines()
    assert [line.split()[1] for line in lines if re.match("[0-9] +(blas|openmp)", line)] == ["blas°", "openmp"]
    assert "°: measured in this folder (results/records); the others are published." in lines
