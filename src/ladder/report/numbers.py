r"""The numbers and verdicts about the study as a whole: one LaTeX value per key, written as `numbers.tex`.

Keys begin with `study/`; a text prints a value by `result(key)`. The code fixes the keys: one without a measurement has
words as its value. The numbers are about one machine, the study's `machine_name`.
"""

from ladder.report import about, kinds_table, verdicts
from ladder.report.phrases import NO_MEASUREMENT, Missing


def numbers(study, protocol, margin):
    """{key: value in LaTeX} for a study, a measuring protocol and the margin of the ceilings."""
    values = about.numbers(study, protocol, margin) | verdicts.numbers(study) | kinds_table.numbers(study)
    return fill_missing(values)


def fill_missing(values):
    """The values with NO_MEASUREMENT in place of None."""
    return {key: NO_MEASUREMENT if value is None else value for key, value in values.items()}


def text(values):
    """The text of `numbers.tex`, a LaTeX definition for each number; people read it, and compare two builds by it."""
    lines = [
        f"\\{'defineunmeasured' if isinstance(value, Missing) else 'defineresult'}{{{key}}}{{{value}}}"
        for key, value in values.items()
    ]
    return "\n".join(lines) + "\n"
