"""Verdicts as data: a row for each claim of every chapter, and the mark of a build with toy sizes."""

from dataclasses import replace

import pandas as pd
import pytest

import made_up
from ladder.report import chapters, kinds_table, validation_table, verdicts
from ladder.report.machine_choice import replicated_machine
from ladder.report.telling import chapter_study, functions
from ladder.report.telling.chapter_study import NotMeasured
from ladder.store.study import Study
from ladder.workloads.descent.paper import claims as descent_claims
from made_up import MACHINE
from made_up import chapters as made_chapters

ORDINARY_RUN = "2026-11-28T174003Z"  # in the column `campaign` of an ordinary run, on which no verdict rests
SLOWER_VARIANT = "cuda_fused"  # of the claim `one-launch`


@pytest.fixture(scope="module")
def study():
    return made_chapters.full_study("descent")


def test_every_claim_is_a_row_with_its_cases(study):
    frame = verdicts.rows(study)
    assert list(frame) == list(verdicts.COLUMNS)
    assert len(frame) == len(chapters.verdicts(study))
    row = frame.set_index(["chapter", "claim"]).loc[("descent", "one-launch")]
    assert row["low"] <= row["now"] <= row["high"]
    assert (row["verdict"], row["campaigns"], row["converged"]) == ("as claimed", 1, True)
    assert row["machines"] == MACHINE
    assert {case.split("/")[1] for case in row["cases"].split()} == {"cuda_fused", "cuda_persistent"}
    untested = frame[frame["verdict"] == "not tested"]
    assert untested["now"].isna().all()
    assert (untested["cases"] == "").all()


def test_data_hold_no_latex(study):
    frame = verdicts.rows(made_chapters.full_study("backprop"))
    for column in ("text", "cause"):
        assert not frame[column].str.contains(r"[\\{}$]").any(), column
    assert verdicts.plain_text(r"\texttt{cuda\_\allowbreak{}fused} \num{1.5}\,$\times$ $n^2$") == "cuda_fused 1.5 x n^2"


def test_the_tally_counts_every_claim(study):
    numbers = verdicts.numbers(study)
    for group in verdicts.GROUPS:
        claims = [claim for _, claim_group, claim in chapters.verdicts(study) if claim_group == group]
        assert numbers[f"study/verdicts/{group}/count"] == f"\\num{{{len(claims)}}}"
    assert "as claimed" in numbers["study/verdicts/directions"]
    assert "as claimed" in numbers["study/verdicts/every"]
    assert numbers["study/behind/processes"] is not None
    assert verdicts.numbers(Study({}, None))["study/verdicts/directions"] is None


def as_ordinary_run(study):
    """The study as that of an ordinary run, whose name is in the records, too."""
    tables = {
        experiment: tables | {"samples": tables["samples"].assign(campaign=ORDINARY_RUN)}
        for experiment, tables in study.tables.items()
    }
    return replace(study, tables=tables)


def test_a_campaign_outranks_the_records_of_an_ordinary_run(study):
    """They would show half the gain."""
    run = as_ordinary_run(
        made_chapters.study("descent", machine="here", factor=lambda case: 1 + (case.variant == "cuda_persistent"))
    )
    published = made_chapters.study("descent", machine="here (published)")
    merged_study = replace(made_up.merge(run, published), campaigns={made_up.CAMPAIGN: {"machine": "here"}})
    expected, verdicts_of_both = (verdicts.rows(each_study).set_index("claim") for each_study in (study, merged_study))
    assert verdicts_of_both["verdict"].to_dict() == expected["verdict"].to_dict()
    assert verdicts_of_both["now"]["one-launch"] == pytest.approx(expected["now"]["one-launch"])
    assert {*verdicts_of_both["machines"]} <= {"here", ""}
    assert verdicts.numbers(merged_study)["study/toy"] is None


def test_without_a_campaign_no_claim_is_tested(study):
    run = as_ordinary_run(study)
    assert {*verdicts.rows(run)["verdict"]} == {"not tested"}
    needs = {claim.needs for *_, claim in chapters.verdicts(run) if claim.key == "one-launch"}
    assert needs == {"a campaign"}
    assert verdicts.numbers(run)["study/verdicts/every"] is None
    assert verdicts.numbers(run)["study/toy"] is None, "the sizes are those of the claims"


def test_rungs_that_no_campaign_has_need_one(study):
    """The machine has a campaign, of other cases; the rungs were measured by an ordinary run, or one wasn't at all."""

    def needs(run):
        published = made_chapters.study("descent", machine="here (published)", drop=is_persistent)
        merged_study = replace(
            made_up.merge(as_ordinary_run(run), published), campaigns={made_up.CAMPAIGN: {"machine": "here"}}
        )
        (claim,) = [claim for *_, claim in chapters.verdicts(merged_study) if claim.key == "one-launch"]
        assert (claim.answer.verdict, claim.answer.ratio) == ("not tested", None)
        return claim.needs

    def is_persistent(case):
        return case.variant == "cuda_persistent"

    assert needs(made_chapters.study("descent", machine="here")) == "a campaign"
    assert needs(made_chapters.study("descent", machine="here", drop=is_persistent)) == "both rungs"


def split_into_campaigns(study, campaign_count, copies):
    """The study in `campaign_count` campaigns, each with `copies` copies of its processes."""

    def samples(table):
        parts = [
            table.assign(campaign=f"campaign-{number}", process=table["process"] + len(made_up.PROCESS_FACTORS) * copy)
            for number in range(campaign_count)
            for copy in range(copies)
        ]
        return pd.concat(parts, ignore_index=True) if len(table) else table

    tables = {
        experiment: tables | {"samples": samples(tables["samples"])} for experiment, tables in study.tables.items()
    }
    return replace(study, tables=tables)


@pytest.fixture(scope="module")
def study_of_short_campaigns():
    """A study of four campaigns, none of which has ten processes, and its row of the claim `one-launch`."""
    study = split_into_campaigns(made_chapters.study("descent", machine="here (published)"), 4, 1)
    return study, row_of_one_launch(study)


def row_of_one_launch(study):
    return verdicts.rows(study).set_index("claim").loc["one-launch"]


@pytest.mark.parametrize(
    ("campaign_count", "copies", "cores", "is_replaced"),
    [(3, 2, 24, True), (3, 1, 24, False), (2, 2, 24, False), (3, 2, 32, False)],
)
def test_verdicts_rest_on_three_full_campaigns_of_a_machine_of_the_same_size(
    study_of_short_campaigns, campaign_count, copies, cores, is_replaced
):
    """The chapter's machine has more campaigns, but none of ten processes; the other one takes twice as long."""
    study_here, row_here = study_of_short_campaigns
    slow_study = made_chapters.study(
        "descent", machine="there (published)", factor=lambda case: 1 + (case.variant == SLOWER_VARIANT)
    )
    slow_study = replace(slow_study, descriptions={"there (published)": made_up.description() | {"cores": cores}})
    merged_study = made_up.merge(study_here, split_into_campaigns(slow_study, campaign_count, copies))
    row = row_of_one_launch(merged_study)
    assert (row["machines"], row["campaigns"]) == (("there", 3) if is_replaced else ("here", 4))
    assert row["now"] == pytest.approx((1 + is_replaced) * row_here["now"])
    name = r"\texttt{there}" if is_replaced else None
    assert kinds_table.numbers(merged_study)["study/verdicts/replacements"] == name
    assert (r"\texttt{here}" in kinds_table.table(merged_study)) == is_replaced
    descent = chapter_study.study_of_chapter("descent", merged_study)
    claim = next(claim for claim in descent_claims.CLAIMS["own"] if claim.key == "one-launch")
    assert functions.ratio_of_verdicts(descent, claim.slower, claim.faster).value == pytest.approx(row["now"])
    if is_replaced:
        assert name in functions.verdict_machine(descent, "ladder")
    else:
        with pytest.raises(NotMeasured):
            functions.verdict_machine(descent, "ladder")


def test_verdicts_of_a_build_rest_on_its_machine():
    """A published machine of the same size has more campaigns."""
    study_here = split_into_campaigns(made_chapters.study("descent", machine="here"), 2, 1)
    published = split_into_campaigns(made_chapters.study("descent", machine="there (published)"), 3, 2)
    descent = chapter_study.study_of_chapter("descent", made_up.merge(study_here, published))
    assert replicated_machine(descent, "ladder") == "here"


def test_a_build_that_decides_nothing_says_so(study):
    """A machine that measured only toy sizes is named, if no verdict is based on it."""
    item = made_chapters.measurements("gemm_square")[0]
    toy_study = made_up.study([replace(item, case=replace(item.case, sizes=item.case.sizes | {"m": 17}))], "here")
    published = replace(made_chapters.study("descent", machine="there (published)"), descriptions=study.descriptions)
    merged = made_up.merge(toy_study, published)
    assert verdicts.numbers(merged)["study/toy"] == r"\texttt{here}"
    assert verdicts.numbers(study)["study/toy"] is None
    assert verdicts.numbers(published)["study/toy"] is None
    assert r"\texttt{gemm}" in validation_table.by_workload(merged)
    assert "descent" not in validation_table.by_workload(merged)
