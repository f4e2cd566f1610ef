"""Compute a workload's results from files, outside of any measurement.

A workload that supports this has a module `formats.py` with

| name | meaning |
| --- | --- |
| `VARIANTS` | `{device: (variant, tuning)}`, what to run on the devices `offload` and `host` |
| `BY_IMAGE` | names of the inputs with a row for each image; all images share the other inputs |
| `read(network, inputs)` | read two files; returns `sizes` and `inputs`, arrays by name |
| `require_output(path, images)` | refuse a path to which the images can't be written |
| `write(file, suffix, images, chunks)` | write the output's chunks, in their order, to an open binary file |

The workload has one output. Its size `images` is the number of rows of that output and of these inputs.
"""

import importlib
import os
from pathlib import Path

from ladder import devices
from ladder.catalogue import locations, traits, workloads
from ladder.errors import LadderError
from ladder.harness.steps import Steps, chain_steps
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.records.files import require_writable

# On GPUs enough to overlap copies with work; on the host few, so that the progress bar moves.
IMAGES_PER_RUN = {"offload": 5248, "host": 256}
IMAGES_PER_UPDATE = 64  # images that are written between two updates of the progress bar


def formats_of(workload):
    """The module of a workload's file formats. Raises LadderError if there is none, or no such workload."""
    workloads.load(workload)
    if not locations.module_path(workload, "formats"):
        raise LadderError(f"{workload} generates nothing from files: it has no `formats.py`.")
    return importlib.import_module(f"ladder.workloads.{workload}.formats")


def case_of(workload, formats, sizes, gpus, threads):
    """The case to run: on `gpus` GPUs or, if that is 0, on `threads` threads."""
    variant, tuning = formats.VARIANTS["offload" if gpus else "host"]
    resources = {"gpus": min(gpus, sizes["images"])} if gpus else {"threads": threads}
    return Case(workload, variant, workloads.complete(workload, sizes), tuning | resources)


def require_usable(output, *inputs):
    """Refuse an output that can't be written or would replace an input, and inputs that can't be read twice."""
    output = Path(output)
    if not output.parent.is_dir():
        raise LadderError(f"{output} can't be written: create its folder.")
    require_writable(output)
    for path in inputs:
        if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
            raise LadderError(f"{path} is a pipe or a device, which can't be read twice: save it in a file.")
        if output.exists() and Path(path).exists() and output.samefile(path):
            raise LadderError(f"{output} is an input as well: name another file for the output.")


def chunks(case, formats, inputs, advance):
    """Yield the output of a case in chunks of up to IMAGES_PER_UPDATE images; each is valid until the next request.

    `advance(images)` is called after each chunk.
    """
    images, steps, problem = case.sizes["images"], None, None
    max_images = IMAGES_PER_RUN[traits.device(case)]
    for start in range(0, images, max_images):
        run_images = min(max_images, images - start)
        if problem is None or problem.sizes["images"] != run_images:
            shared_inputs = {name: array for name, array in inputs.items() if name not in formats.BY_IMAGE}
            problem, steps = prepare(case, run_images, shared_inputs)
        for name in formats.BY_IMAGE:
            problem.inputs[name][...] = inputs[name][start : start + run_images]
        with devices.of(case).translate_errors():
            chain_steps(steps.run)()
        (output,) = problem.outputs.values()
        result = devices.of(case).to_host(output)
        for chunk in (result[first : first + IMAGES_PER_UPDATE] for first in range(0, run_images, IMAGES_PER_UPDATE)):
            yield chunk
            advance(len(chunk))


def prepare(case, images, shared_inputs):
    """The problem of a case for `images` images, with its shared inputs filled in, and its Steps, already prepared."""
    workload = workloads.load(case.workload)
    case = Case(case.workload, case.variant, case.sizes | {"images": images}, case.tuning)
    variant = workloads.load_variant(case.workload, case.variant)
    with devices.of(case).translate_errors():
        problem = make_problem(workload, case, devices.of(case), variant)
        steps = Steps.of_variant(variant, problem, case.tuning)
        for name, array in shared_inputs.items():
            problem.inputs[name][...] = array
        chain_steps(steps.prepare)()
    return problem, steps


def write(formats, output, images, chunks):
    """Write chunks to a file, whole or not at all. Raises LadderError if the disk is full."""
    output = Path(output)
    partial_path = output.with_name(f".{output.name}.part")  # a killed writer leaves it, and the next one replaces it
    try:
        with partial_path.open("wb") as file:
            formats.write(file, output.suffix, images, chunks)
            file.flush()
            os.fsync(file.fileno())
        partial_path.replace(output)
    except OSError as error:
        raise LadderError(f"{output} can't be written: {error.strerror}. Make room or allow writing.") from None
    finally:
        partial_path.unlink(missing_ok=True)
