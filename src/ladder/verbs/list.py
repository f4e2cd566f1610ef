"""Print which cases of a configuration would run, and which are skipped and why; or the rungs of every workload."""

from ladder.catalogue import setup_arguments, workloads
from ladder.errors import LadderError, pluralize
from ladder.planning import configuration, plan, targets
from ladder.verbs.arguments import (
    add_configuration_option,
    add_json_option,
    at_least_one,
    at_least_zero,
    print_json,
    read_configuration,
)


def add_arguments(parser):
    add_configuration_option(parser, "override config/config.yaml, the later files the earlier ones")
    parser.add_argument("--cores", type=at_least_one, help="plan for this number of cores instead of this machine's")
    parser.add_argument("--gpus", type=at_least_zero, help="plan for this number of GPUs instead of this machine's")
    parser.add_argument(
        "--cluster", action="store_true", help="plan for the cluster that LADDER_SITE describes instead of this machine"
    )
    parser.add_argument(
        "--rungs", action="store_true", help="print every workload's sizes and variants with their tunings instead"
    )
    add_json_option(parser)


def run(options):
    if options.rungs:
        set_variant_folders(options.configfile)
        if options.json:
            print_json(options, {"results": [workload_document(workload) for workload in workloads.names()]})
            return
        for workload in workloads.names():
            print(*workload_lines(workload), sep="\n", end="\n\n")
        return
    config = read_configuration(options.configfile)
    changes = {name: getattr(options, name) for name in ("cores", "gpus") if getattr(options, name) is not None}
    if options.cluster and changes:
        raise LadderError("--cluster takes cores and GPUs from the cluster's description: remove --cores and --gpus.")
    targets_by_kind = targets.of_cluster(targets.site()) if options.cluster else targets.this_machine(config | changes)
    planned = plan.plan(config, targets_by_kind)
    if options.json:
        print_json(
            options, {"cores": targets_by_kind["cpu"].cores, "results": [case_document(item) for item in planned]}
        )
        return
    for item in planned:
        print(f"{item.experiment}\t{item.case.key}\t{f'skipped: {item.skip_reason}' if item.skip_reason else 'runs'}")
    keys_to_run = {item.case.key for item in planned if not item.skip_reason}
    skipped_keys = {item.case.key for item in planned if item.skip_reason}
    place = "the cluster" if options.cluster else pluralize(targets_by_kind["cpu"].cores, "core")
    print(f"{pluralize(len(keys_to_run), 'case')} to run on {place}, {len(skipped_keys)} skipped.")


def set_variant_folders(paths):
    """Read the configuration, if there is one, so that the folders of variants that it names are searched."""
    if paths or configuration.default_file().exists():
        read_configuration(paths)


def case_document(item):
    """A planned case as JSON; `skipped` is the reason for skipping it, null if it runs."""
    reason = item.skip_reason and str(item.skip_reason)
    return {"experiment": item.experiment, "case": item.case.key, "machine": item.machine, "skipped": reason}


def workload_document(workload):
    """A workload's sizes and rungs as JSON: sizes and tunings are words as the verb prints them."""
    return {
        "workload": workload,
        "sizes": [size_text(*item) for item in workloads.load(workload).SIZES.items()],
        "rungs": [
            {
                "variant": variant,
                "device": workloads.constants(workload, variant)["DEVICE"],
                "is_peer": bool(workloads.constants(workload, variant).get("PEER")),
                "idea": idea,
                "tunings": tunings_of(workload, variant),
            }
            for variant, idea in workloads.rungs(workload).items()
        ],
    }


def tunings_of(workload, variant):
    """A variant's tunings, each as `name`, `name=choices` or `name=default`."""
    values, kinds = setup_arguments.defaults(workload, variant), setup_arguments.tunings(workload, variant)
    return [tuning_text(name, kind, values.get(name)) for name, (kind, _) in kinds.items()]


def workload_lines(workload):
    """The printed lines of a workload: its sizes, then each rung with its device, its idea and its tunings."""
    yield f"{workload}: {', '.join(size_text(*item) for item in workloads.load(workload).SIZES.items())}"
    for variant, idea in workloads.rungs(workload).items():
        device = workloads.constants(workload, variant)["DEVICE"]
        tunings = ", ".join(tunings_of(workload, variant))
        yield f"  {variant:<20}{device:<10}{idea}{f' ({tunings})' * bool(tunings)}"


def size_text(name, kind):
    """A size as `name`, `name=choices` or `name=default`; `kind` is a type, a tuple of choices or the default."""
    if isinstance(kind, type):
        return name
    return f"{name}={'|'.join(map(str, kind)) if isinstance(kind, tuple) else kind}"


def tuning_text(name, kind, default):
    """A tuning as `name`, `name=choices` or `name=default`."""
    words = "|".join(setup_arguments.literal_words(kind))
    return name + f"={words or default}" * bool(words or default is not None)
