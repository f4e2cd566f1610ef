"""Make results from a network and inputs in files: pictures as a text, or as one picture of all, .bmp or .png."""

import contextlib
import os
import sys

from ladder.errors import LadderError
from ladder.harness import environment
from ladder.harness.exclusive import leased
from ladder.machine import nvidia
from ladder.verbs.arguments import at_least_zero


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("network", help="file of the network's weights")
    parser.add_argument("inputs", help="file of what results are made from")
    parser.add_argument("output", help="file to write; its ending says how")
    parser.add_argument("--gpus", type=at_least_zero, help="cards to use, 0 for the host (default: as many as pay)")
    parser.add_argument("--published", default="results/published", help="folder of measurements that say how many pay")


def run(options):
    from ladder.harness import generation  # which loads what the workload needs

    formats = generation.formats_of(options.workload)
    formats.require_output(options.output, 1)
    generation.require_place(options.output, options.network, options.inputs)
    given = formats.read(options.network, options.inputs)
    images = given.sizes["images"]
    formats.require_output(options.output, images)
    gpus = cards(options, formats, given.sizes)
    case = generation.case_of(options.workload, formats, given.sizes, gpus, len(os.sched_getaffinity(0)))
    environment.enter(environment.of_worker(case))
    with leased(case) as variables, bar(images) as advance:
        os.environ.update(variables)
        generation.write(formats, options.output, images, generation.chunks(case, formats, given.inputs, advance))


def cards(options, formats, sizes):
    """How many cards to use. Raises LadderError for more than there are."""
    there = nvidia.gpus()
    if options.gpus is not None:
        if options.gpus > len(there):
            raise LadderError(f"--gpus {options.gpus}: this machine has {len(there)} cards.")
        return options.gpus
    if not there:
        return 0
    from ladder.catalogue import workloads
    from ladder.report import break_even

    others = break_even.without(workloads.complete(options.workload, sizes), "images")
    how = options.workload, others, *formats.VARIANTS["offload"]
    times = break_even.measured(*how, there[0]["name"], options.published)
    return break_even.cards(times, sizes["images"], len(there))


@contextlib.contextmanager
def bar(images):
    """A bar of progress on a terminal, nothing elsewhere: a function that is told of images done."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("images", total=images)
        yield lambda done: progress.advance(task, done)
