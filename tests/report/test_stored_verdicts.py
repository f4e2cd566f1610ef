"""`ladder compare --stored`: verdicts of published samples, which are those of the paper, and why there is none."""

import json

import numpy as np
import pytest

from conftest import ROOT
from ladder.__main__ import main
from stored_folders import gemv_case, publish, rows_of

BLAS, OPENMP = gemv_case("blas", threads=2), gemv_case("openmp", threads=2)


def times(seconds, seed=1):
    """The seconds of the two calls of each of eight processes, within 1 % of `seconds`."""
    return (seconds * np.random.default_rng(seed).uniform(0.99, 1.01, (8, 2))).tolist()


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def published_folders(folder):
    """Two machines, and three campaigns on the first one, in which BLAS takes twice as long as OPENMP."""
    rows = rows_of(OPENMP, times(0.5)) + rows_of(BLAS, times(0.1))
    rows += rows_of(gemv_case("blas", 2048, threads=2), times(0.3)) + rows_of(
        gemv_case("openmp", 2048, threads=2), times(0.2)
    )
    publish("box-a", rows)
    publish("box-b", rows_of(BLAS, times(0.4)))
    for number in range(3):
        calls = rows_of(OPENMP, times(0.01, number)) + rows_of(BLAS, times(0.02, number + 10))
        calls += rows_of(gemv_case("blas", threads=1), times(0.04, number))
        publish("box-a", calls, f"2026-01-0{number + 1}")


def compare(capsys, *options):
    main(["compare", "--stored", *options])
    return " ".join(capsys.readouterr().out.split())


def document_of(capsys, *options):
    main(["compare", "--stored", *options, "--json"])
    return json.loads(capsys.readouterr().out)


def test_a_verdict_rests_on_the_campaigns_that_measured_both(published_folders, capsys):
    text = compare(capsys, BLAS.key, OPENMP.key, "--machine", "box-a")
    assert "× slower than B: A takes 2.0" in text
    assert "(3 campaigns: 2026-01-01, 2026-01-02, 2026-01-03)" in text
    assert "would have been detected" in text
    assert "fewer than" not in text
    (result,) = document_of(capsys, BLAS.key, OPENMP.key, "--machine", "box-a")["results"]
    assert (result["outcome"], result["machine"]) == ("slower", "box-a")
    assert result["ratio"]["value"] == pytest.approx(2, rel=0.01)
    assert result["ratio"]["low"] < 2 < result["ratio"]["high"]
    assert result["campaigns"] == ["2026-01-01", "2026-01-02", "2026-01-03"]


def test_a_variant_stands_for_its_best_tuning_at_every_common_size(published_folders, capsys):
    text = compare(capsys, "gemv/openmp", "gemv/blas", "--machine", "box-a")
    assert "the best of 2 tunings" in text
    assert "× faster than B" in text
    assert "No verdict: both were measured outside of campaigns" in text
    (small,) = document_of(capsys, "gemv/openmp", "gemv/blas", "n=512", "--machine", "box-a")["results"]
    assert small["b"]["tuning"] == {"threads": 2}
    (worse,) = document_of(capsys, "gemv/openmp/n=512", "gemv/blas/threads=1", "--machine", "box-a")["results"]
    assert worse["ratio"]["value"] == pytest.approx(0.25, rel=0.02)


def test_a_condition_on_a_tuning_that_a_variant_lacks_is_for_the_other_one(folder, capsys):
    static_case = gemv_case("c_openmp", threads=2, schedule="static")
    publish("box-a", rows_of(static_case, times(0.1)) + rows_of(BLAS, times(0.2)))
    (result,) = document_of(capsys, "gemv/c_openmp", "gemv/blas", "schedule=static")["results"]
    assert result["ratio"]["value"] == pytest.approx(0.5, rel=0.02)
    assert result["outcome"] is result["detectable"] is None


def test_sides_of_different_campaigns_have_no_verdict(folder, capsys):
    publish("box-a", rows_of(BLAS, times(0.1)), "2026-01-01")
    publish("box-a", rows_of(OPENMP, times(0.2)), "2026-01-02")
    text = compare(capsys, BLAS.key, OPENMP.key)
    assert "No verdict: A was measured in 2026-01-01, B in 2026-01-02" in text
    assert "supports no verdict" in text


def test_a_few_campaigns_say_for_what_their_interval_holds(folder, capsys):
    publish("box-a", rows_of(BLAS, times(0.1)) + rows_of(OPENMP, times(0.2)), "2026-01-01")
    assert "With fewer than 3 campaigns, the interval holds only for" in compare(capsys, BLAS.key, OPENMP.key)


def test_machines_are_compared_by_medians_alone(published_folders, capsys):
    machines = ["--machine", "box-a", "--machine", "box-b"]
    text = compare(capsys, BLAS.key, BLAS.key, *machines)
    assert text.startswith("No verdict between machines: they were measured in different campaigns")
    assert "20.0 ms on box-a, 400 ms on box-b" in text or "on box-a, 401 ms on box-b" in text
    document = document_of(capsys, BLAS.key, BLAS.key, *machines)
    assert document["results"] == []
    assert {*document["across_machines"][0]} == {"box-a", "box-b"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["gemv", "gemv/blas"], "'gemv' is neither workload/variant nor"),
        (["gemv/blas/n", "gemv/blas"], "'gemv/blas/n' is neither"),
        (["gemv/blas", "gemm/blas"], "only cases of one system are compared"),
        (["gemv/cublas", "gemv/blas"], "stored on box-a or box-b: see `ladder show gemv`.\n"),
        (["gemv/blas", "gemv/openmp", "nn=3"], "gemv has no results with 'nn'. Did you mean 'n'?"),
        (["gemv/blas", "gemv/openmp", "--machine", "box-c"], "No results of gemv on box-c are stored"),
        (["gemv/openmp", "gemv/openmp"], "are the same case: name two machines"),
        (["gemv/blas/n=2048", "gemv/openmp/n=7"], "No results of gemv/openmp/n=7"),
        (["gemv/opemp", "gemv/blas", "threads=2"], "see `ladder show gemv`. Did you mean 'openmp'?"),
        (["gemv/OpenMP", "gemv/blas"], "Did you mean 'openmp'?"),
        (["gemv/blas/thread=2", "gemv/openmp"], "has no results with 'thread'. Did you mean 'threads'?"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(published_folders, capsys, options, words):
    with pytest.raises(SystemExit):
        compare(capsys, *options)
    assert words in capsys.readouterr().err


def test_a_machine_requires_stored(capsys):
    with pytest.raises(SystemExit):
        main(["compare", BLAS.key, OPENMP.key, "--machine", "box-a"])
    assert "add --stored" in capsys.readouterr().err


def test_the_verdicts_are_those_of_the_readme(readme_results, monkeypatch, capsys):
    """The README's ratios, here of one machine's campaigns, are taken from them by other code."""
    monkeypatch.chdir(ROOT)
    for workload, result, ratio in readme_results:
        (_, *before), (_, *after) = result.before, result.after
        keys = ["/".join([workload, *side]) for side in (before, after)]
        (verdict,) = document_of(capsys, *keys, "--machine", result.machine)["results"]
        assert verdict["outcome"] == "slower"
        value_and_ends = [verdict["ratio"][name] for name in ("value", "low", "high")]
        assert value_and_ends == pytest.approx([ratio.value, ratio.low, ratio.high], rel=1e-9)


@pytest.fixture
def readme_results(monkeypatch):
    """The README's results, [(workload, Result, Ratio)], without pooling machines: `ladder compare` pools none."""
    from ladder.statistics.campaigns import campaign_ratio, ratio_over_campaigns
    from workflow.test_documentation import readme

    monkeypatch.setattr(readme, "pooled_machines", lambda machine: [machine])
    return [
        (result.experiment.split("_")[0], result, ratio_over_campaigns([campaign_ratio(*pair) for pair in measured]))
        for result in readme.RESULTS
        for measured in [readme.campaigns_of(result)]
    ]
