"""One loader of users' YAML files for the verbs and for Snakemake, whose own loader reports errors by tracebacks.

The loader is stricter than YAML 1.1. It refuses texts that YAML reads otherwise than they look, such as a duplicate key
or `0100`, which YAML reads as 64, and its messages name both readings.
"""

import contextlib
import copy
import functools
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer

from ladder.errors import LadderError

# Limits far above any configuration: the bytes of a file, and its number of values after expanding aliases.
MAX_BYTES = 2**20
MAX_VALUES = 100_000
MAX_DEPTH = 100  # of nested values; for thousands of levels the loader would take minutes
# Numbers that YAML reads like other languages.
PLAIN_NUMBER = re.compile(
    r"[-+]?(0|[1-9][0-9]*)|[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?|[-+]?\.(inf|nan)", re.IGNORECASE
)
# For all other numbers: (part of their text, how YAML 1.1 reads them).
READINGS = (
    (":", "reads numbers with a ':' between them in base 60"),
    ("_", "ignores each '_'"),
    ("0b", "reads 0b as binary"),
    ("0x", "reads 0x as hexadecimal"),
    ("", "reads a leading 0 as octal"),
)
TAGS = ("int", "float", "bool", "null", "timestamp")
# A null character and surrogates.
UNUSABLE_CHARACTERS = re.compile("[\0\ud800-\udfff]")


class MisreadError(yaml.MarkedYAMLError):
    """A text that YAML reads as another value than the one written."""


class StrictComposer(Composer):
    """The part of a loader of YAML 1.1 that refuses duplicate keys, ambiguous scalars and deep nesting."""

    depth = 0

    def compose_mapping_node(self, anchor: Any) -> Any:
        """Compose a mapping; refuses duplicate keys, of which only the last would count."""
        node, keys = super().compose_mapping_node(anchor), set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in keys:
                raise yaml.MarkedYAMLError(problem=f"duplicate key {key.value}", problem_mark=key.start_mark)
            keys.add(key.value)
        return node

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node; refuses misread scalars and too many nested values.

        `index` is the node of the key, or the index in a list.
        """
        if self.depth >= MAX_DEPTH:
            raise RecursionError
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        if isinstance(node, yaml.ScalarNode) and (misreading := self.misreading(node)):
            key = f"{index.value}: " if isinstance(index, yaml.ScalarNode) else ""
            text = node.value.encode("utf-8", "backslashreplace").decode()
            raise MisreadError(problem=f"{key}{text} {misreading}", problem_mark=node.start_mark)
        return node

    def misreading(self, node: yaml.ScalarNode) -> str | None:
        """The predicate of a sentence about a scalar that YAML misreads or can't read; None for any other scalar."""
        kind = node.tag.rpartition(":")[2]
        if UNUSABLE_CHARACTERS.search(node.value):
            return "has a character that no name, number or sentence has: remove it"
        if kind in TAGS and node.tag != self.resolve(yaml.ScalarNode, node.value, (True, False)):
            return f"doesn't match its tag, !!{kind}: remove the tag"
        if kind == "timestamp":
            return f"is a date to YAML. Put it in quotes: '{node.value}'"
        if kind not in ("int", "float") or PLAIN_NUMBER.fullmatch(node.value):
            return None
        value = self.construct_object(node)
        reading = next(reading for part, reading in READINGS if part in node.value.lower())
        decimal = re.sub("^([-+]?)0+(?=.)", r"\1", node.value)
        correction = f"{decimal} or {value}" if reading is READINGS[-1][1] and decimal != str(value) else value
        return f"is {value} to YAML 1.1, which {reading}. Write {correction}, or put it in quotes if text is meant"


class Loader(StrictComposer, yaml.SafeLoader):
    """The loader in Python."""


if yaml.__with_libyaml__:

    class FastLoader(StrictComposer, yaml.CSafeLoader):
        """The loader whose parser is libyaml: five times faster, but its errors say less."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            StrictComposer.__init__(self)


def read(path: Path | str, kind: str = "configuration") -> dict[str, Any]:
    """The mapping in a file; `kind` names the kind of file in errors. Raises LadderError."""
    name = f"The {kind} {path}"
    value = parse(text_of(path, name), name)
    if not isinstance(value, dict):
        raise LadderError(f"{name} must be a mapping of keys to values.")
    return value


def text_of(path: Path | str, name: str) -> str:
    """The text of a file in UTF-8, with or without a byte order mark."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise LadderError(f"{name} has more than {MAX_BYTES} bytes. Is it the right file?")
        if b"\0" in content:
            raise LadderError(f"{name} can't be read: it has null bytes, as UTF-16 has. Save it in UTF-8.")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise LadderError(f"{name} can't be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise LadderError(
            f"{name} can't be read: its byte {error.start + 1}, 0x{content[error.start]:02x}, isn't valid UTF-8. "
            "Save it in UTF-8."
        ) from None


def parse(text: str, name: str) -> Any:
    """The value of a text; `name` names the text in errors. Raises LadderError."""
    try:
        value = load(text)
        if count_values(value, {}) > MAX_VALUES:
            raise LadderError(
                f"{name} has more than {MAX_VALUES} values after expanding aliases. Is it the right file?"
            )
        return value
    except yaml.reader.ReaderError as error:
        raise LadderError(
            f"{name} isn't YAML: its character {error.position + 1} is U+{error.character:04X}."
        ) from None
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", error)
        where = f" in line {mark.line + 1}" if mark else ""
        verb = "can be misread" if isinstance(error, MisreadError) else "isn't YAML"
        raise LadderError(f"{name} {verb}{where}: {problem}.") from None
    except RecursionError:
        raise LadderError(f"{name} contains itself or is nested too deeply: write it without aliases.") from None
    except ValueError as error:  # a number of 5,000 digits
        raise LadderError(f"{name} can't be read: {error}.") from None


def load(text: str) -> Any:
    """The value of a text, the caller's own: a run reads its configuration several times, and YAML is slow to parse."""
    return copy.deepcopy(shared_value(text))


@functools.lru_cache(maxsize=8)
def shared_value(text: str) -> Any:
    """The value of a text in JSON, such as the report's configuration, else in YAML, which would read 1e-05 as text."""
    try:
        return json.loads(text, object_pairs_hook=mapping)
    except json.JSONDecodeError:
        if yaml.__with_libyaml__:
            with contextlib.suppress(yaml.YAMLError, ValueError):
                return yaml.load(text, FastLoader)
        return yaml.load(text, Loader)


def mapping(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A dict of pairs. Raises YAMLError for a duplicate key."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise yaml.MarkedYAMLError(problem=f"duplicate key {duplicate}")
    return value


def count_values(value: Any, counts: dict[int, int]) -> int:
    """The number of values in a nested value, including itself. Raises RecursionError if it contains itself.

    `counts` caches the numbers by the identity of values.
    """
    if isinstance(value, dict | list) and id(value) not in counts:
        inner = value.values() if isinstance(value, dict) else value
        counts[id(value)] = 1 + sum(count_values(item, counts) for item in inner)
    return counts.get(id(value), 1)


def serve_snakemake() -> None:
    """Have Snakemake read all configuration files, including those of --configfile, with `read`.

    The profiles call this function; no other code of the project runs earlier. A refused file ends Snakemake with the
    message and no traceback.
    """
    from snakemake.common import configfile
    from snakemake.settings import types

    def read_or_exit(path: Path | str) -> Any:
        try:
            return read(path)
        except LadderError as error:
            # `--configfile` takes all words that follow it.
            is_target = Path(path).suffix not in (".yaml", ".yml", ".json")
            sys.exit(f"ladder: {error}{' If it is a target, put it before `--configfile`.' * is_target}")

    configfile.load_configfile = types.load_configfile = read_or_exit
