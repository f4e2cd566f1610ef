"""The paper's statements about published measurements: every verdict is recomputed from the raw samples."""

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from conftest import ROOT
from drawings import planned
from ladder.records.case import Case
from ladder.report import chapters as chapters_of_the_paper
from ladder.report import verdict_table, verdicts
from ladder.report.telling import chapter_study, functions
from ladder.report.telling.lines import select
from ladder.statistics import claims
from ladder.store import PUBLISHED, collect, stored
from ladder.store.study import Study

# Claims of cold starts, of a call over its link, of the communication in calls, and of a training's products.
OTHERS = ("one-gpu", "two-gpus", "four-gpus", "home/float16", "hybrid")
OTHERS += tuple(f"{key}/{form}" for key in ("falls", "even") for form in ("nn", "tn", "nt"))
FOLDERS = sorted(path.parent for path in (ROOT / "results/published").glob("*/samples.csv.gz"))


pytestmark = pytest.mark.xdist_group("published")  # all is loaded once


@pytest.fixture(scope="module")
def published():
    """The study of all published machines."""
    tables = {}
    for name in collect.TABLES:
        frames = [stored.published(folder, name) for folder in FOLDERS]
        frame = collect.concatenate([rows.assign(machine=rows["machine"] + PUBLISHED) for rows in frames if len(rows)])
        for experiment, rows in frame.groupby("experiment"):
            tables.setdefault(experiment, {})[name] = rows.dropna(axis="columns", how="all")
    complete = {
        experiment: {name: frames.get(name, pd.DataFrame()) for name in collect.TABLES}
        for experiment, frames in tables.items()
    }
    return Study(complete, None)


@pytest.fixture(scope="module")
def rows(published):
    return verdicts.rows(published)


def test_what_is_published_decides_claims_of_every_study(rows):
    earlier = rows[rows["group"] == "earlier"]
    decided = earlier[~earlier["verdict"].isin((claims.NOT_TESTED, claims.UNDECIDED))]
    assert set(decided["chapter"]) == set(earlier["chapter"])


def test_a_ratio_is_the_quotient_of_the_medians_of_its_cases(published, rows):
    """If the ratio has two cases; the seconds of an iteration, a picture or a gigabyte differ by a known factor."""
    medians = medians_of(published)
    checked = 0
    for row in rows[rows["now"].notna()].itertuples():
        cases = row.cases.split()
        if len(cases) != 2 or len(row.machines.split()) != 1 or row.claim in OTHERS:
            continue
        slower, other = (medians[row.machines, case] for case in cases)
        factor = row.now / (slower.seconds / other.seconds)
        assert is_known(factor) or is_known(factor * slower.bytes / other.bytes), (row.chapter, row.claim, factor)
        checked += 1
    assert checked > 30


def medians_of(published):
    """The median over processes of the processes' medians, and the bytes of a call, by (machine, case)."""
    medians = {}
    for tables in published.tables.values():
        frame = tables["samples"]
        frame = frame[frame["phase"] == "total"] if len(frame) else frame
        for key, part in frame.groupby(["machine", "workload", "variant", "case"]) if len(frame) else ():
            machine, *case = key
            by_process = part.groupby("process")["seconds"].median()
            row = SimpleNamespace(seconds=float(np.median(by_process)), bytes=part["bytes"].iloc[0])
            medians[machine.removesuffix(PUBLISHED), "/".join(case)] = row
    return medians


def is_known(factor):
    """Whether a factor between times is a quotient of small integers, as between two amounts of work."""
    return any(
        abs(factor * below / above - 1) < 1e-9 for above, below in itertools.product((1, 2, 4, 16, 50, 51), repeat=2)
    )


def test_only_cases_of_the_full_study_decide(rows):
    """Toy sizes are those of `config/smoke.yaml` alone."""
    full = {sizes_of(case) for cases in planned().values() for case in cases}
    deciding = {case for cases in rows["cases"] for case in cases.split()}
    assert {case for case in deciding if sizes_of(Case.parse(*case.split("/"))) not in full} == set()


def sizes_of(case):
    """The workload and the sizes of a case."""
    return case.workload, *sorted(case.sizes.items())


def test_an_undecided_claim_says_what_could_have_been_seen(published, rows):
    undecided = [
        claim for *_, claim in chapters_of_the_paper.verdicts(published) if claim.answer.verdict == claims.UNDECIDED
    ]
    assert len(undecided) == (rows["verdict"] == claims.UNDECIDED).sum()
    for claim in undecided:
        assert re.search(r"would show|too few processes", verdict_table.cells(claim)[-1]), claim.key


def test_what_jumps_to_the_eye_is_remarked_of_products_of_matrix_and_vector(published):
    """The text says that a broadcast is slow, and that phases add up to more than the call."""
    ask = functions.of_chapter(chapter_study.of_chapter("gemv", published))
    assert ask["machine"]("host").endswith(r"\published{}")
    assert ask["slower_broadcast"]()
    assert ask["beyond"](select("hybrid", "ranks, smallest"))
    (chapter,) = (item for item in chapters_of_the_paper.chapters() if item.workload == "gemv")
    text = (chapter.folder / "text.tex").read_text()
    assert all(item in text for item in ('machine("host")', "slower_broadcast()", 'beyond(select("hybrid"'))
