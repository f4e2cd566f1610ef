"""The verbs of the command line: `python -m ladder VERB`. Each is what one rule of the workflow runs."""

import argparse
import json
import sys
from pathlib import Path

from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.machine import description
from ladder.planning import configuration, places, plan
from ladder.records.case import Case
from ladder.records.files import read_json


def main(arguments=None):
    """Run one verb; a LadderError becomes a sentence on standard error and the exit status 1."""
    options = parser().parse_args(arguments)
    try:
        options.run(options)
    except LadderError as error:
        print(f"ladder {options.verb}: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        print(f"ladder {options.verb}: {error.filename or 'A file'} can't be used: {error.strerror}.", file=sys.stderr)
        sys.exit(1)


def parser():
    """All verbs with their arguments."""
    top = argparse.ArgumentParser(prog="ladder", description="Measure numerical kernels and write about them.")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name, run, help):
        found = verbs.add_parser(name, help=help, description=help)
        found.set_defaults(run=run)
        return found

    one = verb("list", run_list, "print the cases of a configuration: what would run, what is left out and why")
    one.add_argument("--configfile", action="append", default=[], help="laid over config/config.yaml; may be repeated")
    one.add_argument("--cores", type=at_least_one, help="plan for so many cores instead of this machine's")
    one.add_argument("--gpus", type=int, help="plan for so many GPUs instead of this machine's")

    one = verb("status", run_status, "tell what of the last run is done, running, failed or left out, and why")
    one.add_argument(
        "--configfile", action="append", default=[], help="tell of this configuration on this machine; as for `list`"
    )

    one = verb("plan", run_plan, "write the plan of an experiment (JSON)")
    one.add_argument("config", help="a configuration of that experiment alone, as JSON")
    one.add_argument("places", help="where cases run, by their kind, as JSON")
    one.add_argument("--out", required=True)

    one = verb("data", run_data, "write a data set as four IDX files")
    one.add_argument("name", choices=["digits", "mnist"])
    one.add_argument("--out", required=True)
    one.add_argument("--mirror", action="append", default=[], help="URL or folder, tried in the order given")

    one = verb("reference", run_reference, "compute the reference of a training")
    one.add_argument("workload")
    one.add_argument("sizes", help="the sizes as in a case, without dtype and tuning")
    one.add_argument("--data", required=True, help="folder of the data set")
    one.add_argument("--out", required=True)

    one = verb("build", run_build, "compile the CUDA source of a variant to a binary, with a report beside it")
    one.add_argument("architecture", help="as in sm_90")
    one.add_argument("workload")
    one.add_argument("variant")
    one.add_argument("constants", help="as in dtype=float64,block=16")

    one = verb("precompile", run_precompile, "have Numba compile what a case needs, whatever its counts")
    one.add_argument("workload")
    one.add_argument("variant")
    one.add_argument("case")
    one.add_argument("--out", required=True, help="file for a copy of the note that it is done (JSON)")

    one = verb("measure", run_measure, "measure one case and write its record")
    one.add_argument("workload")
    one.add_argument("variant")
    one.add_argument("case")
    one.add_argument("--out", required=True)
    one.add_argument("--machine", default="auto")
    one.add_argument("--protocol", default="{}", help="JSON of the protocol's keys that differ from the defaults")
    one.add_argument("--data", default="results/data", help="folder of the data sets")
    one.add_argument("--reference")
    one.add_argument("--ceilings", help="the machine's measured ceilings (JSON)")
    one.add_argument("--granted", type=int, help="cores that the scheduler has granted")
    one.add_argument("--launcher", help="the command that starts ranks of MPI, for example mpiexec")

    one = verb("ceilings", run_ceilings, "write the machine's ceilings from their records (JSON)")
    one.add_argument("records", nargs="+")
    one.add_argument("--margin", type=float, required=True, help="by how much a sample may beat a ceiling")
    one.add_argument("--out", required=True)

    one = verb("collect", run_collect, "write an experiment's tables from records and published measurements")
    one.add_argument("plan", help="the experiment's plan (JSON)")
    one.add_argument("--published", action="append", default=[], help="folder of published measurements")
    one.add_argument("--out", required=True, help="folder of the tables")

    one = verb("table", run_table, "join the samples of all experiments into one tidy table")
    one.add_argument("folders", nargs="+")
    one.add_argument("--out", required=True)

    one = verb("figure", run_figure, "draw a figure as PDF, SVG and PNG")
    one.add_argument("name")
    one.add_argument("--tables", action="append", default=[], help="folder of an experiment's tables; may be repeated")
    one.add_argument("--ceilings", action="append", default=[], metavar="MACHINE=FILE", help="may be repeated")
    one.add_argument("--data", help="folder of the data set")
    one.add_argument("--out", required=True, help="path of the files without their suffix")

    one = verb("compare", run_compare, "measure two cases side by side: is A faster or slower, or can't we tell?")
    one.add_argument("a", help="workload/variant/case")
    one.add_argument("b", help="workload/variant/case")
    one.add_argument("--samples", type=at_least_one, default=10, help="samples per process (default: 10)")
    one.add_argument("--detect", type=float, default=0.05, help="measure until such changes would show (default: 0.05)")
    one.add_argument("--most-pairs", type=at_least_one, default=30, help="pairs of processes at most (default: 30)")
    one.add_argument("--cap", type=float, default=600, help="seconds at most (default: 600)")
    one.add_argument("--paired", action="store_true", help="compare pair by pair, for a machine that drifts")
    one.add_argument("--data", default="results/data", help="folder of the data sets")
    one.add_argument("--reference", help="the reference of both trainings")
    one.add_argument("--json", help="file for the verdict and all samples")

    one = verb("publish", run_publish, "write this machine's measurements where they can be committed")
    one.add_argument("--machine", required=True, help="the label of the machine")
    one.add_argument("plans", nargs="+", help="the experiments' plans (JSON)")
    one.add_argument("--keep", action="store_true", help="keep what is published of cases without a record")
    one.add_argument("--out", required=True)

    for name, run, help in (
        ("numbers", run_numbers, "write the numbers of the paper's sentences (LaTeX)"),
        ("tables", run_tables, "write the paper's tables (LaTeX)"),
    ):
        one = verb(name, run, help)
        one.add_argument("folders", nargs="*", help="folders of the experiments' tables")
        one.add_argument("--machine", required=True, help="the machine to speak of, if it has measured")
        one.add_argument("--description", action="append", default=[], help="what a machine is (JSON)")
        one.add_argument("--out", required=True)
        if name == "numbers":
            one.add_argument("--protocol", default="{}", help="JSON of the keys that differ from the defaults")
            one.add_argument("--margin", type=float, required=True, help="by how much a sample may beat a ceiling")
        else:
            one.add_argument("--html", required=True, help="file for the table of validation as a page")
            one.add_argument("--kernel", action="append", default=[], help="a built kernel's report (JSON)")

    one = verb("paper", run_paper, "typeset the paper")
    one.add_argument("source", help="the LaTeX file to begin with")
    one.add_argument("inputs", nargs="*", help="generated files: numbers, tables, figures")
    one.add_argument("--out", required=True)

    one = verb("describe", run_describe, "write what this machine is (JSON)")
    one.add_argument("--out", required=True)
    return top


def at_least_one(text):
    """A count, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def parsed(text, option):
    """The object that a JSON argument holds. Raises LadderError."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise LadderError(f"{option} isn't JSON: {error}.") from None
    if not isinstance(found, dict):
        raise LadderError(f"{option} must be a JSON object of keys and values, not {text!r}.")
    return found


def read_plan(path):
    """A plan as the verb `plan` writes it."""
    return read_json(path, "experiment", "cases")


def read_ceilings(path):
    """Ceilings as the verb `ceilings` writes them."""
    return read_json(path, "flops", "bandwidth", "cache_bytes", "margin", "rows")


def data_folders(folder):
    """Where each data set lies: {name: folder}."""
    return {name: f"{folder}/{name}" for name in ("digits", "mnist")}


def run_list(options):
    config = configuration.load(["config/config.yaml", *options.configfile])
    workloads.look_in(config["variant_folders"])
    instead = {name: getattr(options, name) for name in ("cores", "gpus") if getattr(options, name) is not None}
    found = places.here(config | instead)
    planned = plan.plan(config, found)
    for one in planned:
        print(f"{one.experiment}\t{one.case.key}\t{'left out: ' + one.left_out if one.left_out else 'runs'}")
    runs = {one.case.key for one in planned if not one.left_out}
    left = {one.case.key for one in planned if one.left_out}
    print(f"{len(runs)} cases run on {found['cpu'].cores} cores, {len(left)} are left out.")


def run_status(options):
    from ladder.planning import status

    if options.configfile:
        config = configuration.load(["config/config.yaml", *options.configfile])
        workloads.look_in(config["variant_folders"])
        print(status.report(status.cases_of(plan.plan(config, places.here(config)))))
    else:
        run = status.read()
        print(status.report(run["cases"], run))


def run_plan(options):
    from ladder.records.files import write_atomically

    config = configuration.checked(parsed(options.config, "The configuration"))
    if len(config["experiments"]) != 1:
        raise LadderError(f"A plan is of one experiment, but the configuration has {len(config['experiments'])}.")
    (experiment,) = config["experiments"]
    planned = plan.plan(config, places.from_json(parsed(options.places, "The places")))
    if not config["measure"]:
        planned = plan.measured(planned)
    write_atomically(options.out, json.dumps(plan.document(planned, experiment), indent=1) + "\n")


def run_data(options):
    from ladder.data import datasets

    if options.name == "digits":
        datasets.digits(options.out)
    else:
        datasets.mnist(options.out, options.mirror)


def run_reference(options):
    import numpy as np

    from ladder.catalogue import workloads
    from ladder.data import datasets

    workload = workloads.load(options.workload)
    given = Case.parse(options.workload, "reference", options.sizes + ",cache=cold").sizes
    sizes = workload.reference_sizes(workloads.complete(options.workload, given))
    if sizes is None:
        raise LadderError(f"{options.workload} needs no reference beforehand: its results are checked inside the job.")
    found = workload.reference.compute(sizes, datasets.load(options.data))
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part.npz")
    np.savez(part, **found)
    part.replace(out)


def run_build(options):
    from ladder.build import binaries

    print(binaries.ensure(options.architecture, options.workload, options.variant, options.constants))


def run_precompile(options):
    from ladder.build import compilation
    from ladder.devices import host
    from ladder.harness.measure import precompile
    from ladder.records.files import write_atomically

    host.die_with_parent()
    case = Case.parse(options.workload, options.variant, options.case)
    workloads.require_sound(case)
    if not compilation.is_needed(case):
        raise LadderError(f"{case.workload}/{case.variant} has nothing that Numba compiles.")
    note = precompile(case, configuration.protocol({}))
    if "failed" in note:
        print(f"ladder precompile: nothing is compiled ahead. {note['failed']}", file=sys.stderr)
    write_atomically(options.out, json.dumps(note, indent=1) + "\n")


def run_measure(options):
    from ladder.devices import host
    from ladder.harness.measure import measure

    host.die_with_parent()
    case = Case.parse(options.workload, options.variant, options.case)
    ceilings = read_ceilings(options.ceilings) if options.ceilings else None
    data = data_folders(options.data)
    protocol = configuration.protocol(parsed(options.protocol, "--protocol"))
    label = description.label() if options.machine == "auto" else options.machine
    measure(case, options.out, protocol, label, data, options.reference, ceilings, options.granted, options.launcher)


def run_ceilings(options):
    from ladder.records.files import write_atomically
    from ladder.report import ceilings

    found = ceilings.summarise(options.records, options.margin)
    write_atomically(options.out, json.dumps(found, indent=1) + "\n")


def run_collect(options):
    from ladder.report import collect

    collect.collect(read_plan(options.plan), options.out, options.published)


def run_table(options):
    from ladder.report import collect

    collect.join(options.folders, options.out)


def run_figure(options):
    from ladder.data import datasets
    from ladder.report import collect, figures

    given, wants = {}, figures.constants(options.name)
    if wants["EXPERIMENTS"]:
        given["tables"] = {Path(folder).name: collect.load(folder) for folder in options.tables}
        if missing := set(wants["EXPERIMENTS"]) - set(given["tables"]):
            raise LadderError(f"The figure {options.name} needs --tables of {', '.join(sorted(missing))}.")
    if wants["USES_CEILINGS"]:
        named = (pair.rpartition("=") for pair in options.ceilings)
        given["ceilings"] = {name: read_json(path, "rows") for name, _, path in named}
    if wants["USES_DATA"]:
        if not options.data:
            raise LadderError(f"The figure {options.name} needs --data, the folder of a data set.")
        given["data"] = Path(options.data).name, datasets.load(options.data)
    figures.write(options.name, options.out, **given)


def run_compare(options):
    from ladder.harness import comparison

    found = comparison.side_by_side(
        comparison.named(options.a),
        comparison.named(options.b),
        samples=options.samples,
        most_pairs=options.most_pairs,
        detect=options.detect,
        cap=options.cap,
        paired=options.paired,
        data=data_folders(options.data),
        reference=options.reference,
    )
    print(comparison.report(found))
    if options.json:
        comparison.write(options.json, found)


def run_publish(options):
    from ladder.report.publish import publish

    publish([read_plan(path) for path in options.plans], options.machine, options.out, options.keep)


def run_numbers(options):
    from ladder.report import gemv_numbers, gpu, latex, numbers, study

    found = study.load(options.folders, options.machine, options.description)
    protocol = configuration.protocol(parsed(options.protocol, "--protocol"))
    more = gpu.numbers(found) | gemv_numbers.numbers(found)
    values = numbers.numbers(found, protocol, options.margin) | numbers.filled(more)
    latex.write(options.out, numbers.text(values))


def run_tables(options):
    from ladder.records.files import write_atomically
    from ladder.report import gemv_tables, gpu, latex, study, tables

    found = study.load(options.folders, options.machine, options.description)
    every = tables.all_tables(found) | gpu.tables(found, options.kernel) | gemv_tables.tables(found)
    for name, text in every.items():
        latex.write(f"{options.out}/{name}.tex", text)
    write_atomically(options.html, tables.html_validation(found))


def run_paper(options):
    from ladder.report import typesetting

    typesetting.build(options.source, options.inputs, Path(options.out).with_suffix(""), options.out)


def run_describe(options):
    from ladder.records.files import write_atomically

    write_atomically(options.out, json.dumps(description.describe(), indent=1) + "\n")


if __name__ == "__main__":
    main()
