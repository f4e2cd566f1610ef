# What the rules read and run, as functions of their wildcards.
import functools
import hashlib
import json
from dataclasses import replace

from ladder.build import binaries, compilation, libraries
from ladder.catalogue import datasets, imports, published
from ladder.harness import sensitivity
from ladder.machine import nvidia
from ladder.records.case import Case
from ladder.report import figures as drawings

# A mistake in a chapter or in what a figure states ends the run before it begins.
try:
    for figure in drawings.names():
        drawings.constants(figure)
except LadderError as error:
    stop(error)

CEILING_EXPERIMENTS = [name for name in EXPERIMENTS if is_ceiling(name)]
# The file of the ceilings that text, tables and figures refer to, in a list; empty where nothing sets any.
ROOFS = ["results/roofs.json"] if CEILING_EXPERIMENTS or PUBLISHED else []
CEILING_CASES = {one.case.key for one in PLAN if is_ceiling(one.experiment)}
# The machines whose ceilings are measured.
CEILING_MACHINES = {one.machine for one in PLAN if is_ceiling(one.experiment) and not one.left_out}
OWN_CEILINGS = [f"results/ceilings/{label}.json" for label in MACHINES if label in CEILING_MACHINES]
# What kernels are built for: the architectures of the configuration, and this machine's card, unless the cards of a
# cluster are meant; and what measurements need of that.
CARD = [f"sm_{card['capability'].replace('.', '')}" for card in nvidia.gpus()[:1] if not SITE]
ARCHITECTURES = sorted({*CONFIG["architectures"], *CARD})
MEASURED_ARCHITECTURES = ARCHITECTURES if SITE else CARD


def binaries_of(case, architectures):
    """The binaries that a case needs on these architectures."""
    return [
        str(binaries.path_of(architecture, *kernel))
        for architecture in architectures
        for kernel in sorted(binaries.kernels(case))
    ]


def libraries_of(case):
    """The libraries of C sources that a case needs; none on a cluster, whose nodes compile their own."""
    return [] if SITE else [str(libraries.path_of(*one)) for one in sorted(libraries.needed(case))]


def compiled_of(case):
    """The note that Numba has compiled what a case needs."""
    return f"results/compiled/{compilation.note_name(case)}" if compilation.is_needed(case) else []


def once(path, files):
    """The input files of a job that makes a path: `ancient`, where the path exists, so that newer ones don't outdate it.

    A path that is missing depends on them as usual: where one of them is to be made anew, Snakemake overlooks jobs
    behind an `ancient`, though their output is missing (its issue 4166).
    """
    return ancient(files) if files and Path(path).exists() else files


def records_of(experiments, machines=MACHINES):
    """The records of the experiments' cases that run on these machines."""
    chosen = [one for one in PLAN if one.experiment in experiments and one.machine in machines and not one.left_out]
    labels = {one.case.key: one.machine for one in chosen}
    return [record_path(labels[key], key) for key in plan.shuffled(labels)]


def ladder(verb, wrapper=""):
    """The command line of a verb, replacing its shell, so that a killed run takes the command with it."""
    return job(f"ladder {verb}", wrapper)


def job(module, wrapper=""):
    """The command line of a module of Python's that dies with the run."""
    # What starts containers may stand between Snakemake and the command; elsewhere Snakemake is its parent.
    parent = 'LADDER_PARENT="$PPID $$" ' if SITE or not OWN else ""
    return f"{parent}exec {wrapper} {PYTHON} -m {module} "


def on_node(verb):
    """The command line of a verb that runs on a node of the cluster, if it has one: what its description asks for first.

    Modules and the like expect unset variables to be empty. What configures runtimes is dropped before: a measurement
    keeps of it what the prelude sets. Ranks get cores of their own.
    """
    if not SITE:
        return ladder(verb)
    prelude = 'set +u; eval "$LADDER_UNSET"; eval "$LADDER_PRELUDE"; set -u\n'
    binding = "export SLURM_CPU_BIND=cores SRUN_CPUS_PER_TASK={resources.cpus_per_task}\n"
    nodes = "export LADDER_NODES={resources.nodes}\n"
    return prelude + binding + nodes + ladder(verb, "$LADDER_WRAPPER")


def place_of(wildcards):
    return places.place_of(PLACES, case_of(wildcards))


def case_of(wildcards):
    return named(wildcards.workload, wildcards.variant, wildcards.case)


def planned(wildcards):
    """The case of a record, which ends the run where somebody asks for one that isn't in the plan."""
    path = "/".join([wildcards.workload, wildcards.variant, from_path(wildcards.case)])
    if path not in protocols():
        stop(
            f"{path} is no case of this configuration: `python -m ladder list` prints those that are; further "
            "configurations are named by --configfile."
        )
    return case_of(wildcards)


@functools.cache
def named(workload, variant, path):
    """The case of a path, for which every function of a job's wildcards asks."""
    return Case.parse(workload, variant, from_path(path))


def stamp_of(case):
    """The stamp of what measurements of one variant on one problem depend on besides."""
    code = "-".join([case.workload, case.variant, *(name for _, name in sorted(workloads.used(case)))])
    return f"results/stamps/{code}/{replace(case, tuning={}).slug}.txt"


@functools.cache
def fingerprints():
    """The fingerprint of the code behind every stamp, which a job on a cluster's node doesn't ask for."""
    return {stamp_of(one.case): sources.fingerprint(one.case) for one in PLAN}


@functools.cache
def protocols():
    """The measuring protocol of every case, as JSON."""
    return {one.case.key: json.dumps(one.protocol) for one in PLAN}


@functools.cache
def stamped_protocols():
    """The protocols of the cases that depend on every stamp, as one text: experiments may have different ones."""
    found = {}
    for one in PLAN:
        found.setdefault(stamp_of(one.case), set()).add(protocols()[one.case.key])
    return {stamp: " ".join(sorted(texts)) for stamp, texts in found.items()}


def is_on_card(wildcards):
    return workloads.constants(wildcards.workload, wildcards.variant)["DEVICE"] == "cuda"


def threads_of(wildcards):
    """The cores of a job, on a cluster those of each rank: one beside a card of this machine, else all there are."""
    case, place = case_of(wildcards), place_of(wildcards)
    if SITE and case.ranks > 1:
        return case.threads
    return 1 if is_on_card(wildcards) and not SITE else place.cores


def ranks_of(wildcards):
    return case_of(wildcards).ranks


def granted(wildcards, threads):
    """The cores that a job is given, which Snakemake's own count is right about on this machine alone."""
    return threads_of(wildcards) * ranks_of(wildcards) if SITE else threads


def place_of_label(wildcards):
    """The first place of a label, which tells of all."""
    return next(place for place in PLACES.values() if place.label == wildcards.machine)


def asked(place_of):
    """What Slurm is asked for by a job whose place this function of the wildcards tells; nothing on this machine."""
    names = PLACES["cpu"].asked  # the same ones in every place
    found = {name: lambda wildcards, name=name: place_of(wildcards).asked[name] for name in names}
    # Another try gets more time.
    longer = {"runtime": lambda wildcards, attempt: attempt * place_of(wildcards).asked["runtime"]}
    return found | (longer if SITE else {})


# One rank needs no launcher. An empty one also keeps Snakemake from starting a step of Slurm's, with cores of its own.
RESOURCES = {"mpi": lambda wildcards: place_of(wildcards).launcher if ranks_of(wildcards) > 1 else ""}
DESCRIBED = {}
if SITE:
    RESOURCES |= asked(place_of) | {
        "tasks": ranks_of,
        "cpus_per_task": threads_of,
        "nodes": lambda wildcards: places.nodes_of(place_of(wildcards), case_of(wildcards)),
        # Of every node as many: of a number in all Slurm may take more on one of them than there are ranks.
        "gres": lambda wildcards: places.gres_of(place_of(wildcards), case_of(wildcards)),
        "tasks_per_gpu": 0,
    }
    # What describes a node sees all of it.
    DESCRIBED = asked(place_of_label) | {
        "mpi": "",
        "nodes": 1,
        "cpus_per_task": lambda wildcards: place_of_label(wildcards).cores,
        "gres": lambda wildcards: places.gres(place_of_label(wildcards).model, place_of_label(wildcards).gpus),
        "tasks_per_gpu": 0,
    }
else:
    # On this machine one job is timed at a time, or as many as there are cards.
    RESOURCES |= {
        "timing": lambda wildcards: 0 if is_on_card(wildcards) else 1,
        "card": lambda wildcards: workloads.cards(case_of(wildcards)),
    }


def record_of(wildcards):
    return record_path(wildcards.machine, case_of(wildcards).key)


def reference_case(wildcards):
    return said(Case.parse, wildcards.workload, "reference", f"{wildcards.sizes},cache=cold")


def data_of(case):
    """The files of the data that a case reads."""
    return datasets.files_of(case.workload, case.sizes)


def data_option(case):
    """The option that names the data that a case reads; empty where it reads none."""
    name = datasets.name_of(case.workload, case.sizes)
    return f"--data {datasets.FOLDER}/{name}" if name else ""


def data_for(path, case):
    """The files of the data that a job reads to make a path. What is fetched stays the same, an artefact need not."""
    name = datasets.name_of(case.workload, case.sizes)
    return data_of(case) if name and datasets.is_artefact(name) else once(path, data_of(case))


def reference_of(case):
    """The file of the reference that a case is checked against, where it isn't computed inside the job."""
    sizes = workloads.load(case.workload).reference_sizes(case.sizes)
    if sizes is None:
        return []
    slug = Case(case.workload, "reference", sizes, {}).slug.removesuffix(",cache=cold")
    return f"results/references/{case.workload}/{slug}.npz"


def ceilings_of(case):
    """The machine's ceilings, for the cases that don't measure them."""
    label = places.place_of(PLACES, case).label
    known = case.key not in CEILING_CASES and label in CEILING_MACHINES
    return f"results/ceilings/{label}.json" if known else []


@functools.cache
def stated(figure):
    """The constants of a figure, for which many functions of a job's wildcards ask."""
    return drawings.constants(figure)


def made_from(wildcards):
    """The name of the data that an artefact is made from, or None; what is published is made from nothing."""
    return None if published_sum(wildcards) else datasets.artefacts(wildcards.workload).get(wildcards.artefact)


def published_sum(wildcards):
    """The sha256 of an artefact that is published, which is unpacked in place of being made; None of others."""
    return published.sum_of(wildcards.workload, wildcards.artefact)


def tables_of(figure):
    """The folders of the tables that a figure reads."""
    return expand(
        "results/tables/{experiment}",
        experiment=stated(figure)["EXPERIMENTS"],
    )


def ceilings_for(figure):
    """The file of ceilings that a figure reads, in a list; empty where it reads none or nothing sets any."""
    return ROOFS if stated(figure)["USES_CEILINGS"] else []


def data_shown(figure):
    """The name of the data that a figure shows, those of its workload's first case with any; empty without one."""
    if not stated(figure)["USES_DATA"]:
        return ""
    workload = drawings.workload(figure)
    cases = (one.case for one in PLAN if one.case.workload == workload)
    return next(filter(None, (datasets.name_of(case.workload, case.sizes) for case in cases)), "")


def artefacts_shown(figure):
    """The artefacts that a figure shows: {file: path}."""
    workload = drawings.workload(figure)
    return {name: path for name in stated(figure)["USES_ARTEFACTS"] for path in datasets.files(f"{workload}/{name}")}


@functools.cache
def shown(figure):
    """The files of data and artefacts that a figure shows; None where one isn't at hand and nothing else asks for it."""
    name = data_shown(figure)
    if stated(figure)["USES_DATA"] and not name:
        return None
    workload, names = drawings.workload(figure), [name] if name else []
    names += [f"{workload}/{file}" for file in artefacts_shown(figure)]
    files = [path for one in names for path in datasets.files(one)]
    is_asked_for = CONFIG["measure"] and any(one.case.workload == workload for one in PLAN)
    return files if is_asked_for or all(map(is_at_hand, names)) else None


def is_at_hand(name):
    """Whether data are there, or are made of nothing else than what is published."""
    if all(Path(file).exists() for file in datasets.files(name)):
        return True
    if not datasets.is_artefact(name):
        return False
    workload, _, file = name.partition("/")
    origin = datasets.artefacts(workload)[file]
    return bool(published.sum_of(workload, file) or origin is None or is_at_hand(origin))


def code_of(verb):
    """The fingerprint of the code behind a verb that writes about the study, that of all chapters included."""
    modules = [f"ladder.workloads.{workload}.paper.{verb}" for workload in workloads.names()]
    data = [
        name for one in chapters.chapters() for name in chapters.data_modules(one.workload, one.folder, chapters.DATA)
    ]
    return sources.of(f"ladder.verbs.{verb}", *filter(imports.module_path, [*modules, *data]))


def words_of_chapters():
    """The fingerprint of all that the paper reads of chapters: their order, titles, texts and captions."""
    texts = json.dumps(chapters.texts() | captions.text())
    return hashlib.sha256(texts.encode()).hexdigest()[:16]


def digest_of(paths):
    """A digest of what files hold."""
    return hashlib.sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()[:16]


def sensitivity_cases():
    """The cases whose checks are tried with errors put in on purpose, those that this machine can run."""
    cases = sensitivity.cases(CONFIG["sensitivity"])
    return [case for case in cases if not plan.reason_left_out(case, True, PLACES["cpu"])]


def sensitivity_code():
    """The fingerprint of the code that finds these errors, that of the cases' workloads and variants included."""
    roots = {root for case in sensitivity_cases() for root in sources.roots_of(case)}
    return sources.of("ladder.verbs.sensitivity", "ladder.devices.host", *sorted(roots))


def study_arguments():
    """The part of the command line that says what there is to write about."""
    return [
        *TABLE_FOLDERS,
        f"--machine={MACHINE}",
        *(f"--description={path}" for path in DESCRIPTIONS),
        *(f"--roofs={path}" for path in ROOFS),
    ]


BINARIES = sorted({path for one in EVERYTHING for path in binaries_of(one.case, ARCHITECTURES)})
