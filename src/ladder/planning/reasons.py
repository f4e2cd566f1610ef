"""Why cases are skipped: a reason is data, and becomes a sentence when it is printed or written."""

import re
from dataclasses import dataclass

# {kind of reason: sentence with what a case needs and what is available}.
SENTENCES = {
    "quota": "needs {needed}, but the control group has a quota of {available}",
    "cores": "needs {needed} cores, {available} available",
    "cores of a node": "needs {needed} cores on a node, {available} available",
    "launcher": "needs an MPI launcher, none available",
    "GPU": "needs a GPU, none available",
    "GPUs": "needs {needed} GPUs, {available} available",
    "GPUs of a node": "needs {needed} GPUs on one node, {available} available",
    "peer": "peers are switched off",
    "CuPy": "cupy is not installed: `make setup GPU=1` installs it",
    "MPI": "mpi4py finds no MPI",
    "program": "the program {needed} is not installed",
    "library": "{needed} is not installed",
    "record": "not measured",
    "other": "{needed}",
}
# Patterns that parse these sentences.
PATTERNS = {
    kind: re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(text))) for kind, text in SENTENCES.items()
}


@dataclass(frozen=True)
class SkipReason:
    """Why a case is skipped: a kind (a key of SENTENCES), what the case needs, and what is available."""

    kind: str
    needed: object = None
    available: object = None

    def __str__(self) -> str:
        return SENTENCES[self.kind].format(needed=self.needed, available=self.available)


def parse(sentence: str) -> SkipReason:
    """The SkipReason that a sentence in a table states; its numbers are text."""
    sentence = re.sub(r"to be\shad$", "available", sentence)  # the wording of tables that were published early
    matches = ((kind, pattern.fullmatch(sentence)) for kind, pattern in PATTERNS.items())
    return next(SkipReason(kind, **match.groupdict()) for kind, match in matches if match)
