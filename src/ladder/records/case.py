"""A case, one job of the study, and its slug: the one string that is path, command, log name and key.

A slug reads `form=nn,m=17,n=65,k=1,dtype=float64,cache=cold,threads=2`: the workload's sizes in their own order,
then the cache protocol, then the variant's tuning sorted by name, last the variables of the environment that the
configuration sets for the case, as in `NUMBA_OPT=0`, with `%2F` for a slash and the like. `Case.slug` and `Case.parse`
are exact inverses.
"""

import re
import urllib.parse
from dataclasses import dataclass, field
from functools import cached_property

from ladder.errors import LadderError

CACHES = ("cold", "warm")
NAME = re.compile(r"[a-z][a-z0-9_]*")
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]*")
INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,18})")
LIST = re.compile(r"[0-9]+(-[0-9]+)+")
REAL = re.compile(r"-?[0-9]+\.[0-9]+(e-?[0-9]+)?|-?[0-9]+e-?[0-9]+")


def to_text(value):
    """A size or a tuning as it is written in a slug: 17, 0.5, nn, 784-300-10."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise LadderError(f"{value!r} can't be a size or a tuning: use a whole number, a number or a word.")
    text = repr(value) if isinstance(value, float) else str(value)
    if from_text(text) != value:
        raise LadderError(f"{value!r} can't be a size or a tuning: its text would be read as {from_text(text)!r}.")
    return text


def from_text(text):
    """The value that `to_text` wrote. Raises LadderError for anything else."""
    if INTEGER.fullmatch(text):
        return int(text)
    if REAL.fullmatch(text):
        return float(text)
    if WORD.fullmatch(text) or LIST.fullmatch(text):
        return text
    raise LadderError(f"{text!r} is neither a number nor a word of letters, digits, '_', '.', ':' and '-'.")


def quoted(text):
    """A variable's value as it is written in a slug: `%` and two digits for other than letters, digits and '_.:-'."""
    return urllib.parse.quote(text, safe=":").replace("~", "%7E")


@dataclass(frozen=True)
class Case:
    """One job: workload, variant, sizes, tuning, cache protocol, and variables of the environment, {name: text}."""

    workload: str
    variant: str
    sizes: dict = field(hash=False)
    tuning: dict = field(hash=False)
    cache: str = "cold"
    variables: dict = field(default_factory=dict, hash=False)

    def __post_init__(self):
        if self.cache not in CACHES:
            raise LadderError(f"The cache protocol of {self.workload} is {self.cache!r}: choose cold or warm.")

    @cached_property
    def slug(self):
        pairs = [*self.sizes.items(), ("cache", self.cache), *sorted(self.tuning.items())]
        texts = [f"{key}={to_text(value)}" for key, value in pairs]
        return ",".join([*texts, *(f"{name}={quoted(value)}" for name, value in sorted(self.variables.items()))])

    @property
    def key(self):
        """workload/variant/slug: the case's name in messages and, through `record.path_of`, in paths."""
        return f"{self.workload}/{self.variant}/{self.slug}"

    @property
    def threads(self):
        return self.tuning.get("threads", 1)

    @property
    def ranks(self):
        return self.tuning.get("ranks", 1)

    @property
    def cores(self):
        """The number of cores that the case needs: every rank has `threads` threads."""
        return self.ranks * self.threads

    @classmethod
    def parse(cls, workload, variant, slug):
        """The case of a slug. Raises LadderError for a slug that `slug` would not produce."""
        for name in (workload, variant):
            if not NAME.fullmatch(name):
                raise LadderError(f"{name!r} is no name of a workload or variant: use small letters, digits and '_'.")
        sizes, tuning, variables, cache = {}, {}, {}, None
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
            values[key] = urllib.parse.unquote(text) if is_variable else from_text(text)
        if cache is None:
            raise LadderError(f"The case {slug!r} doesn't say which cache protocol it means: add cache=cold.")
        case = cls(workload, variant, sizes, tuning, cache, variables)
        if case.slug != slug:
            raise LadderError(f"The case {slug!r} isn't written as the project writes it: {case.slug!r}.")
        return case
