"""Count what bounds the kernels of a configuration's cases on a GPU, by NVIDIA's ncu, and publish the table."""

import sys

EXAMPLES = """\
  ladder counters --machine nvidia-h200
  ladder counters --machine nvidia-h200 --configfile mine.yaml"""
# This verb runs cases, and holds the machine's lock itself while it does.
TIMES_CASES = True


def add_arguments(parser):
    parser.add_argument("--machine", required=True, help="the label under which this machine is published")
    parser.add_argument("--configfile", default="config/counters.yaml", metavar="FILE", help="the cases' experiments")
    parser.add_argument("--into", default="results/published", help="the folder of the machines' folders")


def run(options):
    from pathlib import Path

    from ladder.errors import LadderError, enumerate_words
    from ladder.harness import case_files, profiling
    from ladder.harness.progress import Progress
    from ladder.machine import description, identity, nvidia, revision
    from ladder.planning import configuration, plan, targets
    from ladder.records import published_hardware
    from ladder.records.files import require_writable
    from ladder.store import COUNTERS_FILE, counters, published_index

    folder = Path(options.into, options.machine)
    require_writable(folder / COUNTERS_FILE)
    published_hardware.require_same_hardware(options.machine, description.describe())
    config = configuration.for_claims(
        configuration.load([configuration.default_file()]) | {"claims": [options.configfile]}
    )
    items = plan.plan(config, targets.this_machine(config))
    gpus = " ".join(sorted(identity.digest(gpu["uuid"]) for gpu in nvidia.gpus()))
    origin = {"machine": options.machine, "commit": revision.format(revision.current()), "gpu": gpus}
    counters.require_readable(folder)
    failures = {}
    try:
        for item in items:
            print(item.case.key, file=sys.stderr, flush=True)
            try:
                if item.skip_reason:
                    raise LadderError(f"It is skipped: {item.skip_reason}.")
                files = case_files.provide(item.case, Progress().say)
                kernels = profiling.count_kernels(item.case, files)
            except LadderError as error:
                failures[item.case.key] = str(error)
            else:
                # After each case, so that a run which is cut off keeps those before.
                counters.write(folder, counters.rows(item, kernels, origin))
    finally:
        if (folder / COUNTERS_FILE).exists():
            published_index.write(options.into)
    if failures:
        reasons = "\n".join(f"{key}: {reason}" for key, reason in failures.items())
        raise LadderError(f"Not counted: {enumerate_words(failures)}.\n{reasons}")
