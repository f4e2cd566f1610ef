"""A chapter's texts, tables, claims and machines, from a given study or from made-up measurements of all its cases."""

import functools
import re

from ladder.report import chapters, texts
from ladder.report.telling import chapter_study, claims, functions
from made_up import chapters as made_chapters

WORKLOADS = (*made_chapters.WORKLOADS, "stream")
CHAPTERS = {chapter.workload: chapter for chapter in chapters.chapters() if chapter.workload in WORKLOADS}


def full_study(workload):
    """A Study with made-up measurements of all cases that a chapter reads."""
    return made_chapters.full_study("gemm" if workload == "stream" else workload)


def study(workload):
    """The ChapterStudy of these measurements, which the texts and tables of the chapter read."""
    return CHAPTERS[workload].study(full_study(workload))


def text_functions(workload, study=None):
    """The functions that the texts of a chapter can call, {name: function}, for a study, by default the full one."""
    return functions.template_names(CHAPTERS[workload].study(study or full_study(workload)))


def plain_text(value):
    """A value in LaTeX as plain text."""
    return " ".join(re.sub(r"\\(?:num|qty|,)|[{}\\]", " ", str(value).replace(r"$\times$", "x")).split())


def text(workload, study):
    """The texts of a chapter as one line."""
    return " ".join(" ".join(texts.render_chapter(CHAPTERS[workload], study).values()).split())


def tables(workload, study):
    """The tables of a chapter, {name: LaTeX}."""
    return {name: CHAPTERS[workload].table(name, study) for name in CHAPTERS[workload].tables}


@functools.cache
def all_tables(workload):
    """The tables of a chapter from the full study."""
    return tables(workload, full_study(workload))


def claims_of(workload, study, *keys):
    """The claims of a chapter with their answers, {key: claim}: those with the given keys, or all."""
    module, study = chapter_study.chapter_module(workload, "claims"), CHAPTERS[workload].study(study)
    all_claims = [claim for group in module.CLAIMS.values() for claim in group] if module else []
    if keys:
        return {claim.key: claims.decide_claim(study, study, claim) for claim in all_claims if claim.key in keys}
    return {claim.key: claim for group in claims.verdicts(study).values() for claim in group} if module else {}


def verdicts(workload, study, *keys):
    """The verdicts on claims of a chapter, {key: verdict}: on those with the given keys, or on all."""
    return {key: claim.answer.verdict for key, claim in claims_of(workload, study, *keys).items()}


def machines(workload, study):
    """The machines of a chapter's roles, {role: name or None}."""
    return {role: machine.machine_name for role, machine in CHAPTERS[workload].study(study).machines.items()}


def cells_of(table, *names):
    """The cells of those rows of a table in LaTeX in which all of these names occur."""
    rows = [line.removesuffix(r" \\") for line in table.splitlines()]
    return [row.split(" & ") for row in rows if all(name in row for name in names)]
