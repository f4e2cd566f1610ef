"""What a chapter tells of a study, of everything by default: its texts, tables, claims and machines."""

import functools
import re

from ladder.report import chapters, texts
from ladder.report.telling import chapter_study, claims, functions
from made_up import chapters as made

CHAPTERS = {one.workload: one for one in chapters.chapters() if one.workload in (*made.CHAPTERS, "stream")}


def whole(workload):
    """The study of everything that a chapter tells of."""
    return made.whole("gemm" if workload == "stream" else workload)


def study(workload):
    """The same in the terms of the chapter."""
    return CHAPTERS[workload].study(whole(workload))


def asked(workload, study=None):
    """The functions that the texts of a chapter may ask, by name; of everything where no study is given."""
    return functions.of_chapter(CHAPTERS[workload].study(study or whole(workload)))


def plain(value):
    """A value in LaTeX as its numbers and words."""
    return " ".join(re.sub(r"\\(?:num|qty|,)|[{}\\]", " ", str(value).replace(r"$\times$", "x")).split())


def text(workload, study):
    """The texts of a chapter as one line."""
    return " ".join(" ".join(texts.render_chapter(CHAPTERS[workload], study).values()).split())


def tables(workload, study):
    """The tables of a chapter, {name: LaTeX}."""
    return {name: CHAPTERS[workload].table(name, study) for name in CHAPTERS[workload].tables}


@functools.cache
def all_tables(workload):
    """Its tables about everything, made once."""
    return tables(workload, whole(workload))


def answers(workload, study, *keys):
    """The claims of a chapter with their answers, {key: claim}; where keys are given, of these alone."""
    data, study = chapter_study.module(workload, "claims"), CHAPTERS[workload].study(study)
    every = [claim for group in data.CLAIMS.values() for claim in group] if data else []
    if keys:
        return {claim.key: claims.decided(study, claim) for claim in every if claim.key in keys}
    return {claim.key: claim for group in claims.verdicts(study).values() for claim in group} if data else {}


def verdicts(workload, study, *keys):
    """Their verdicts, {key: verdict}."""
    return {key: claim.answer.verdict for key, claim in answers(workload, study, *keys).items()}


def machines(workload, study):
    """The machines of a chapter's roles, {role: name or None}."""
    return {role: one.subject for role, one in CHAPTERS[workload].study(study).machines.items()}
