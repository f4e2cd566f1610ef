r"""The numbers and verdicts of the paper's sentences: one LaTeX value per key, written as `numbers.tex`.

Keys begin with `study/` or with the workload in whose chapter they are made, `workloads/*/paper/numbers.py`;
`\result{key}` prints one. They are fixed by the code, never by what was measured: a key without data has a value that
says so in words, and `\ifmeasured` distinguishes it; a key that no module makes is an error of the text, and stops
LaTeX. They speak of one machine, the study's subject, or of the one that a chapter names.
"""

from ladder.report import about, chapters, verdicts
from ladder.report.phrases import NOTHING, Missing


def numbers(found, protocol, margin):
    """Every key's value for a study, a measuring protocol and the margin of the ceilings.

    Raises LadderError when two give the same key, and when a chapter's key doesn't begin with its workload.
    """
    parts = {about.__file__: about.numbers(found, protocol, margin), verdicts.__file__: verdicts.numbers(found)}
    parts |= chapters.numbers(found)
    return filled(chapters.merged(parts))


def filled(values):
    """The values, words in the place of those that are missing."""
    return {key: NOTHING if value is None else value for key, value in values.items()}


def text(values):
    """The definitions that `paper/preamble.tex` reads."""
    lines = [
        f"\\{'defineunmeasured' if isinstance(value, Missing) else 'defineresult'}{{{key}}}{{{value}}}"
        for key, value in values.items()
    ]
    return "\n".join(lines) + "\n"
