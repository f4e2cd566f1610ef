"""A case is one measurement of the study. Its slug identifies it in paths, arguments, names of logs and keys.

An example is `form=nn,m=17,n=65,k=1,dtype=float64,cache=cold,threads=2`: the sizes in the workload's order, the cache
protocol, the variant's tuning sorted by name, and last, sorted too, the environment variables that the configuration
sets for the case, such as `NUMBA_OPT=0`, in percent-encoding. `Case.slug` and `Case.parse` are exact inverses.
"""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ladder.errors import LadderError

CACHES = ("cold", "warm")
NAME = re.compile(r"[a-z][a-z0-9_]*")
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]*")
INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,18})")
NUMBER_LIST = re.compile(r"[0-9]+(-[0-9]+)+")  # such as the widths of layers
REAL = re.compile(r"-?[0-9]+\.[0-9]+(e-?[0-9]+)?|-?[0-9]+e-?[0-9]+")


def to_text(value: float | str) -> str:
    """A size or a tuning as it is written in a slug: 17, 0.5, nn, 784-300-10."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise LadderError(f"{value!r} can't be a size or a tuning: use a whole number, a number or a word.")
    text = repr(value) if isinstance(value, float) else str(value)
    if from_text(text) != value:
        raise LadderError(f"{value!r} can't be a size or a tuning: its text would be read as {from_text(text)!r}.")
    return text


def from_text(text: str) -> float | str:
    """The value that `to_text` wrote. Raises LadderError for anything else."""
    if INTEGER.fullmatch(text):
        return int(text)
    if REAL.fullmatch(text):
        return float(text)
    if WORD.fullmatch(text) or NUMBER_LIST.fullmatch(text):
        return text
    raise LadderError(
        f"{text!r} is neither a number nor a word, which begins with a letter and has letters, digits, '_', '.', ':' "
        "and '-'."
    )


def value_of(name: str, text: str) -> float | str:
    """The value of a size or a tuning from its text. Raises LadderError with its name."""
    try:
        return from_text(text)
    except LadderError as error:
        raise LadderError(f"{name}={error}") from None


def quote_value(text: str) -> str:
    """A variable's value in percent-encoding, as a slug has it: only letters, digits and '_.:-' stay as they are."""
    return urllib.parse.quote(text, safe=":").replace("~", "%7E")


@dataclass(frozen=True)
class Case:
    """One job of the study; `variables` are the environment variables that it sets, {name: text}."""

    workload: str
    variant: str
    sizes: dict = field(hash=False)
    tuning: dict = field(hash=False)
    cache: str = "cold"
    variables: dict = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.cache not in CACHES:
            raise LadderError(f"The cache protocol of {self.workload} is {self.cache!r}: choose cold or warm.")

    @cached_property
    def slug(self) -> str:
        pairs = [*self.sizes.items(), ("cache", self.cache), *sorted(self.tuning.items())]
        texts = [f"{key}={to_text(value)}" for key, value in pairs]
        return ",".join([*texts, *(f"{name}={quote_value(value)}" for name, value in sorted(self.variables.items()))])

    @property
    def key(self) -> str:
        """workload/variant/slug: the case's name in messages and, through `record.path_of`, in paths."""
        return f"{self.workload}/{self.variant}/{self.slug}"

    @property
    def threads(self) -> int:
        return self.tuning.get("threads", 1)

    @property
    def ranks(self) -> int:
        return self.tuning.get("ranks", 1)

    @property
    def cores(self) -> int:
        """The number of cores that the case needs: every rank has `threads` threads."""
        return self.ranks * self.threads

    @classmethod
    def parse(cls, workload: str, variant: str, slug: str) -> Case:
        """The case that a slug identifies. Raises LadderError for a text that isn't the slug of any case."""
        for name in (workload, variant):
            if not NAME.fullmatch(name):
                raise LadderError(f"{name!r} can't name a workload or variant: use lower-case letters, digits and '_'.")
        sizes: dict[str, Any] = {}
        tuning: dict[str, Any] = {}
        variables: dict[str, Any] = {}
        cache = None
        for pair in slug.split(","):
            key, equals, text = pair.partition("=")
            is_variable = bool(VARIABLE.fullmatch(key))
            if not equals or not (is_variable or NAME.fullmatch(key)):
                raise LadderError(f"The case {slug!r} has a part {pair!r} that isn't of the form key=value.")
            if key == "cache":
                cache = text
                continue
            values = variables if is_variable else sizes if cache is None else tuning
            if key in {**sizes, **tuning, **variables}:
                raise LadderError(f"The case {slug!r} names {key!r} twice.")
            values[key] = urllib.parse.unquote(text) if is_variable else value_of(key, text)
        if cache is None:
            raise LadderError(f"The case {slug!r} has no cache protocol: add cache=cold.")
        case = cls(workload, variant, sizes, tuning, cache, variables)
        if case.slug != slug:
            raise LadderError(f"The case {slug!r} isn't in its canonical form: {case.slug!r}.")
        return case
