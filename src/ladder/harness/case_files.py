"""The files that a case reads, data and a reference: made where that takes seconds, otherwise named in an error."""

import sys
from pathlib import Path

from ladder.catalogue import datasets, published, traits, workloads
from ladder.errors import LadderError
from ladder.machine import processes, programs

REFERENCES = "results/references"


def provide(case, say):
    """The files of a case, ({name: path of data}, path of the reference or None), made if they are missing.

    `say(sentence)` is called for everything that is made. Raises LadderError for data that only the user can get.
    """
    name = datasets.name_of(case.workload, case.sizes)
    data = {name: f"{datasets.FOLDER}/{name}"} if name else {}
    if name and not all(Path(file).exists() for file in datasets.files(name)):
        make_data(name, data[name], say)
    return data, provide_reference(case, say)


def make_data(name, path, say):
    """Make the offline digits, or unpack a published artefact. Raises LadderError for other data."""
    workload, _, file = name.partition("/")
    if name == "digits":
        from ladder.data import digits  # here, because it is slow

        say(f"Writes scikit-learn's digits to {path}.")
        digits.write(path)
    elif datasets.is_artefact(name) and published.checksum_of(workload, file):
        say(f"Unpacks {name} to {path}.")
        published.unpack(workload, file, path)
    else:
        raise LadderError(f"The data {name} are missing: get them with `{command_for(name, path)}`.")


def command_for(name, path):
    """The command that makes data."""
    if not datasets.is_artefact(name):
        return f"{programs.ladder_command()} data {name} --out {path}"
    workload, _, file = name.partition("/")
    source = datasets.artefacts(workload)[file]
    options = f"{f' --data {datasets.FOLDER}/{source}' if source else ''} --out {path}"
    return f"{programs.ladder_command()} artefact {workload} {file}{options}"


def provide_reference(case, say):
    """The path of a case's reference, which is computed if it is missing; None if the worker computes it."""
    slug = traits.reference_slug(case)
    if slug is None:
        return None
    path = Path(REFERENCES, case.workload, f"{slug}.npz")
    if not path.exists():
        say(f"Computes the reference {path}.")
        sizes = workloads.load(case.workload).reference_sizes(case.sizes)
        name = datasets.name_of(case.workload, sizes)
        data = ["--data", f"{datasets.FOLDER}/{name}"] if name else []
        # In a process of its own, since the verb restarts itself in another environment.
        command = [sys.executable, "-m", "ladder", "reference", case.workload, slug, *data, "--out", str(path)]
        if processes.run(command).returncode:
            raise LadderError(f"The reference {path} of {case.key} could not be computed: see the sentence above.")
    return str(path)
