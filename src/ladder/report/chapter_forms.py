"""The forms of a chapter's data: mappings and lists of the right types, and keys that are given once."""

from collections import Counter

from ladder.catalogue import literals
from ladder.errors import LadderError
from ladder.report.telling.lines import Claim, Line, Needs, Source

TYPES = {"SOURCES": Source, "MACHINES": Needs, "LINES": Line}


def require_lines(path, data):
    """Require mappings of keys to the classes in TYPES: SOURCES, MACHINES and LINES of a file's module `data`.

    Raises LadderError for any other value.
    """
    for name, kind in TYPES.items():
        value = getattr(data, name)
        if not isinstance(value, dict) or not all(isinstance(item, kind) for item in value.values()):
            refuse(path, name, f"a mapping of keys to `{kind.__name__}`s, as in `{{key: {kind.__name__}(...)}}`")


def require_claims(path, claims):
    """Require CLAIMS, {group: [Claim]}, with a key of its own for each claim, and bounds that a ratio can meet.

    Raises LadderError for any other value.
    """
    groups = claims.values() if isinstance(claims, dict) else [None]
    if not all(
        isinstance(group, list | tuple) and all(isinstance(claim, Claim) for claim in group) for group in groups
    ):
        refuse(path, "CLAIMS", 'a mapping of groups to lists of `Claim`s, as in `{"own": [Claim(...)]}`')
    every_claim = [claim for group in groups for claim in group]
    counts = Counter(claim.key for claim in every_claim)
    for claim in every_claim:
        where = f"The claim {claim.key!r} in {literals.line_of(path, 'CLAIMS', claim.key)}"
        if counts[claim.key] > 1:
            raise LadderError(f"{where} shares its key with another one: texts couldn't tell them apart.")
        if not all(isinstance(bound, int | float) for bound in (claim.min, claim.max)) or claim.min > claim.max:
            raise LadderError(
                f"{where} has the bounds min={claim.min!r} and max={claim.max!r}, which no ratio meets: they must be "
                "numbers, and `min` at most `max`."
            )


def refuse(path, name, form):
    """Raise LadderError: the value of a module's name must be of `form`, in words."""
    raise LadderError(f"`{name}` in {literals.line_of(path, name, None)} must be {form}. See docs/contracts.md.")
