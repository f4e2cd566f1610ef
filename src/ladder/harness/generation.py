"""A workload's results from files, outside of any measurement.

A workload that can do so has a module `formats.py` with

| name | meaning |
| --- | --- |
| `VARIANTS` | by device, `offload` or `host`, the variant that works and its tuning |
| `BY_IMAGE` | the inputs that have a row for each image; the others belong to all |
| `read(network, inputs)` | `sizes` and `inputs`, arrays by name, of two files |
| `require_output(path, images)` | refuse a file that can't be written |
| `write(file, suffix, images, chunks)` | write the output's chunks, in their order, to an open binary file |

Its size `images` counts these rows, and those of its one output.
"""

import importlib
import os
from pathlib import Path

from ladder import devices
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness.steps import Steps, in_order
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.records.files import require_writable

# Images at once: on a card enough to hide its copies; on the host few, so that progress shows.
CHUNKS = {"offload": 5248, "host": 256}
PART = 64  # of these, written before progress is told


def formats_of(workload):
    """The module of a workload's files. Raises LadderError where there is none, or no such workload."""
    workloads.load(workload)
    if not workloads.module_path(workload, "formats"):
        raise LadderError(f"{workload} generates nothing from files: it has no `formats.py`.")
    return importlib.import_module(f"ladder.workloads.{workload}.formats")


def case_of(workload, formats, sizes, gpus, threads):
    """The case that works, on so many cards, or on threads of the host where that is none."""
    variant, tuning = formats.VARIANTS["offload" if gpus else "host"]
    own = {"gpus": min(gpus, sizes["images"])} if gpus else {"threads": threads}
    return Case(workload, variant, workloads.complete(workload, sizes), tuning | own)


def require_place(output, *inputs):
    """Refuse an output that would replace an input, or that can't be written; and inputs that can't be read twice."""
    output = Path(output)
    if not output.parent.is_dir():
        raise LadderError(f"{output} can't be written: make its folder.")
    require_writable(output)
    for path in inputs:
        if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
            raise LadderError(f"{path} is a pipe or a device, which can't be read twice: save it in a file.")
        if output.exists() and Path(path).exists() and output.samefile(path):
            raise LadderError(f"{output} is an input as well: name another file for the output.")


def chunks(case, formats, inputs, advance):
    """The output of a case, its first axis in parts of at most PART images, each valid until the next is asked for.

    `advance(images)` is called behind each.
    """
    images, steps, problem = case.sizes["images"], None, None
    chunk = CHUNKS[workloads.device(case)]
    for start in range(0, images, chunk):
        count = min(chunk, images - start)
        if problem is None or problem.sizes["images"] != count:
            shared = {name: array for name, array in inputs.items() if name not in formats.BY_IMAGE}
            problem, steps = prepared(case, count, shared)
        for name in formats.BY_IMAGE:
            problem.inputs[name][...] = inputs[name][start : start + count]
        with devices.of(case).translate_errors():
            in_order(steps.run)()
        (output,) = problem.outputs.values()
        found = devices.of(case).to_host(output)
        for part in (found[first : first + PART] for first in range(0, count, PART)):
            yield part
            advance(len(part))


def prepared(case, count, shared):
    """The problem of so many images of a case with the inputs that they share, and its steps, prepared."""
    workload = workloads.load(case.workload)
    own = Case(case.workload, case.variant, case.sizes | {"images": count}, case.tuning)
    variant = workloads.load_variant(own.workload, own.variant)
    with devices.of(own).translate_errors():
        problem = make_problem(workload, own, devices.of(own), variant)
        steps = Steps.of(variant.setup(problem, **own.tuning))
        for name, array in shared.items():
            problem.inputs[name][...] = array
        in_order(steps.prepare)()
    return problem, steps


def write(formats, output, images, found):
    """Write chunks to a file, whole or not at all. Raises LadderError where there is no room."""
    output = Path(output)
    part = output.with_name(f".{output.name}.part")  # what a killed writer leaves, the next one replaces
    try:
        with part.open("wb") as file:
            formats.write(file, output.suffix, images, found)
            file.flush()
            os.fsync(file.fileno())
        part.replace(output)
    except OSError as error:
        raise LadderError(f"{output} can't be written: {error.strerror}. Make room or allow writing.") from None
    finally:
        part.unlink(missing_ok=True)
