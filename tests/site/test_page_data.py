"""The data behind the page of results equal the tables; the page is one small file that needs nothing else."""

import json
import math
import random
import re
from dataclasses import replace

import pandas as pd
import pytest

import made_up
import published_study
from conftest import ROOT
from ladder.catalogue.workloads import load
from ladder.records.case import Case
from ladder.report import overview, ratios, verdicts
from ladder.report.figures import formats
from ladder.report.telling.chapter_study import study_of_chapter
from ladder.report.telling.ladder import label_of
from ladder.site import cases, checks, compact, curves, explanations, findings, missing, page, rooflines, sides, sources
from ladder.site.ladders import ladders
from ladder.statistics import claims, intervals, quotients
from ladder.store import study as queries
from ladder.store.published_tables import PROCESS_OFFSET
from ladder.store.study import CASE, RECORD, Study
from made_up import chapters as made_chapters

# All of it needs the study of everything published, which is loaded once.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("test_page_data")]
EMPTY = Study({}, None)
TOLERANCE = 1e-5  # relative; the page has six significant digits
RANDOM_ROWS = 30  # of the page's data, that a test draws


@pytest.fixture(scope="module")
def study():
    return published_study.study()


@pytest.fixture(scope="module")
def rows(study):
    """The rows of the page's data, one for each case."""
    return cases.rows(study)


def rows_of(study, row):
    """The timed calls of a row of the page, straight from the tables."""
    frame = study.tables[row["experiment"]]["samples"]
    frame = frame[frame["phase"] == "total"]
    return frame[(frame[["machine", *CASE]] == [row[name] for name in ("machine", *CASE)]).all(axis=1)]


def test_every_case_of_the_tables_is_on_the_page_once(study, rows):
    frames = [tables["samples"][RECORD] for tables in study.tables.values() if len(tables["samples"])]
    expected = set(pd.concat(frames).itertuples(index=False, name=None))
    assert [tuple(row[name] for name in RECORD) for row in rows if row] == sorted(expected)


@pytest.mark.parametrize("seed", range(RANDOM_ROWS))
def test_the_numbers_of_random_cases_equal_the_tables(study, rows, seed):
    row = random.Random(seed).choice(rows)
    calls = rows_of(study, row)
    times = calls.groupby("process")["seconds"]
    assert row["seconds"] == pytest.approx(times.median().median(), rel=TOLERANCE)
    summary = intervals.summary([list(part) for _, part in times])
    assert row["low"] == (pytest.approx(min(summary.low, row["seconds"]), rel=TOLERANCE) if summary.low else 0)
    assert row["high"] == (
        None if math.isinf(summary.high) else pytest.approx(max(summary.high, row["seconds"]), rel=TOLERANCE)
    )
    assert row["flops"] == pytest.approx(calls["flops"].iloc[0], rel=TOLERANCE)
    assert row["converged"] == bool(calls["converged"].all())
    samples = [sample * 1e-6 for *_, process in row["processes"] for sample in process]
    expected = [seconds for _, part in times for seconds in part]
    assert samples == pytest.approx(expected, rel=1e-4)
    joules = queries.energy(calls)
    assert row["joules"] == (None if joules is None else pytest.approx(joules, rel=TOLERANCE))


def test_a_process_has_its_own_campaign_and_commit(study, rows):
    for row in random.Random(1).sample(rows, RANDOM_ROWS):
        first_calls = rows_of(study, row).drop_duplicates("process").sort_values("process")
        campaigns = (
            first_calls["campaign"].fillna("") if "campaign" in first_calls else pd.Series("", index=first_calls.index)
        )
        processes = [(campaign, commit, number) for campaign, commit, number, _ in row["processes"]]
        assert processes == [
            *zip(campaigns, first_calls["commit"], first_calls["process"] % PROCESS_OFFSET, strict=True)
        ]


def test_the_file_of_every_process_has_its_samples(study, rows):
    by_name = {source["name"]: source for source in sources.rows(study)}
    assert {campaign or row["machine"] for row in rows for campaign, *_ in row["processes"]} <= {*by_name}
    for row in random.Random(4).sample(rows, 5):
        campaign, _, number, samples = row["processes"][-1]
        source = by_name.get(campaign) or by_name[row["machine"]]
        frame = pd.read_csv(ROOT / source["file"], low_memory=False)
        keys = frame[["experiment", *CASE, "process", "phase"]]
        is_process = keys == [*(row[name] for name in ("experiment", *CASE)), number, "total"]
        seconds = frame["seconds"][is_process.all(axis=1)]
        assert [sample * 1e-6 for sample in samples] == pytest.approx([*seconds], rel=1e-4)


def test_every_file_of_the_sources_exists(study):
    files = [source["file"] for source in sources.rows(study)]
    assert len(files) > len(study.campaigns)
    assert all((ROOT / file).is_file() for file in files)


def test_a_source_says_when_and_by_which_processors(study):
    by_name = {source["name"]: source for source in sources.rows(study)}
    machine, (campaign, publication) = "nvidia-h200-x2 (published)", next(iter(study.campaigns.items()))
    assert by_name[campaign]["when"].startswith(publication["campaign"]["began"][:10])
    assert by_name[machine]["gpus"] == "2 × NVIDIA H200"
    assert "2026-11-27" in by_name[machine]["when"]
    assert by_name["amd-epyc-2c (published)"]["gpus"] is None


def test_samples_that_are_not_published_have_no_published_file():
    study = made_chapters.study("gemv").for_machine(None)
    study = replace(study, descriptions={name: made_up.description() for name in study.machines()})
    assert [source["file"] for source in sources.rows(study)] == [None] * len(study.machines())


def test_a_share_is_the_least_time_by_the_ceilings_over_the_measured_one(study, rows):
    row = next(row for row in rows if row["device"] == "cuda" and row["cache"] == "cold" and row["workload"] == "gemv")
    bandwidth = max(
        entry["best"]
        for entry in study.roofs[row["machine"]]["rows"]
        if entry["unit"] == "B/s" and entry["device"] == "cuda"
    )
    assert row["share"] == pytest.approx(row["bytes"] / bandwidth / row["seconds"], rel=TOLERANCE)


@pytest.mark.parametrize(
    ("device", "cache", "ceilings", "share"),
    [
        ("host", "cold", (100.0, 10.0), 0.5),  # 50 bytes at 10 B/s take 5 s of 10
        ("host", "warm", (100.0, 10.0), 0.2),  # warm bytes may be in a cache; 200 FLOPs take 2 s
        ("cuda", "cold", (100.0, None), 0.2),
        ("host", "cold", (None, None), None),
        ("mpi", "cold", (100.0, 10.0), None),
    ],
)
def test_the_share_of_the_ceiling_that_limits_a_case(device, cache, ceilings, share):
    row = {"device": device, "cache": cache, "flops": 200, "bytes": 50, "machine": "here"}
    row |= {"threads_found": 1, "precision": "float32", "dtype": "float32"}
    assert cases.share(lambda *_: ceilings, row, 10.0) == share


def test_checks_are_those_nearest_to_their_bounds(study, rows):
    page_rows = checks.rows(study, cases.index_of(rows))
    for check in random.Random(2).sample(page_rows, RANDOM_ROWS):
        row = rows[check["case"]]
        frames = [tables["checks"] for tables in study.tables.values() if len(tables["checks"])]
        frame = pd.concat(frames).drop_duplicates(["machine", *CASE, "process", "check"])
        is_same_case = (frame[["machine", *CASE]] == [row[name] for name in ("machine", *CASE)]).all(axis=1)
        frame = frame[is_same_case & (frame["check"] == check["check"])]
        assert check["count"] == len(frame)
        used_share = (frame["error"] / frame["bound"].where(frame["bound"] > 0)).fillna(0).max()
        assert (check["error"] / check["bound"] if check["bound"] else 0) == pytest.approx(used_share, rel=1e-4)
    assert checks.largest_share(page_rows) <= 1
    assert checks.largest_share([]) is None


def test_of_several_processes_the_comparison_nearest_to_its_bound_counts():
    key = ("here", "gemm", "blas", "a case")
    case = dict(zip(("machine", *CASE), key, strict=True))
    rows = [
        case | {"process": i, "check": "product", "error": error, "bound": 1.0}
        for i, error in enumerate((0.1, 0.4, 0.2))
    ]
    study = Study({"experiment": {"checks": pd.DataFrame(rows)}}, "here")
    expected = {"case": 0, "check": "product", "error": 0.4, "bound": 1, "count": 3}
    assert checks.rows(study, {key: 0}) == [expected]
    assert checks.rows(study, {}) == []


def test_a_curve_is_that_of_the_first_process():
    key = ("here", "backprop", "before", "a case")
    case = dict(zip(("machine", *CASE), key, strict=True)) | {"reference_loss": 1.0, "loss_bound": 0.1, "accuracy": 0.5}
    rows = [case | {"process": i, "epoch": epoch, "loss": 1 / epoch + i} for i in (1, 0) for epoch in (1, 2)]
    study = Study({"experiment": {"curves": pd.DataFrame(rows)}}, "here")
    (curve,) = curves.rows(study, {key: 7})
    assert curve["case"] == 7
    assert curve["names"][:2] == ["epoch", "loss"]
    assert [point[:2] for point in curve["points"]] == [[1, 1], [2, 0.5]]
    assert curves.rows(study, {}) == []


def times_of(row, side):
    """The samples of a row's processes that belong to a side."""
    wanted = (side.campaign, side.commit)
    return [times for *source, _, times in row["processes"] if not side.campaign or tuple(source) == wanted]


def test_two_machines_are_compared_case_by_case(rows):
    all_sides = sides.sides(rows)
    pairs = sides.pairs(all_sides)
    assert any(all_sides[pair["a"]].campaign for pair in pairs)
    assert any(not all_sides[pair["a"]].campaign for pair in pairs)
    for pair in random.Random(3).sample(pairs, RANDOM_ROWS):
        first, second = all_sides[pair["a"]], all_sides[pair["b"]]
        key = tuple(rows[pair["case"]][name] for name in CASE)
        ratio = quotients.quotient(*(times_of(rows[side.times[key][0]], side) for side in (first, second)))
        assert pair["ratio"] == pytest.approx(ratio.value, rel=TOLERANCE)
    side_pairs = [(all_sides[pair["a"]], all_sides[pair["b"]]) for pair in pairs]
    assert all(first.machine == second.machine for first, second in side_pairs if first.campaign or second.campaign)
    assert len({side.name for side in all_sides}) == len(all_sides)


def test_a_ladder_has_the_ratios_of_the_paper(study, rows):
    all_ladders = ladders(study, cases.index_of(rows))
    ladder = next(ladder for ladder in all_ladders if ladder.workload == "gemv" and ladder.device == "cuda")
    chapter = study_of_chapter("gemv", overview.studies_by_machine(study)[ladder.machine])
    by_label = {label_of(chapter, key): chapter.find(key) for key in chapter.lines}
    for above, rung in zip(ladder.rungs, ladder.rungs[1:], strict=False):
        assert rung.gain_over_first == ratios.of(ladder.rungs[0].rows, rung.rows)
        assert rung.is_peer or above.is_peer or rung.gain_over_above == ratios.of(above.rows, rung.rows)
        assert len(by_label[rung.label]) == len(rung.rows)
        assert rows[rung.case]["variant"] == rung.rows["variant"].iloc[0]
    assert ladder.best_rung.seconds == min(rung.seconds for rung in ladder.rungs if not rung.is_peer)
    assert 0 <= float(ladder.bar_length(ladder.rungs[-1])) <= 1


def test_a_ladder_names_its_fastest_rung_and_the_lead_over_the_next(study, rows):
    all_ladders = ladders(study, cases.index_of(rows))
    for ladder in all_ladders:
        rungs = sorted(ladder.rungs, key=lambda rung: rung.seconds)
        assert ladder.fastest is rungs[0]
        assert rungs[1].name in ladder.lead_in_words
    leads = [ladder.lead_in_words for ladder in all_ladders]
    assert any(re.match(r"\d.* × \[.*\] faster than", lead) for lead in leads)
    assert any(lead.startswith(("as fast as", "doesn’t differ")) for lead in leads)


def test_a_ladder_marks_rungs_that_are_slower_than_the_one_above(study, rows):
    rungs = [rung for ladder in ladders(study, cases.index_of(rows)) for rung in ladder.rungs if rung.gain_over_above]
    assert {rung.is_loss for rung in rungs} == {True, False}
    assert all(rung.is_loss == (rung.gain_over_above.high < 1 / 1.01) for rung in rungs)


def test_times_per_unit_of_work_are_headed_so_and_stand_beside_those_of_a_call(study, rows):
    all_ladders = ladders(study, cases.index_of(rows))
    assert {ladder.heading for ladder in all_ladders if ladder.workload == "gemv"} == {"Time per gigabyte"}
    text = published_study.page()
    rung = next(ladder for ladder in all_ladders if ladder.workload == "gemv").rungs[0]
    assert f"{formats.time(rows[rung.case]['seconds'])} a call" in text
    assert "which is meant to improve on" in text


def test_the_roofs_are_the_best_rates(study):
    for roof in rooflines.rows(study):
        best = [entry["best"] for entry in study.roofs[roof["machine"]]["rows"] if entry["device"] == roof["device"]]
        assert any(roof["flops"] == pytest.approx(rate, rel=TOLERANCE) for rate in best)
        assert any(roof["bandwidth"] == pytest.approx(rate, rel=TOLERANCE) for rate in best)


def test_missing_cases_are_counted_by_machine_and_reason(study):
    page_rows = missing.rows(study)
    frames = [tables["missing"] for tables in study.tables.values() if len(tables["missing"])]
    assert sum(row["count"] for row in page_rows) == len(pd.concat(frames).drop_duplicates(["machine", *CASE]))
    assert all(sum(row["workloads"].values()) == row["count"] for row in page_rows)
    assert not [row["why"] for row in page_rows if row["why"].endswith("had")]  # that of tables published early


def claim_on_page(verdict, now=None, min_ratio=1.0, max_ratio=None, group="directions", text="a claim"):
    """A claim as the page has it; its measured ratio `now` has ends 10 % below and above."""
    low, high = (None, None) if now is None else (0.9 * now, 1.1 * now)
    texts = {"chapter": "gemm", "text": text, "group": group, "claim": "its-key"}
    return texts | {"verdict": verdict, "now": now, "low": low, "high": high, "least": min_ratio, "most": max_ratio}


def test_sentences_count_verdicts_and_lead_to_their_rows():
    rows = [
        claim_on_page("as claimed", 2.0),
        claim_on_page("the opposite", 0.5),
        claim_on_page("the opposite", 0.2),
        claim_on_page("not tested"),
    ]
    own = [claim_on_page("as claimed", 2.0, group="own"), claim_on_page("the opposite", 0.1, group="own")]
    first, last = findings.sentences([*rows, *own], [], [])
    assert first.striptags() == (
        "Of 4 claims of the studies, 3 were tested: 1 as claimed and 2 the opposite; of 2 claims of our own, 2 were "
        "tested: 1 as claimed and 1 the opposite."
    )
    assert '<a href="#verdicts?verdict=the+opposite&amp;group=studies">2 the opposite</a>' in first
    assert "the opposite of 3 claims (2 of the studies and 1 of our own)" in last.striptags()
    assert "the ratio is 0.20 × [0.18, 0.22] where > 1 is claimed" in last.striptags()
    assert '<a href="#verdicts?claim=gemm%2Fits-key">' in last


def test_the_example_of_an_opposite_is_a_plain_comparison():
    rows = [
        claim_on_page("the opposite", 0.2),
        claim_on_page("the opposite", 0.8, text="a_b over c"),
        claim_on_page("not tested", group="own"),
    ]
    *_, last = findings.sentences(rows, [], [])
    assert last.striptags().endswith("“a_b” is claimed to be faster than “c”; here it is 1.2 × [1.1, 1.4] slower.")


def with_cases(claim, low, high, *variants, machines="here"):
    """A claim with the ends of its ratio, and the cases behind it, given as (variant, threads)."""
    keys = " ".join(f"gemm/{variant}/n=8,threads={threads}" for variant, threads in variants)
    return claim | {"low": low, "high": high, "cases": keys, "machines": machines}


@pytest.mark.parametrize(
    ("verdict", "bounds", "words"),
    [
        (
            "the opposite",
            (1.0, 1.0),
            "Equality is claimed, a ratio of 1; all of the interval lies more than 10 % from 1.",
        ),
        (
            "the opposite",
            (1.0, math.nan),
            "A ratio above 1 is claimed; all of the interval lies more than 1 % below 1.",
        ),
        ("the opposite", (None, 1.0), "A ratio below 1 is claimed; all of the interval lies more than 1 % above 1."),
        ("less than claimed", (2.0, None), "A number is claimed; all of the interval falls short of it."),
        ("no effect", (1.0, None), "has no direction."),
        ("not tested", (1.0, None), ""),
    ],
)
def test_a_verdict_is_explained_by_the_claim_and_the_interval(verdict, bounds, words):
    min_ratio, max_ratio = bounds
    explanation = explanations.explanation(claim_on_page(verdict, 2.0, min_ratio, max_ratio))
    assert explanation.replace("\u00a0", " ").endswith(words)
    assert bool(explanation) == bool(words)


def test_a_claim_of_every_kind_has_an_explanation_of_every_verdict():
    for verdict in set(claims.VERDICTS) - {"not tested"}:
        for min_ratio, max_ratio in [(1.0, 1.0), (1.0, None), (None, 1.0), (2.0, 2.0), (None, 5.0)]:
            assert explanations.explanation(claim_on_page(verdict, 2.0, min_ratio, max_ratio)).endswith(".")


def test_a_verdict_leads_to_its_cases_by_what_tells_them_apart():
    row = with_cases(claim_on_page("as claimed", 2.0), 1.9, 2.1, ("blas", 1), ("blas", 4), ("gone", 4))
    index = {("here (published)", "gemm", "blas", "n=8,threads=1"): 7, ("here", "gemm", "blas", "n=8,threads=4"): 9}
    (explanation,) = explanations.rows([row], index)
    assert explanation["links"] == [("blas, threads=1", 7), ("blas, threads=4", 9)]


def test_a_sentence_names_the_threads_of_both_rungs():
    sentences = findings.sentences([], ladders(made_chapters.study("gemv"), {}), [])
    assert re.search(r"“[^”]+” on \d+ threads? is [^“]+ faster than “[^”]+” on \d+ threads?\.", sentences[0])
    assert re.search(r"“[^”]+” on 1 GPU is [^“]+ faster than “[^”]+” on 1 GPU\.", sentences[1])


def test_without_measurements_there_is_no_sentence_but_a_page():
    assert findings.sentences([claim_on_page("not tested")], [], []) == []
    text = page.page(EMPTY)
    assert "Nothing was measured yet" in text
    assert "No ladder has two measured rungs" in text
    assert all(words in text.replace("&#39;", "'") for words in claims.RULES.values())


@pytest.mark.parametrize(
    ("min_ratio", "max_ratio", "words"),
    [(2.0, 2.0, "2"), (1.0, None, "> 1"), (2.0, None, "≥ 2"), (None, 0.5, "≤ 0.5"), (1.5, 2.0, "1.5 to 2")],
)
def test_a_claimed_ratio_is_text(min_ratio, max_ratio, words):
    assert findings.claimed_text(claim_on_page("as claimed", min_ratio=min_ratio, max_ratio=max_ratio)) == words


def test_sentences_of_ladders_name_system_machine_and_interval():
    study = made_chapters.study("gemv")
    sentences = findings.sentences([], ladders(study, {}), [])
    assert sentences[0].startswith("On a CPU, the ladder of “Matrix-vector products” gains most")
    assert all(made_up.MACHINE in sentence and "\u00a0× faster" in sentence for sentence in sentences[:2])


def test_numbers_are_short_and_missing_ones_are_null():
    values = [compact.number(value) for value in (1.23456789, 0.1 + 0.2, 12.0, math.inf, math.nan, None)]
    assert values == [1.23457, 0.3, 12, None, None, None]
    table = compact.table([{"a": "x"}, {"a": "x"}, {"a": "y"}, {"a": "x"}], ["a"])
    assert table == {"a": {"texts": ["x", "y"], "codes": [0, 0, 1, 0]}}


def test_no_text_of_the_data_ends_its_element():
    text = compact.text({"name": "</script><b>"})
    assert "</" not in text
    assert json.loads(text) == {"name": "</script><b>"}


def test_the_page_is_one_file_that_loads_nothing():
    text = published_study.page()
    assert len(text) < 8e6  # characters
    outside = re.sub(r"<script>.*?</script>|<script type.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["'](?!#|data:|paper\.pdf)""", outside)
    assert "@import" not in outside


def test_what_a_case_needs_exists_before_it_is_measured():
    gemm = Case.parse("gemm", "blas", "form=nn,m=2,n=2,k=2,dtype=float64,source=random,seed=1,cache=cold,threads=1")
    assert cases.required_files(gemm) == ""
    sizes = load("mlp").SIZES
    assert "source" in sizes
    slug = "layers=784-10,activation=relu,images=100,batch=100,epochs=1,rate=0.1,dtype=float64,source=mnist,seed=1"
    training = Case.parse("mlp", "host", f"{slug},cache=cold,product=blas,threads=1")
    assert all(path.startswith("results/") for path in cases.required_files(training).split())


def test_verdicts_on_the_page_are_those_of_the_table():
    study = made_chapters.study("gemv")
    page_claims = [(row["claim"], row["verdict"]) for row in page.data(study)["claims"]]
    assert page_claims == [*verdicts.rows(study)[["claim", "verdict"]].itertuples(index=False, name=None)]
