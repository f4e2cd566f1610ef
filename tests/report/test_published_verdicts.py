"""The paper's statements about published measurements: every verdict is recomputed from the raw samples."""

import itertools
import math
import re

import numpy as np
import pandas as pd
import pytest

import verdict_page
from conftest import ROOT
from drawings import planned_cases
from ladder.records.case import Case
from ladder.report import chapters as chapters_of_the_paper
from ladder.report import verdict_table, verdicts
from ladder.report.telling import chapter_study, functions
from ladder.report.telling.lines import select
from ladder.statistics import claims
from ladder.store import collect, table_files
from ladder.store.published_tables import PublishedTables
from ladder.store.study import Study

# Claims whose ratio isn't the quotient of two cases' times: of a call over its link, of communication in calls, of a
# layer, of a macro block of an epoch, of a training's products, and of cold starts (set-up and first call).
NOT_OF_TIMES = ("home/float16", "hybrid/host", "last", "loop-order/block")
NOT_OF_TIMES += tuple(f"gpus/{images}" for images in (10, 100, 880, 1000, 2224, 2512, 4856, 5248))
NOT_OF_TIMES += tuple(f"{key}/{form}" for key in ("falls", "even") for form in ("nn", "tn", "nt"))
PUBLISHED_FOLDER = ROOT / "results/published"
MACHINE_FOLDERS = sorted(path.parent for path in PUBLISHED_FOLDER.glob("*/samples.csv.gz"))
CAMPAIGN_FOLDERS = sorted(path.parent for path in PUBLISHED_FOLDER.glob("campaigns/*/samples.csv.gz"))


pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("published")]  # all is loaded once


@pytest.fixture(scope="module")
def published_study():
    """The study of all published machines and campaigns."""
    folders = [*MACHINE_FOLDERS, *CAMPAIGN_FOLDERS]
    published = PublishedTables(folders)
    names = {name for folder in folders for name in table_files.published_experiments(folder, "samples")}
    tables = {
        experiment: {
            name: table_files.with_types(collect.concatenate(published.frames(name, experiment, set())))
            for name in ("samples", "curves", "missing")  # verdicts read no other tables
        }
        for experiment in sorted(names)
    }
    return Study(tables, None)


@pytest.fixture(scope="module")
def samples():
    """The timed calls of the campaigns, as pandas reads them, without the project's code."""
    frames = [pd.read_csv(folder / "samples.csv.gz", low_memory=False) for folder in CAMPAIGN_FOLDERS]
    frame = pd.concat(frames)
    frame = frame[frame["phase"] == "total"]
    # Cases on GPUs are pooled over machines with the same models of GPU and CPU.
    is_pooled = frame["gpu"].notna() & frame["machine"].str.startswith("nvidia-h200")
    frame = frame.assign(machine=frame["machine"].mask(is_pooled, "nvidia-h200-x2"))
    return frame.assign(key=frame["workload"] + "/" + frame["variant"] + "/" + frame["case"])


@pytest.fixture(scope="module")
def rows(published_study):
    return verdicts.rows(published_study)


def test_what_is_published_decides_claims_of_most_studies(rows):
    decided = rows[~rows["verdict"].isin((claims.NOT_TESTED, claims.UNDECIDED)) & (rows["group"] != "own")]
    assert {"mlp", "gemv", "backprop"} <= set(decided["chapter"])


def test_the_page_on_verdicts_explains_every_verdict(rows):
    tested = rows[rows["now"].notna()].fillna({"least": 0.0, "most": math.inf})
    page_verdicts = [verdict_page.verdict(row.low, row.high, row.least, row.most) for row in tested.itertuples()]
    assert page_verdicts == list(tested["verdict"])
    assert claims.OPPOSITE in page_verdicts


def test_every_verdict_rests_on_campaigns_that_measured_all_of_its_cases(rows, samples):
    """No side of a ratio is of another campaign than the other side."""
    campaigns_of = samples.groupby(["machine", "key"])["campaign"].agg(set).to_dict()
    checked_count = 0
    for row in rows[rows["now"].notna()].itertuples():
        (machine,) = row.machines.split()
        common = set.intersection(*(campaigns_of[machine, case] for case in row.cases.split()))
        assert len(common) >= row.campaigns >= 1, (row.chapter, row.claim)
        checked_count += 1
    assert checked_count > 30
    assert (rows[rows["now"].isna()]["verdict"] == claims.NOT_TESTED).all()


def test_a_campaign_is_of_one_commit_and_one_host(samples):
    assert (samples.groupby("campaign")[["commit", "host"]].nunique() == 1).all(axis=None)
    assert not samples["commit"].str.endswith("-dirty").any()


def test_a_ratio_is_the_quotient_of_the_medians_of_its_cases(rows, samples):
    """If the ratio has two cases; the seconds of an iteration, a picture or a gigabyte differ by a known factor."""
    by_process = samples.groupby(["machine", "campaign", "key", "process"])["seconds"].median()
    groups = by_process.groupby(level=["machine", "campaign", "key"])
    medians, processes = groups.median(), groups.size()
    case_bytes = samples.groupby("key")["bytes"].first()
    checked_count = 0
    for row in rows[rows["now"].notna()].itertuples():
        cases = row.cases.split()
        if len(cases) != 2 or row.claim in NOT_OF_TIMES:
            continue
        slower, other = (medians.loc[row.machines].xs(case, level="key") for case in cases)
        counts = [processes.loc[row.machines].xs(case, level="key") for case in cases]
        logarithms = np.log(slower / other).dropna()
        # 10 processes, 3 campaigns and 8 values are those of ladder.statistics.campaigns.
        is_full = (np.minimum(*counts) >= 10).reindex(logarithms.index)
        logarithms = logarithms[is_full] if is_full.sum() >= 3 else logarithms
        assert len(logarithms) == row.campaigns
        ratio = np.exp(logarithms.mean() if len(logarithms) < 8 else logarithms.median())
        factor = row.now / ratio
        assert is_known(factor) or is_known(factor * case_bytes[cases[0]] / case_bytes[cases[1]]), (
            row.chapter,
            row.claim,
            factor,
        )
        checked_count += 1
    assert checked_count > 25


def is_known(factor):
    """Whether a factor between times is a quotient of small integers, as between two amounts of work."""
    return any(
        abs(factor * below / above - 1) < 1e-9 for above, below in itertools.product((1, 2, 4, 16, 50, 51), repeat=2)
    )


def test_only_cases_of_the_full_study_decide(rows):
    """Toy sizes are those of `config/smoke.yaml` alone."""
    planned_sizes = {sizes_of(case) for cases in planned_cases().values() for case in cases}
    deciding_cases = {case for cases in rows["cases"] for case in cases.split()}
    assert {case for case in deciding_cases if sizes_of(Case.parse(*case.split("/"))) not in planned_sizes} == set()


def sizes_of(case):
    """The workload and the sizes of a case."""
    return case.workload, *sorted(case.sizes.items())


def test_an_undecided_claim_says_what_could_have_been_seen(published_study, rows):
    undecided = [
        claim
        for *_, claim in chapters_of_the_paper.verdicts(published_study)
        if claim.answer.verdict == claims.UNDECIDED
    ]
    assert len(undecided) == (rows["verdict"] == claims.UNDECIDED).sum()
    for claim in undecided:
        assert re.search(r"detectable: |too few processes|differ too much", verdict_table.cells(claim)[-1]), claim.key


def test_the_text_of_gemv_remarks_on_broadcasts_and_on_phases(published_study):
    """The text says that a broadcast is slow, and that phases add up to more than the call."""
    text_functions = functions.template_names(chapter_study.study_of_chapter("gemv", published_study))
    assert text_functions["machine"]("host").endswith(r"\published{}")
    assert text_functions["broadcast_slowdown"]()
    assert text_functions["phases_over_call"](select("hybrid", "ranks, smallest"))
    (chapter,) = (item for item in chapters_of_the_paper.chapters() if item.workload == "gemv")
    text = (chapter.folder / "text.tex").read_text()
    assert all(item in text for item in ('machine("host")', "broadcast_slowdown()", 'phases_over_call(select("hybrid"'))
