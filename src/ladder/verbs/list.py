"""Print the cases of a configuration: what would run, what is left out and why; or the rungs of every workload."""

from ladder.catalogue import workloads
from ladder.planning import places, plan
from ladder.verbs.arguments import at_least_one, at_least_zero, read_configuration


def add_arguments(parser):
    parser.add_argument(
        "--configfile", action="append", default=[], help="laid over config/config.yaml; may be repeated"
    )
    parser.add_argument("--cores", type=at_least_one, help="plan for this number of cores instead of this machine's")
    parser.add_argument("--gpus", type=at_least_zero, help="plan for this number of GPUs instead of this machine's")
    parser.add_argument(
        "--rungs", action="store_true", help="print every workload's sizes and variants with their tunings instead"
    )


def run(options):
    config = read_configuration(options.configfile)
    if options.rungs:
        for workload in workloads.names():
            print(*rungs(workload), sep="\n", end="\n\n")
        return
    instead = {name: getattr(options, name) for name in ("cores", "gpus") if getattr(options, name) is not None}
    found = places.here(config | instead)
    planned = plan.plan(config, found)
    for one in planned:
        print(f"{one.experiment}\t{one.case.key}\t{'left out: ' + one.left_out if one.left_out else 'runs'}")
    runs = {one.case.key for one in planned if not one.left_out}
    left = {one.case.key for one in planned if one.left_out}
    print(f"{len(runs)} cases run on {found['cpu'].cores} cores, {len(left)} are left out.")


def rungs(workload):
    """The lines of a workload: its sizes, then each rung with its device, its tunings, and its idea."""
    yield f"{workload}: {', '.join(size(*one) for one in workloads.load(workload).SIZES.items())}"
    for variant, idea in workloads.rungs(workload).items():
        device = workloads.constants(workload, variant)["DEVICE"]
        values = workloads.defaults(workload, variant)
        kinds = {name: kind for name, (kind, _) in workloads.tunings(workload, variant).items()}
        tunings = ", ".join(tuning(name, kind, values.get(name)) for name, kind in kinds.items())
        yield f"  {variant:<20}{device:<10}{idea}{f' ({tunings})' * bool(tunings)}"


def size(name, kind):
    """A size in a word or two: a name, its choices, or its default."""
    if isinstance(kind, type):
        return name
    return f"{name}={'|'.join(map(str, kind)) if isinstance(kind, tuple) else kind}"


def tuning(name, kind, default):
    """A tuning in a word or two: a name, its choices, and its default."""
    words = "|".join(workloads.choices(kind))
    return name + f"={words or default}" * bool(words or default is not None)
