"""The configuration: YAML files that override each other, defaults filled in, unknown keys refused."""

import copy
import datetime
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ladder.errors import LadderError, did_you_mean
from ladder.planning.yaml_files import parse, read
from ladder.records import documents
from ladder.records.files import abbreviate

SCHEMA_FILE = Path(__file__).with_name("config.schema.json")
DEFAULT_FILE = Path("config/config.yaml")
PROJECT = Path(__file__).parents[3]
HINT = "See config/README.md for every key."
# Pairs of keys of a protocol: a minimum and the maximum that it must not exceed.
MIN_MAX_KEYS = (("processes", "most_processes"), ("samples", "most"), ("least", "most"))
# Texts that are numbers to people or other languages, but not to YAML: 1e5, 0,5, 08, 1.5D+00.
NUMBER = re.compile(r"[-+]?[\d_.,]*\d[\d_.,]*([eEdD][-+]?\d+)?")
# Python's types by their names in JSON Schema.
TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}


def default_file(project: Path = PROJECT) -> Path:
    """The path of the configuration file that is always read: in the working directory, else in the project."""
    return DEFAULT_FILE if DEFAULT_FILE.exists() else project / DEFAULT_FILE


def load(paths: Sequence[Path | str], changes: Mapping[str, dict[str, int]] | None = None) -> dict[str, Any]:
    """The validated configuration of YAML files, later ones overriding earlier ones. Raises LadderError."""
    merged: dict[str, Any] = {}
    for path in paths:
        merge(merged, read(path))
    return validate(merge(merged, changes or {}))


def merge(base: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Override keys of `base`, nested mappings key by key, as Snakemake does with `--configfile`; returns `base`.

    Every mapping is copied, so keys that share a YAML alias can be changed independently.
    """
    for key, value in overrides.items():
        if isinstance(value, dict):
            before = base.get(key)
            base[key] = merge(before if isinstance(before, dict) else {}, value)
        else:
            base[key] = copy.deepcopy(value)
    return base


def of_command_line(entries: Sequence[str]) -> dict[str, Any]:
    """{key: value} of entries `key=value`. Values are parsed as in a file, except if their key takes only text.

    Snakemake itself would read "0815" as 815, and everything inside braces or brackets as text. Raises LadderError.
    """
    key_schemas = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))["properties"]
    pairs = (entry.partition("=")[::2] for entry in entries or ())
    return {key: value_of(key, text, as_list(key_schemas.get(key, {}).get("type", []))) for key, text in pairs}


def value_of(key: str, text: str, types: Sequence[str]) -> Any:
    """The value of a text on the command line, for a key of these types."""
    try:
        value = parse(text, f"The value of {key} on the command line")
    except LadderError:
        if "string" not in types or "integer" in types:
            raise
        return text
    return text if "string" in types and type(value) not in [TYPES.get(name) for name in types] else value


def as_list(value: Any) -> list[Any]:
    """A list of one value, or the list that it is."""
    return value if isinstance(value, list) else [value]


def validate(config: dict[str, Any]) -> dict[str, Any]:
    """A validated copy with defaults filled in and without the experiments that it drops.

    Raises LadderError naming a wrong key.
    """
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    config = copy.deepcopy(config)
    for key, key_schema in schema["properties"].items():
        # Snakemake passes `--config measure=false` as text.
        if key_schema.get("type") == "boolean" and config.get(key) in ("true", "false"):
            config[key] = config[key] == "true"
    refuse_misspelt(config.get("experiments"))
    require_fit(config, schema, "The configuration", HINT)
    fill_defaults(config, schema)
    config["experiments"] = {name: value for name, value in config["experiments"].items() if value is not None}
    config["experiments"] = select_experiments(config["experiments"], config["only"])
    require_numbers(config["experiments"])
    require_consistent(config)
    require_folders(config["variant_folders"])
    return config


def for_claims(config: Mapping[str, Any]) -> dict[str, Any]:
    """The validated configuration for the claims: the study's, overridden by the files that its key `claims` lists.

    Of the experiments, it has only those in these files.
    """
    merged = merge({}, config) | {"experiments": {}, "only": []}
    for path in map(Path, config["claims"]):
        merge(merged, read(path if path.exists() else PROJECT / path))
    return validate(merged)


def select_experiments(experiments: Mapping[str, dict[str, Any]], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The experiments of these names and the ceilings, with which their samples are compared; all if `names` is empty.

    Raises LadderError for an unknown name.
    """
    for name in names:
        if name not in experiments:
            nearest = did_you_mean(name, experiments)
            raise LadderError(f"The configuration is wrong at only: it has no experiment {name!r}.{nearest} {HINT}")
    return {name: value for name, value in experiments.items() if not names or name in names or is_ceiling(name)}


def is_ceiling(experiment: str) -> bool:
    """Whether an experiment measures a ceiling of the machine."""
    return experiment.startswith("ceiling")


def require_folders(folders: Sequence[str]) -> None:
    """Raises LadderError for a folder whose name can't be part of a search path."""
    for folder in folders:
        if {":", "\0"} & set(folder):
            raise LadderError(f"The folder {folder!r} of variant_folders can't be used: its name has a ':' or a null.")


def require_numbers(experiments: Mapping[str, dict[str, Any]]) -> None:
    """Raises LadderError for a size or a tuning that is text but looks like a number."""
    for name, experiment in experiments.items():
        grids = {f"variants.{variant}": grid for variant, grid in experiment["variants"].items() if grid}
        for part, grid in {"sizes": experiment["sizes"], **grids}.items():
            for key, value in ((key, value) for mapping in as_list(grid) for key, value in mapping.items()):
                for text in filter(number_in_yaml, as_list(value)):
                    key_path = f"experiments.{name}.{part}.{key}"
                    raise LadderError(f"The configuration is wrong at {key_path}: {number_advice(text)}{HINT}")


def number_in_yaml(value: Any) -> str | None:
    """YAML's notation of the number that a text looks like; None for anything else."""
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


def require_consistent(config: Mapping[str, Any]) -> None:
    """Raises LadderError for a protocol, including that of an experiment, with a minimum above its maximum."""
    experiments = config["experiments"].items()
    changes = {f"experiments.{name}.protocol": experiment.get("protocol", {}) for name, experiment in experiments}
    for key_path, changes_of_protocol in {"protocol": {}, **changes}.items():
        values = config["protocol"] | changes_of_protocol
        for min_key, max_key in MIN_MAX_KEYS:
            if values[min_key] > values[max_key]:
                raise LadderError(
                    f"The configuration is wrong at {key_path}: {min_key} is {values[min_key]}, more than {max_key}, "
                    f"which is {values[max_key]}. Raise {max_key} or lower {min_key}."
                )


def refuse_misspelt(experiments: Any) -> None:
    """Raises LadderError for an incomplete experiment whose name resembles that of another one."""
    for name, reason in incomplete_experiments(experiments if isinstance(experiments, dict) else {}):
        others = [other for other in experiments if other != name]
        if suggestion := did_you_mean(name, others):
            raise LadderError(f"The configuration is wrong at experiments.{name}: {reason}.{suggestion} {HINT}")


def incomplete_experiments(experiments: Mapping[Any, Any]) -> Iterator[tuple[Any, str]]:
    """Yield (name, reason) of experiments that are incomplete, or are dropped although they don't exist."""
    for name, experiment in experiments.items():
        if isinstance(experiment, dict) and "workload" not in experiment:
            yield name, "it has no workload"
    dropped = [name for name, experiment in experiments.items() if experiment is None]
    if dropped and default_file().exists():
        shipped_names = read(default_file())["experiments"]
        yield from ((name, "there is no such experiment to drop") for name in dropped if name not in shipped_names)


def require_variants_to_drop(files: Mapping[Path | str, Any]) -> None:
    """Refuse a variant without a value, which drops it, if none of the files, {path: content}, has it with tunings."""
    entries = [(path, *item) for path, content in files.items() for item in variants_in(content)]
    with_tunings = {(name, variant) for _, name, variant, tunings in entries if tunings is not None}
    for path, name, variant, tunings in entries:
        if tunings is None and (name, variant) not in with_tunings:
            raise LadderError(
                f"{path} is wrong at experiments.{name}.variants.{variant}: without a value it would drop the variant, "
                f"which no file has. For a variant with default tunings write `{variant}: {{}}`. {HINT}"
            )


def variants_in(content: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield (experiment, variant, tunings) of a file's content, as far as it has the right form."""
    experiments = content.get("experiments") if isinstance(content, dict) else None
    for name, experiment in experiments.items() if isinstance(experiments, dict) else ():
        variants = experiment.get("variants") if isinstance(experiment, dict) else None
        yield from (
            (name, variant, tunings) for variant, tunings in (variants.items() if isinstance(variants, dict) else ())
        )


def require_fit(values: Mapping[str, Any], schema: Mapping[str, Any], subject: str, hint: str) -> None:
    """Raises LadderError naming the key whose value doesn't fit a schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    types = Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": is_int, "number": documents.is_number})
    errors = extend(Draft202012Validator, type_checker=types)(schema).iter_errors(values)
    for error in sorted(errors, key=lambda error: len(error.absolute_path)):
        key_path = ".".join(map(str, error.absolute_path)) or "the top level"
        raise LadderError(f"{subject} is wrong at {key_path}: {abbreviate(error.message)}. {advice(error)}{hint}")


def is_int(_: Any, value: float) -> bool:
    """Whether a value is an int. JSON Schema also accepts 3.0 as an integer."""
    return type(value) is int


def advice(error: Any) -> str:
    """A hint, with a trailing blank, for an unknown key or a value that YAML has read as another type; else empty."""
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        unknown = next((key for key in error.instance if key not in known), "")
        return f"{did_you_mean(unknown, known)} ".lstrip()
    if error.validator != "type":
        return ""
    value = error.instance
    if isinstance(value, bool | datetime.date):
        return "YAML doesn't read words like on, no and 2026-11-27 as text: put them in quotes. "
    if value is None:
        return "To YAML no value, ~ and null are the same: give a value, or put the word in quotes. "
    if isinstance(value, int | float):
        takes_text = "string" in as_list(error.validator_value)
        return "To YAML it is a number: put it in quotes if text is meant. " * takes_text
    return number_advice(value) if number_in_yaml(value) else ""


def number_advice(text: str) -> str:
    """The hint for a text that looks like a number."""
    return f"{text!r} is text to YAML: as a number write {number_in_yaml(text)}. "


def fill_defaults(config: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """Write the schema's defaults into a mapping and its nested mappings, in place."""
    for key, key_schema in schema.get("properties", {}).items():
        if "default" in key_schema:
            config.setdefault(key, copy.deepcopy(key_schema["default"]))
        if isinstance(config.get(key), dict):
            fill_defaults(config[key], key_schema)


def protocol(changes: Sequence[Any] | Mapping[str, float] | None) -> dict[str, float]:
    """The complete protocol of a measurement: the defaults with changes. Raises LadderError for an unknown key."""
    return validate({"protocol": changes, "experiments": {}})["protocol"]
