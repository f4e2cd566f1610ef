"""The configuration: YAML files laid over each other, defaults filled in, unknown keys refused."""

import copy
import datetime
import difflib
import json
from pathlib import Path

import yaml

from ladder.errors import LadderError
from ladder.machine import programs
from ladder.records import documents

SCHEMA_FILE = Path(__file__).with_name("config.schema.json")
SHIPPED = Path("config/config.yaml")
SITE_SCHEMA_FILE = Path(__file__).with_name("site.schema.json")
HINT = "See config/README.md for every key."
# Of a protocol's keys, those that mean at least and those that mean at most.
LIMITS = (("processes", "most_processes"), ("samples", "most"), ("least", "most"))


class Loader(yaml.SafeLoader):
    """YAML in which a key that is there twice is a mistake: of its two values the first would be lost."""

    def compose_mapping_node(self, anchor):
        node, seen = super().compose_mapping_node(anchor), set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value} is there twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return node


def load(paths, changes=None):
    """The configuration of YAML files, later ones over earlier ones, checked. Raises LadderError."""
    merged = {}
    for path in paths:
        merge(merged, read(path))
    return checked(merge(merged, changes or {}))


def read(path):
    """The mapping in a YAML file."""
    try:
        found = yaml.load(Path(path).read_text(encoding="utf-8"), Loader)
        json.dumps(found, default=str, skipkeys=True)  # refuses a mapping that contains itself
    except OSError as error:
        raise LadderError(f"The configuration {path} can't be read: {error.strerror}.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise LadderError(f"The configuration {path} isn't YAML{where}: {getattr(error, 'problem', error)}.") from None
    except RecursionError:
        raise LadderError(f"The configuration {path} contains itself, or is nested too deeply: write it out.") from None
    except ValueError as error:  # bytes that are no text; a date that is none, such as 1000-20-10
        raise LadderError(f"The configuration {path} can't be read: {error}.") from None
    if not isinstance(found, dict):
        raise LadderError(f"The configuration {path} must be a mapping of keys to values.")
    return found


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
    if dropped and SHIPPED.exists():
        known = read(SHIPPED)["experiments"]
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
        raise LadderError(f"{what} is wrong at {place}: {error.message}. {advice(error.instance)}{hint}")


def is_whole(_, value):
    """Whether a value is a whole number. JSON's 3.0 is one too; nobody can start 3.0 processes."""
    return type(value) is int


def advice(value):
    """What to do about a wrong value that YAML has made of a word, as a sentence and a blank; else nothing."""
    is_word = isinstance(value, bool | datetime.date)
    return "YAML reads words like on, no and 2026-11-27 as something else: put them in quotes. " * is_word


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
