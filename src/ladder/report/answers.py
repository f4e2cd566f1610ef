"""Answers to the questions of a chapter, each computed once for a study, as figures, tables and texts share them."""

import functools

from ladder.report.telling.lines import FLOOR


def cache_answers(method):
    """Decorate a method of ChapterStudy about selections: it is computed once for them and their machines."""

    @functools.wraps(method)
    def answer(chapter_study, *selections):
        machines = (chapter_study.machine_of(selection).machine_name for selection in selections if selection != FLOOR)
        key = method.__name__, chapter_study.workload, *machines, *selections
        if key not in chapter_study.study.answers:
            chapter_study.study.answers[key] = method(chapter_study, *selections)
        return chapter_study.study.answers[key]

    return answer
