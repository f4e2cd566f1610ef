"""YAML files that users write, read by one loader for the verbs and for Snakemake, whose own ends in a traceback.

The loader is stricter than YAML 1.1, which it reads: what would silently become another value than the one written, a
key that is there twice or `0100`, which is 64, is refused with both readings.
"""

import json
import re
import sys
from pathlib import Path

import yaml

from ladder.errors import LadderError

# Far above any configuration: bytes of a file, and values in it with every alias written out.
MOST_BYTES = 2**20
MOST_VALUES = 100_000
DEEPEST = 100  # brackets in brackets: the loader takes minutes for thousands
# Numbers that mean in every language what YAML reads.
PLAIN = re.compile(
    r"[-+]?(0|[1-9][0-9]*)|[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?|[-+]?\.(inf|nan)", re.IGNORECASE
)
# Of the others what YAML 1.1 takes them for, by a part of their text.
READINGS = (
    (":", "takes numbers with a ':' between them for base 60"),
    ("_", "leaves out each '_'"),
    ("0b", "takes 0b for binary"),
    ("0x", "takes 0x for hexadecimal"),
    ("", "takes a leading 0 for octal"),
)


TAGS = ("int", "float", "bool", "null", "timestamp")
# A null, and halves of characters.
UNUSABLE = re.compile("[\0\ud800-\udfff]")


class Misread(yaml.MarkedYAMLError):
    """A text that YAML reads as something else than it says."""


class Loader(yaml.SafeLoader):
    """YAML 1.1 without its surprises."""

    def compose_mapping_node(self, anchor):
        """A mapping in which no key is there twice: of the two values the first would be lost."""
        node, seen = super().compose_mapping_node(anchor), set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value} is there twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return node

    def compose_node(self, parent, index):
        """A node; `index` is the node of its key, or its place in a list."""
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode) and (wrong := self.misreading(node)):
            key = f"{index.value}: " if isinstance(index, yaml.ScalarNode) else ""
            text = node.value.encode("utf-8", "backslashreplace").decode()
            raise Misread(problem=f"{key}{text} {wrong}", problem_mark=node.start_mark)
        return node

    def fetch_flow_collection_start(self, token):
        """The beginning of a list or a mapping in brackets."""
        if self.flow_level >= DEEPEST:
            raise RecursionError
        super().fetch_flow_collection_start(token)

    def misreading(self, node):
        """What is wrong with a scalar that YAML reads otherwise than written, or can't read; None of any other."""
        kind = node.tag.rpartition(":")[2]
        if UNUSABLE.search(node.value):
            return "has a character that no name, number or sentence has: leave it out"
        if kind in TAGS and node.tag != self.resolve(yaml.ScalarNode, node.value, (True, False)):
            return f"isn't written as what its tag, !!{kind}, says: leave the tag out"
        if kind == "timestamp":
            return f"is a date to YAML. Put it in quotes: '{node.value}'"
        if kind not in ("int", "float") or PLAIN.fullmatch(node.value):
            return None
        value = self.construct_object(node)
        how = next(how for part, how in READINGS if part in node.value.lower())
        decimal = re.sub("^([-+]?)0+(?=.)", r"\1", node.value)
        written = f"{decimal} or {value}" if how is READINGS[-1][1] and decimal != str(value) else value
        return f"is {value} to YAML 1.1, which {how}. Write {written}, or put it in quotes where text is meant"


def read(path, what="configuration"):
    """The mapping in a file. Raises LadderError."""
    name = f"The {what} {path}"
    found = parsed(text_of(path, name), name)
    if not isinstance(found, dict):
        raise LadderError(f"{name} must be a mapping of keys to values.")
    return found


def text_of(path, name):
    """The text of a file in UTF-8, with or without a byte order mark."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise LadderError(f"{name} has more than {MOST_BYTES} bytes. Is it another file?")
        if b"\0" in raw:
            raise LadderError(f"{name} can't be read: it has null bytes, as UTF-16 has. Save it in UTF-8.")
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise LadderError(f"{name} can't be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise LadderError(
            f"{name} can't be read: its byte {error.start + 1}, 0x{raw[error.start]:02x}, isn't one of text in UTF-8. "
            "Save it in that encoding."
        ) from None


def parsed(text, name):
    """The value of a text. Raises LadderError, in which `name` says what the text is."""
    try:
        found = loaded(text)
        if values_in(found, {}) > MOST_VALUES:
            raise LadderError(
                f"{name} has more than {MOST_VALUES} values, its aliases written out. Is it another file?"
            )
        return found
    except yaml.reader.ReaderError as error:
        raise LadderError(
            f"{name} isn't YAML: its character {error.position + 1} is U+{error.character:04X}."
        ) from None
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", error)
        where = f" in line {mark.line + 1}" if mark else ""
        verb = "can be misread" if isinstance(error, Misread) else "isn't YAML"
        raise LadderError(f"{name} {verb}{where}: {problem}.") from None
    except RecursionError:
        raise LadderError(f"{name} contains itself, or is nested too deeply: write it out.") from None
    except ValueError as error:  # a number of 5,000 digits
        raise LadderError(f"{name} can't be read: {error}.") from None


def loaded(text):
    """The value of a text in JSON, as the report's configuration is, or in YAML, which reads 1e-05 as text."""
    try:
        return json.loads(text, object_pairs_hook=mapping)
    except json.JSONDecodeError:
        return yaml.load(text, Loader)


def mapping(pairs):
    """A dict of pairs. Raises YAMLError for a key that is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise yaml.MarkedYAMLError(problem=f"the key {twice} is there twice")
    return found


def values_in(value, known):
    """How many values there are in one, itself included. RecursionError for one that contains itself."""
    if isinstance(value, dict | list) and id(value) not in known:
        inner = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(values_in(one, known) for one in inner)
    return known.get(id(value), 1)


def serve_snakemake():
    """Have Snakemake read configuration files with `read`: those of --configfile before it reads the Snakefile.

    Its profiles call it, the first code of the project's that runs. A file that is refused ends Snakemake by the
    sentence alone.
    """
    from snakemake.common import configfile
    from snakemake.settings import types

    def load(path):
        try:
            return read(path)
        except LadderError as error:
            sys.exit(f"ladder: {error}")

    configfile.load_configfile = types.load_configfile = load
