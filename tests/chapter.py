"""What a chapter tells of a study, of everything by default: its texts, tables, claims and machines."""

import functools

from ladder.report import chapters, texts
from ladder.report.telling import chapter_study, claims, functions
from made_up import chapters as made

CHAPTERS = {
    chapter.workload: chapter for chapter in chapters.chapters() if chapter.workload in (*made.CHAPTERS, "stream")
}


def whole(workload):
    """The study of everything that a chapter tells of."""
    return made.whole("gemm" if workload == "stream" else workload)


def asked(workload, study=None):
    """The functions that the texts of a chapter may ask, by name; of everything where no study is given."""
    return functions.of_chapter(CHAPTERS[workload].study(study or whole(workload)))


@functools.cache
def text_of_everything(workload):
    """The texts of a chapter about all that was measured, rendered once."""
    return text(workload, whole(workload))


@functools.cache
def tables_of_everything(workload):
    """Its tables about the same, made once."""
    return tables(workload, whole(workload))


def text(workload, study=None):
    """The texts of a chapter as one line."""
    if study is None:
        return text_of_everything(workload)
    return " ".join(" ".join(texts.rendered_chapter(CHAPTERS[workload], study).values()).split())


def tables(workload, study=None):
    """The tables of a chapter, {name: LaTeX}."""
    if study is None:
        return tables_of_everything(workload)
    chapter = CHAPTERS[workload]
    return {name: chapter.table(name, study) for name in chapter.tables}


def answers(workload, study, *keys):
    """The claims of a chapter with their answers, {key: claim}; where keys are given, of these alone."""
    chapter, data = CHAPTERS[workload], chapter_study.module(workload, "claims")
    if not data:
        return {}
    if not keys:
        every = claims.verdicts(chapter.study(study)).values()
        return {claim.key: claim for group in every for claim in group}
    some = (claim for group in data.CLAIMS.values() for claim in group if claim.key in keys)
    return {claim.key: claims.answered(chapter.study(study), claim) for claim in some}


def verdicts(workload, study, *keys):
    """Their verdicts, {key: verdict}."""
    return {key: claim.answer.verdict for key, claim in answers(workload, study, *keys).items()}


def machines(workload, study):
    """The machines of a chapter's roles, {role: name or None}."""
    return {role: one.subject for role, one in CHAPTERS[workload].study(study).machines.items()}
