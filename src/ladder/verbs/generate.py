"""Generate images by a network from a file of inputs, and write them as text or tiled into one .bmp or .png."""

import contextlib
import os
import sys

from ladder.errors import LadderError, pluralize
from ladder.harness import environment
from ladder.harness.leases import lease_devices
from ladder.machine import nvidia
from ladder.verbs.arguments import at_least_zero


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("network", help="file of the network's weights")
    parser.add_argument("inputs", help="file of the network's inputs")
    parser.add_argument("output", help="file to write; its suffix selects the format")
    parser.add_argument("--gpus", type=at_least_zero, help="GPUs to use, 0 for the host (default: the fastest number)")
    parser.add_argument("--published", default="results/published", help="measurements that select the default number")


def run(options):
    from ladder.harness import generation  # here, because it loads the workload's libraries

    formats = generation.formats_of(options.workload)
    formats.require_output(options.output, images=1)  # refuses a wrong suffix before the files are read
    generation.require_usable(options.output, options.network, options.inputs)
    request = formats.read(options.network, options.inputs)
    images = request.sizes["images"]
    formats.require_output(options.output, images)
    gpus = count_gpus(options, formats, request.sizes)
    case = generation.case_of(options.workload, formats, request.sizes, gpus, len(os.sched_getaffinity(0)))
    environment.enter(environment.of_worker(case))  # restarts this process, if its environment differs
    with lease_devices(case) as variables, progress_bar(images) as advance:
        os.environ.update(variables)
        generation.write(formats, options.output, images, generation.chunks(case, formats, request.inputs, advance))


def count_gpus(options, formats, sizes):
    """The number of GPUs to use. Raises LadderError for more than this machine has."""
    gpus = nvidia.gpus()
    if options.gpus is not None:
        if options.gpus > len(gpus):
            raise LadderError(f"--gpus {options.gpus}: this machine has {pluralize(len(gpus), 'GPU')}.")
        return options.gpus
    if not gpus:
        return 0
    from ladder.catalogue import workloads
    from ladder.store import gpu_counts

    other_sizes = gpu_counts.drop_key(workloads.complete(options.workload, sizes), gpu_counts.IMAGES)
    times = gpu_counts.published_times(
        options.workload, other_sizes, *formats.VARIANTS["offload"], gpus[0]["name"], options.published
    )
    return gpu_counts.best_count(times, sizes[gpu_counts.IMAGES], len(gpus))


@contextlib.contextmanager
def progress_bar(images):
    """Show a progress bar, if stderr is a terminal; yields a function that adds to the number of finished images."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("images", total=images)
        yield lambda count: progress.advance(task, count)
