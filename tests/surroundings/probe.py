"""Run in a surrounding (a locale, variables, a Python), in a study's folder: describe the study as JSON on stdout.

    python probe.py [--measure VARIANT] [--figure NAME] [--typeset]

It says what the study plans, where the code comes from, with which variables of runtimes workers start, and the digests
of what it draws. If a LadderError ends it, its sentence is on standard error, and the exit status is 1.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

from ladder import __main__
from ladder.build import libraries
from ladder.catalogue import locations
from ladder.errors import LadderError
from ladder.harness import environment
from ladder.machine import cpus, description, revision
from ladder.planning import configuration, plan, targets

# The names of variables that runtimes read, which only the case gives to a worker.
RUNTIME_NAMES = re.compile(
    r"(NUMBA|OMP|GOMP|KMP|OPENBLAS|GOTO|MKL|BLIS|NPY|MPICH|MPIR|OMPI|PMIX|UCX|CUDA|NVIDIA|NCCL|CUBLAS|PYTORCH|TORCH|MALLOC|"
    r"GLIBC|LD)_.*|LD_PRELOAD"
)
# Other probes may work in the same study.
SCRATCH = Path("scratch", str(os.getpid()))
PROTOCOL = {"processes": 1, "most_processes": 1, "samples": 5, "least": 5, "most": 5, "cap": 1, "phase_passes": 1}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--measure")
    parser.add_argument("--figure")
    parser.add_argument("--typeset", action="store_true")
    options = parser.parse_args()
    answer_file, sys.stdout = sys.stdout, sys.stderr  # which also gets what verbs print
    SCRATCH.mkdir(parents=True)
    try:
        print(json.dumps(describe(options), sort_keys=True), file=answer_file)
    except LadderError as error:
        sys.exit(f"ladder: {error}")


def describe(options):
    config = configuration.load(["config/config.yaml", "study.yaml"])
    locations.set_variant_folders(config["variant_folders"])
    targets_by_kind = targets.this_machine(config)
    plan_entries = plan.plan(config, targets_by_kind)
    (experiment,) = {item.experiment for item in plan_entries}
    cases = {item.case.variant: item.case for item in plan_entries}
    answer = {
        "label": targets_by_kind["cpu"].label,
        "cpu": cpus.cpu(),
        "cores": description.cores(),
        "plan": plan.document(plan_entries, experiment),
        "libraries": sorted(
            str(libraries.path_of(*item)) for case in cases.values() for item in libraries.of_case(case)
        ),
        "origin": revision.current(),
        "workers": {name: runtime_variables(environment.of_worker(case)) for name, case in cases.items()},
    }
    if options.measure:
        answer["record"] = measure(cases[options.measure], targets_by_kind["cpu"].launcher)
    if options.figure:
        answer["figure"] = draw(options.figure)
    if options.typeset:
        answer["typeset"] = typeset()
    return answer


def runtime_variables(variables):
    """The variables of runtimes among these, except the folder of Numba's cache, which depends on the code."""
    return {name: text for name, text in variables.items() if RUNTIME_NAMES.fullmatch(name) and "CACHE_DIR" not in name}


def run(*arguments):
    __main__.main([str(argument) for argument in arguments])


def measure(case, launcher):
    """The contents of a case's record: its fastest sample, what was compiled, the number of threads, its origin."""
    out = SCRATCH / "record.json"
    launcher_options = ["--launcher", launcher] if launcher and case.ranks > 1 else []
    run(
        "measure",
        case.workload,
        case.variant,
        case.slug,
        "--out",
        out,
        "--protocol",
        json.dumps(PROTOCOL),
        *launcher_options,
    )
    record = json.loads(out.read_text(encoding="utf-8"))
    (process,) = record["processes"]
    return {
        "seconds": min(process["samples"]),
        "compiled": process["compiled"],
        "threads": process["threads"],
        "machine": record["machine"],
        "variant": record["variant"],
        "source": record["source"],
        "sources": record["sources"],
    }


def draw(name):
    """The digests of a figure's files, drawn from the tables that lie in the study."""
    folders = sorted(path.parent for path in Path("results/tables").glob("*/samples.csv"))
    run("figure", name, *(f"--tables={folder}" for folder in folders), "--out", SCRATCH / name)
    return digests(SCRATCH.glob(f"{name}.*"))


def typeset():
    """The digest of a one-line document, which inputs another file; None without LaTeX."""
    if not shutil.which("latexmk"):
        return None
    Path("paper/inputted.tex").write_text("\\def\\inputted{It is typeset.}\n", encoding="utf-8")
    text = "\\documentclass{article}\\pdftrailerid{}\\input{inputted}\\begin{document}\\inputted\\end{document}\n"
    Path("paper/line.tex").write_text(text, encoding="utf-8")
    run("paper", "paper/line.tex", "--out", SCRATCH / "line.pdf")
    return digests([SCRATCH / "line.pdf"])


def digests(paths):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}


if __name__ == "__main__":
    main()
