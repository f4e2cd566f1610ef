"""The configuration: YAML files laid over each other, defaults filled in, unknown keys refused."""

import copy
import datetime
import difflib
import json
import math
import re
from pathlib import Path

import yaml

from ladder.errors import LadderError
from ladder.machine import programs
from ladder.planning.yaml_files import parsed, read
from ladder.records import documents
from ladder.records.files import shortened

SCHEMA_FILE = Path(__file__).with_name("config.schema.json")
SHIPPED = Path("config/config.yaml")
PROJECT = Path(__file__).parents[3]
SITE_SCHEMA_FILE = Path(__file__).with_name("site.schema.json")
HINT = "See config/README.md for every key."
# Of a protocol's keys, those that mean at least and those that mean at most.
LIMITS = (("processes", "most_processes"), ("samples", "most"), ("least", "most"))
# Texts that are meant as numbers, as other languages write them: 1e5, 0,5, 1_000, 08, 1.5D+00.
NUMBER = re.compile(r"[-+]?[\d_.,]*\d[\d_.,]*([eEdD][-+]?\d+)?")
TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}


def shipped(project=PROJECT):
    """The configuration that is always read: that of the working directory, else the project's."""
    return SHIPPED if SHIPPED.exists() else project / SHIPPED


def load(paths, changes=None):
    """The configuration of YAML files, later ones over earlier ones, checked. Raises LadderError."""
    merged = {}
    for path in paths:
        merge(merged, read(path))
    return checked(merge(merged, changes or {}))


def merge(under, over):
    """`under` with the keys of `over` laid over it, mappings key by key; what Snakemake does with `--configfile`.

    Every mapping is made anew, so that two places with one alias of YAML are changed apart.
    """
    for key, value in over.items():
        if isinstance(value, dict):
            before = under.get(key)
            under[key] = merge(before if isinstance(before, dict) else {}, value)
        else:
            under[key] = copy.deepcopy(value)
    return under


def of_command_line(entries):
    """{key: value} of entries `key=value`, as a file would have them, for a key that takes only text as written.

    Snakemake itself takes "0815" for 815, and whatever is inside of braces or brackets for text. Raises LadderError.
    """
    rules = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))["properties"]
    found = {}
    for key, _, text in (entry.partition("=") for entry in entries or ()):
        found[key] = value_of(key, text, listed(rules.get(key, {}).get("type", [])))
    return found


def value_of(key, text, types):
    """The value of a text on the command line for a key of these types."""
    try:
        value = parsed(text, f"The value of {key} on the command line")
    except LadderError:
        if "string" not in types or "integer" in types:
            raise
        return text
    return text if "string" in types and type(value) not in [TYPES.get(name) for name in types] else value


def listed(value):
    """A list of one value, or the list that it is."""
    return value if isinstance(value, list) else [value]


def checked(config):
    """A copy with defaults filled in and dropped experiments left out. Raises LadderError naming a wrong key."""
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    config = copy.deepcopy(config)
    for key, rule in schema["properties"].items():
        # Snakemake's `--config measure=false` arrives as a word.
        if rule.get("type") == "boolean" and config.get(key) in ("true", "false"):
            config[key] = config[key] == "true"
    refuse_misspelt(config.get("experiments"))
    require_fit(config, schema, "The configuration", HINT)
    fill_defaults(config, schema)
    config["experiments"] = {name: one for name, one in config["experiments"].items() if one is not None}
    require_numbers(config["experiments"])
    require_consistent(config)
    require_folders(config["variant_folders"])
    return config


def require_folders(folders):
    """Raises LadderError for the name of a folder that can't be looked in."""
    for folder in folders:
        if {":", "\0"} & set(folder):
            raise LadderError(
                f"The folder {folder!r} of variant_folders can't be looked in: its name has a ':' or a null."
            )


def require_numbers(experiments):
    """Raises LadderError for a size or a tuning whose text is meant as a number."""
    for name, one in experiments.items():
        grids = {"sizes": one["sizes"], **{f"variants.{key}": grid for key, grid in one["variants"].items() if grid}}
        for place, grid in grids.items():
            for key, value in ((key, value) for mapping in listed(grid) for key, value in mapping.items()):
                for text in filter(meant, listed(value)):
                    where = f"experiments.{name}.{place}.{key}"
                    raise LadderError(f"The configuration is wrong at {where}: {number_advice(text)}{HINT}")


def meant(value):
    """The number that a text is meant as, as YAML writes it; None of anything else."""
    if not isinstance(value, str) or not NUMBER.fullmatch(value):
        return None
    try:
        number = float(re.sub("[dD]", "e", value).replace("_", "").replace(",", "."))
    except ValueError:  # 1.000.000
        return None
    if math.isinf(number):
        return None
    number = int(number) if number.is_integer() and abs(number) < 2**53 else number
    return yaml.safe_dump(number).split("\n")[0]


def require_consistent(config):
    """Raises LadderError for a protocol, that of an experiment too, which asks for more than it allows."""
    places = {f"experiments.{name}.protocol": one.get("protocol", {}) for name, one in config["experiments"].items()}
    for place, changes in {"protocol": {}, **places}.items():
        whole = config["protocol"] | changes
        for least, most in LIMITS:
            if whole[least] > whole[most]:
                raise LadderError(
                    f"The configuration is wrong at {place}: {least} is {whole[least]}, more than {most}, which is "
                    f"{whole[most]}. Raise {most} or lower {least}."
                )


def refuse_misspelt(experiments):
    """Raises LadderError for an experiment that isn't whole where the name of another one is nearly the same."""
    for name, reason in incomplete(experiments if isinstance(experiments, dict) else {}):
        others = [str(other) for other in experiments if other != name]
        for near in difflib.get_close_matches(str(name), others, n=1):
            raise LadderError(f"The configuration is wrong at experiments.{name}: {reason}. Is {near} meant? {HINT}")


def incomplete(experiments):
    """The experiments that can't be meant as they are named, and why: (name, reason)."""
    for name, one in experiments.items():
        if isinstance(one, dict) and "workload" not in one:
            yield name, "it has no workload"
    dropped = [name for name, one in experiments.items() if one is None]
    if dropped and shipped().exists():
        known = read(shipped())["experiments"]
        yield from ((name, "there is none to be dropped") for name in dropped if name not in known)


def checked_site(site, path):
    """A copy of a cluster's description from a file, with defaults filled in. Raises LadderError naming a wrong key."""
    schema = json.loads(SITE_SCHEMA_FILE.read_text(encoding="utf-8"))
    site = copy.deepcopy(site)
    require_fit(site, schema, f"The cluster's description {path}", "See docs/cluster.md for every key.")
    fill_defaults(site, schema)
    for kind, nodes in site["nodes"].items():
        fill_defaults(nodes, schema["$defs"]["kind"])
        for key, text in (("launcher", nodes["launcher"]), ("options", " ".join(nodes["options"]))):
            if text:
                programs.words(text, f"The cluster's description {path} is wrong: nodes.{kind}.{key}")
        if nodes["count"] > 1 and kind == "cpu":
            raise LadderError(
                f"The cluster's description {path} is wrong at nodes.cpu.count: only ranks of MPI, of nodes.mpi and "
                "nodes.gpu, work on several nodes at once."
            )
    return site


def require_fit(values, schema, what, hint):
    """Raises LadderError naming the place where values don't fit a schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    types = Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": is_whole, "number": documents.is_number})
    errors = extend(Draft202012Validator, type_checker=types)(schema).iter_errors(values)
    for error in sorted(errors, key=lambda error: len(error.absolute_path)):
        place = ".".join(map(str, error.absolute_path)) or "the top level"
        raise LadderError(f"{what} is wrong at {place}: {shortened(error.message)}. {advice(error)}{hint}")


def is_whole(_, value):
    """Whether a value is a whole number. JSON's 3.0 is one too; nobody can start 3.0 processes."""
    return type(value) is int


def advice(error):
    """What to do about a value of which YAML has made another type than was meant, as a sentence and a blank."""
    if error.validator != "type":
        return ""
    value = error.instance
    if isinstance(value, bool | datetime.date):
        return "YAML reads words like on, no and 2026-11-27 as something else: put them in quotes. "
    if value is None:
        return "To YAML no value, ~ and null are the same: give a value, or put the word in quotes. "
    if isinstance(value, int | float):
        takes_text = "string" in listed(error.validator_value)
        return "To YAML it is a number: put it in quotes where text is meant. " * takes_text
    return number_advice(value) if meant(value) else ""


def number_advice(text):
    """The same about a text that is meant as a number."""
    return f"{text!r} is text to YAML: as a number write {meant(text)}. "


def fill_defaults(config, schema):
    """Write the schema's defaults into a mapping, in place, nested mappings included."""
    for key, rule in schema.get("properties", {}).items():
        if "default" in rule:
            config.setdefault(key, copy.deepcopy(rule["default"]))
        if isinstance(config.get(key), dict):
            fill_defaults(config[key], rule)


def protocol(changes):
    """A full measuring protocol: the defaults with some keys changed. Raises LadderError for an unknown key."""
    return checked({"protocol": changes, "experiments": {}})["protocol"]
