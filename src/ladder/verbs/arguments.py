"""What the verbs share: arguments that are checked, files that are read, and JSON that is written."""

import argparse
import json
import math

from ladder.errors import LadderError
from ladder.records import documents
from ladder.records.files import write_atomically


def at_least_one(text):
    """A count, for argparse."""
    return whole_number(text, 1)


def at_least_two(text):
    """A count of what comes in twos, for argparse."""
    return whole_number(text, 2)


def at_least_zero(text):
    """A count that may be none, for argparse."""
    return whole_number(text, 0)


def whole_number(text, least):
    """A whole number of at least `least`."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least {least}")
    return int(text)


def no_less_than(least):
    """Numbers of at least `least`, for argparse."""
    return lambda text: number(text, lambda value: value >= least, f"of at least {least}")


def above(limit):
    """Numbers above `limit`, for argparse."""
    return lambda text: number(text, lambda value: value > limit, f"above {limit}")


def number(text, fits, which):
    """A number that fits; NaN and infinity never do."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found) or not fits(found):
        raise argparse.ArgumentTypeError(f"{text!r} is no number {which}")
    return found


def parse_object(text, option):
    """The object that a JSON argument holds. Raises LadderError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LadderError(f"{option} isn't JSON: {error}.") from None
    if not isinstance(found, dict):
        raise LadderError(f"{option} must be a JSON object of keys and values, not {text!r}.")
    return found


def read_configuration(paths):
    """The shipped configuration with these files over it. Variants are looked for where LADDER_VARIANTS says too."""
    from ladder.catalogue import workloads  # here, because most verbs have no use for them
    from ladder.planning import configuration

    config = configuration.load([configuration.shipped(), *paths])
    workloads.search_folders([*config["variant_folders"], *workloads.roots()[1:]])
    return config


def read_plan(path):
    """A plan as the rule `plan` writes it."""
    return documents.read(path, "plan")


def read_ceilings(path):
    """Ceilings as the verb `ceilings` writes them."""
    return documents.read(path, "ceilings")


def write_json(path, document):
    """Write a document as JSON with its digest, whole or not at all."""
    write_atomically(path, json.dumps(document | {"digest": documents.digest(document)}, indent=1) + "\n")


def data_paths(folder, *cases):
    """Where the data of cases lie below a folder: {name: path}. Raises LadderError for a case that is incomplete."""
    from ladder.catalogue import datasets, workloads  # here, because most verbs have no use for them

    for case in cases:
        workloads.require_sound(case)
    names = {datasets.name_of(case.workload, case.sizes) for case in cases} - {None}
    return {name: f"{folder}/{name}" for name in names}


def add_study(parser):
    """The arguments of the verbs that write about the whole study."""
    parser.add_argument("folders", nargs="*", help="folders of the experiments' tables")
    parser.add_argument("--machine", required=True, help="the machine to speak of, if it has measured")
    parser.add_argument("--description", action="append", default=[], help="what a machine is (JSON)")
    parser.add_argument("--roofs", help="the ceilings of every machine, as the verb `roofs` writes them (JSON)")
    parser.add_argument("--out", required=True)
