r"""The numbers and verdicts that are of the study as a whole: one LaTeX value per key, written as `numbers.tex`.

Keys begin with `study/`; a text asks for one by `result(key)`. They are fixed by the code, never by what was measured:
a key without data has a value that says so in words. They speak of one machine, the study's subject.
"""

from ladder.report import about, verdicts
from ladder.report.phrases import NOTHING, Missing


def numbers(study, protocol, margin):
    """Every key's value for a study, a measuring protocol and the margin of the ceilings."""
    return filled(about.numbers(study, protocol, margin) | verdicts.numbers(study))


def filled(values):
    """The values, words in the place of those that are missing."""
    return {key: NOTHING if value is None else value for key, value in values.items()}


def text(values):
    """A definition for each number, for readers and for comparisons of two builds."""
    lines = [
        f"\\{'defineunmeasured' if isinstance(value, Missing) else 'defineresult'}{{{key}}}{{{value}}}"
        for key, value in values.items()
    ]
    return "\n".join(lines) + "\n"
