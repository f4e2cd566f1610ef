"""What verbs share: types of arguments for argparse, files to read, and JSON to write."""

import argparse
import json
import math
from pathlib import Path

from ladder.errors import LadderError, did_you_mean
from ladder.records import documents
from ladder.records.files import write_atomically

INTERRUPTED = 130  # the exit status after Ctrl-C, as shells have it


def at_least_one(text):
    """A count of at least one, for argparse."""
    return whole_number(text, 1)


def at_least_two(text):
    """A count of at least two, for argparse."""
    return whole_number(text, 2)


def at_least_zero(text):
    """A count of at least zero, for argparse."""
    return whole_number(text, 0)


def whole_number(text, minimum):
    """An integer of at least `minimum`."""
    if not text.isdecimal() or int(text) < minimum:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least {minimum}")
    return int(text)


def number_at_least(minimum):
    """The argparse type of numbers of at least `minimum`."""
    return lambda text: number(text, lambda value: value >= minimum, f"of at least {minimum}")


def number_above(limit):
    """The argparse type of numbers above `limit`."""
    return lambda text: number(text, lambda value: value > limit, f"above {limit}")


def number(text, is_valid, condition):
    """A finite number for which `is_valid` is true; `condition` is that in words, for the error message."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or not is_valid(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number {condition}")
    return value


def parse_object(text, option):
    """The object that a JSON argument holds. Raises LadderError."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LadderError(f"{option} isn't JSON: {error}.") from None
    if not isinstance(value, dict):
        raise LadderError(f"{option} must be a JSON object of keys and values, not {text!r}.")
    return value


def add_configuration_option(parser, help):
    """Add the option for files of a configuration: several after one option, as in Snakemake, or one after each."""
    parser.add_argument("--configfile", nargs="+", action="extend", default=[], metavar="FILE", help=help)


def read_configuration(paths):
    """The shipped configuration, overridden by these files. Its `variant_folders` are searched from then on.

    LADDER_VARIANTS adds folders to them. Raises LadderError if there is none, as where only the package is installed.
    """
    from ladder.catalogue import locations  # here, because most verbs don't need it
    from ladder.planning import configuration

    files = [*filter(Path.exists, [configuration.default_file()]), *paths]
    if not files:
        raise LadderError(
            f"There is no {configuration.DEFAULT_FILE} here: work in a clone of the repository, or name another "
            "configuration by --configfile."
        )
    config = configuration.load(files)
    locations.set_variant_folders([*config["variant_folders"], *locations.roots()[1:]])
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
    """The folders of the cases' data sets, {name: path below `folder`}. Raises LadderError for an incomplete case."""
    from ladder.catalogue import datasets, soundness, trial  # here, because most verbs don't need them

    for case in cases:
        soundness.require_sound(case)
        trial.require_valid(case.workload, case.sizes)
    names = {datasets.name_of(case.workload, case.sizes) for case in cases} - {None}
    return {name: f"{folder}/{name}" for name in names}


def reference_path(folder, case):
    """The path of a case's reference below a folder, None where the worker computes it."""
    from ladder.catalogue import traits  # here, because most verbs don't need it

    if (slug := traits.reference_slug(case)) is None:
        return None
    return f"{folder}/{case.workload}/{slug}.npz"


def add_json_option(parser):
    """Add the option with which a verb prints its results as JSON."""
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="write JSON to a file or, without one, to standard output"
    )


def print_json(options, document):
    """Write a verb's results as JSON to the file of --json or to standard output.

    Every document has the verb's name as `verb` and a list `results`; what isn't known or finite is null.
    """
    text = json.dumps({"verb": options.verb} | replace_nonfinite(document), indent=1, allow_nan=False) + "\n"
    if options.json == "-":
        print(text, end="")
    else:
        write_atomically(options.json, text)


def replace_nonfinite(value):
    """A value for JSON, with None in place of numbers that aren't finite."""
    if isinstance(value, dict):
        return {name: replace_nonfinite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [replace_nonfinite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def parse_filters(pairs, names, workload):
    """{name: value as text} of arguments KEY=VALUE; `names` are those that the workload's results have.

    Raises LadderError for anything else.
    """
    filters = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (equals and name and value):
            raise LadderError(f"{pair!r} is not of the form KEY=VALUE: write, for example, {names[0]}=1024.")
        if name not in names:
            hint = did_you_mean(name, names)
            raise LadderError(f"{workload} has no results with {name!r}.{hint} It has {', '.join(names)}.")
        filters[name] = value
    return filters


def add_study_arguments(parser):
    """Add the arguments of the verbs that write about the whole study."""
    parser.add_argument("folders", nargs="*", help="folders of the experiments' tables")
    parser.add_argument("--machine", required=True, help="the machine that the text is about, if it has measurements")
    parser.add_argument("--description", action="append", default=[], help="a machine's description (JSON); repeatable")
    parser.add_argument("--roofs", help="the ceilings of every machine, as the verb `roofs` writes them (JSON)")
    parser.add_argument("--out", required=True)


def add_measuring_arguments(parser):
    """Add the arguments of the verbs that measure cases."""
    parser.add_argument("--protocol", default="{}", help="JSON of the protocol's keys that differ from the defaults")
    parser.add_argument("--data", default="results/data", help="folder of the data sets")
    parser.add_argument("--granted", type=int, help="cores that the scheduler has granted")
    parser.add_argument("--launcher", help="the command that starts MPI ranks, for example mpiexec")
    parser.add_argument(
        "--prelude", action="store_true", help="keep the variables of runtimes that a cluster's prelude has set"
    )
