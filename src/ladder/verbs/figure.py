"""Draw a figure as PDF, SVG and PNG."""

from pathlib import Path

from ladder.catalogue import datasets, workloads
from ladder.errors import LadderError
from ladder.records import documents
from ladder.report import figures
from ladder.store import table_files


def add_arguments(parser):
    parser.add_argument("name")
    parser.add_argument(
        "--tables", action="append", default=[], help="folder of an experiment's tables; may be repeated"
    )
    parser.add_argument("--roofs", help="the ceilings of every machine, as the verb `roofs` writes them (JSON)")
    parser.add_argument("--data", help="path of the data that the workload's cases read")
    parser.add_argument(
        "--artefact", action="append", default=[], metavar="FILE=PATH", help="path of an artefact; may be repeated"
    )
    parser.add_argument("--out", required=True, help="path of the files without their suffix")


def run(options):
    inputs, constants = {}, figures.constants(options.name)
    if constants["EXPERIMENTS"]:
        inputs["tables"] = {Path(folder).name: table_files.load(folder) for folder in options.tables}
        if missing := set(constants["EXPERIMENTS"]) - set(inputs["tables"]):
            raise LadderError(f"The figure {options.name} needs --tables of {', '.join(sorted(missing))}.")
    if constants["USES_CEILINGS"]:
        inputs["ceilings"] = documents.read(options.roofs, "roofs") if options.roofs else {}
    if constants["USES_DATA"]:
        if not options.data:
            raise LadderError(f"The figure {options.name} needs --data, the data of its workload.")
        workload = workloads.load(figures.workload(options.name))
        inputs["data"] = Path(options.data).name, datasets.load(workload, options.data)
    if constants["USES_ARTEFACTS"]:
        if malformed := [pair for pair in options.artefact if "=" not in pair]:
            raise LadderError(f"--artefact is written FILE=PATH, not {malformed[0]!r}.")
        inputs["artefacts"] = dict(pair.split("=", 1) for pair in options.artefact)
        if missing := set(constants["USES_ARTEFACTS"]) - set(inputs["artefacts"]):
            raise LadderError(f"The figure {options.name} needs --artefact of {', '.join(sorted(missing))}.")
    figures.write(options.name, options.out, **inputs)
