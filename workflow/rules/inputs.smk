# The inputs, commands and resources of the rules, as functions of their wildcards.
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

# A mistake in a chapter or in a figure's constants ends the run before it begins.
for figure in or_exit(drawings.names):
    or_exit(drawings.constants, figure)

CEILING_EXPERIMENTS = [name for name in EXPERIMENTS if is_ceiling(name)]
# The file of the ceilings that text, tables and figures refer to, in a list; empty if there are none.
ROOFS = ["results/roofs.json"] if CEILING_EXPERIMENTS or PUBLISHED else []
CEILING_CASES = {item.case.key for item in PLAN if is_ceiling(item.experiment)}
# The machines whose ceilings are measured.
CEILING_MACHINES = {item.machine for item in PLAN if is_ceiling(item.experiment) and not item.skipped}
MEASURED_CEILINGS = [f"results/ceilings/{label}.json" for label in MACHINES if label in CEILING_MACHINES]
# The architectures that kernels are built for: those of the configuration and, without a cluster, that of this machine's
# GPU; and the ones that measurements require.
GPU_ARCHITECTURE = [f"sm_{gpu['capability'].replace('.', '')}" for gpu in nvidia.gpus()[:1] if not SITE]
ARCHITECTURES = sorted({*CONFIG["architectures"], *GPU_ARCHITECTURE})
MEASURED_ARCHITECTURES = ARCHITECTURES if SITE else GPU_ARCHITECTURE


def binaries_of(case, architectures):
    """The binaries that a case needs on these architectures."""
    return [
        str(binaries.path_of(architecture, *kernel))
        for architecture in architectures
        for kernel in sorted(binaries.kernels(case))
    ]


def libraries_of(case):
    """The libraries of C sources that a case needs; none on a cluster, whose nodes compile their own."""
    return [] if SITE else [str(libraries.path_of(*library)) for library in sorted(libraries.needed(case))]


def compiled_of(case):
    """The note that Numba has compiled the functions of a case."""
    return f"results/compiled/{compilation.note_name(case)}" if compilation.is_needed(case) else []


def ancient_if_exists(path, files):
    """The input files of a job that writes a path: `ancient` if the path exists, so that newer ones don't outdate it.

    A missing path depends on them as usual: if one of them is to be rebuilt, Snakemake overlooks jobs behind an
    `ancient`, although their output is missing (its issue 4166).
    """
    return ancient(files) if files and Path(path).exists() else files


def records_of(experiments, machines=MACHINES):
    """The records of the experiments' cases that run on these machines."""
    items = [item for item in PLAN if item.experiment in experiments and item.machine in machines and not item.skipped]
    labels = {item.case.key: item.machine for item in items}
    return [record_path(labels[key], key) for key in plan.shuffled(labels)]


def ladder(verb, wrapper=""):
    """The command line of a verb, which replaces its shell so that it ends with a killed run."""
    return job(f"ladder {verb}", wrapper)


def job(module, wrapper=""):
    """The command line of a Python module that ends with the run."""
    # A container's runtime may be between Snakemake and the command; otherwise Snakemake is its parent.
    parent = 'LADDER_PARENT="$PPID $$" ' if SITE or IS_DEPLOYED else ""
    return f"{parent}exec {wrapper} {PYTHON} -m {module} "


def on_node(verb):
    """The command line of a verb that runs on a node of the cluster, if there is one, after the node's prelude.

    Environment modules expect unset variables to be empty. Variables of runtimes are unset before the prelude, so that
    a measurement keeps only those that the prelude sets. Each rank gets its own cores.
    """
    if not SITE:
        return ladder(verb)
    prelude = 'set +u; eval "$LADDER_UNSET"; eval "$LADDER_PRELUDE"; set -u\n'
    binding = "export SLURM_CPU_BIND=cores SRUN_CPUS_PER_TASK={resources.cpus_per_task}\n"
    nodes = "export LADDER_NODES={resources.nodes}\n"
    return prelude + binding + nodes + ladder(verb, "$LADDER_WRAPPER")


def target_of(wildcards):
    return targets.target_of(TARGETS, case_of(wildcards))


def case_of(wildcards):
    return parse_case(wildcards.workload, wildcards.variant, wildcards.case)


def planned_case(wildcards):
    """The case of a record; ends the run if it isn't in the plan."""
    path = "/".join([wildcards.workload, wildcards.variant, from_path(wildcards.case)])
    if path not in protocols():
        stop(
            f"{path} is not a case of this configuration: `python -m ladder list` prints its cases; add other "
            "configurations with --configfile."
        )
    return case_of(wildcards)


@functools.cache
def parse_case(workload, variant, path):
    """The case of a path, cached because every function of a job's wildcards needs it."""
    return Case.parse(workload, variant, from_path(path))


def stamp_of(case):
    """The stamp with the code and protocol of one variant's measurements on one problem."""
    code = "-".join([case.workload, case.variant, *(name for _, name in sorted(workloads.used(case)))])
    return f"results/stamps/{code}/{replace(case, tuning={}).slug}.txt"


@functools.cache
def fingerprints():
    """The fingerprint of the code behind every stamp; a job on a cluster's node doesn't need it."""
    return {stamp_of(item.case): sources.fingerprint(item.case) for item in PLAN}


@functools.cache
def protocols():
    """The measuring protocol of every case, as JSON."""
    return {item.case.key: json.dumps(item.protocol) for item in PLAN}


@functools.cache
def stamped_protocols():
    """The protocols of the cases that depend on every stamp, as one text: experiments may have different ones."""
    texts = {}
    for item in PLAN:
        texts.setdefault(stamp_of(item.case), set()).add(protocols()[item.case.key])
    return {stamp: " ".join(sorted(protocols)) for stamp, protocols in texts.items()}


def is_on_gpu(wildcards):
    return workloads.constants(wildcards.workload, wildcards.variant)["DEVICE"] == "cuda"


def threads_of(wildcards):
    """The cores of a job, on a cluster those of each rank: one for a case on this machine's GPU, else all."""
    case, target = case_of(wildcards), target_of(wildcards)
    if SITE and case.ranks > 1:
        return case.threads
    return 1 if is_on_gpu(wildcards) and not SITE else target.cores


def ranks_of(wildcards):
    return case_of(wildcards).ranks


def granted(wildcards, threads):
    """The cores granted to a job; on a cluster Snakemake's own count isn't right."""
    return threads_of(wildcards) * ranks_of(wildcards) if SITE else threads


def target_of_label(wildcards):
    """The first target of a label, which represents all."""
    return next(target for target in TARGETS.values() if target.label == wildcards.machine)


def slurm_resources(target_of):
    """The Slurm resources of a job whose target is a function of the wildcards; none on this machine."""
    names = TARGETS["cpu"].slurm_resources  # the same ones for every target
    resources = {name: lambda wildcards, name=name: target_of(wildcards).slurm_resources[name] for name in names}
    # Another attempt gets more time.
    runtime = {"runtime": lambda wildcards, attempt: attempt * target_of(wildcards).slurm_resources["runtime"]}
    return resources | (runtime if SITE else {})


# One rank needs no launcher. An empty one also keeps Snakemake from starting a Slurm step with cores of its own.
MEASURE_RESOURCES = {"mpi": lambda wildcards: target_of(wildcards).launcher if ranks_of(wildcards) > 1 else ""}
DESCRIBE_RESOURCES = {}
if SITE:
    MEASURE_RESOURCES |= slurm_resources(target_of) | {
        "tasks": ranks_of,
        "cpus_per_task": threads_of,
        "nodes": lambda wildcards: targets.nodes_of(target_of(wildcards), case_of(wildcards)),
        # The same number on every node: of a total, Slurm may allocate more on one node than it has ranks.
        "gres": lambda wildcards: targets.gres_of(target_of(wildcards), case_of(wildcards)),
        "tasks_per_gpu": 0,
    }
    # A job that describes a node gets all of it.
    DESCRIBE_RESOURCES = slurm_resources(target_of_label) | {
        "mpi": "",
        "nodes": 1,
        "cpus_per_task": lambda wildcards: target_of_label(wildcards).cores,
        "gres": lambda wildcards: targets.gres(target_of_label(wildcards).model, target_of_label(wildcards).gpus),
        "tasks_per_gpu": 0,
    }
else:
    # On this machine one job is timed at a time, or one per GPU.
    MEASURE_RESOURCES |= {
        "timing": lambda wildcards: 0 if is_on_gpu(wildcards) else 1,
        "card": lambda wildcards: workloads.gpus(case_of(wildcards)),
    }


def record_of(wildcards):
    return record_path(wildcards.machine, case_of(wildcards).key)


def reference_case(wildcards):
    return or_exit(Case.parse, wildcards.workload, "reference", f"{wildcards.sizes},cache=cold")


def data_of(case):
    """The files of the data that a case reads."""
    return datasets.files_of(case.workload, case.sizes)


def data_option(case):
    """The option that names the data of a case; empty without data."""
    name = datasets.name_of(case.workload, case.sizes)
    return f"--data {datasets.FOLDER}/{name}" if name else ""


def data_for(path, case):
    """The data files of a job that writes a path. Downloaded data stay the same, but an artefact may change."""
    name = datasets.name_of(case.workload, case.sizes)
    return data_of(case) if name and datasets.is_artefact(name) else ancient_if_exists(path, data_of(case))


def reference_of(case):
    """The file of a case's reference, unless that is computed inside the job."""
    sizes = workloads.load(case.workload).reference_sizes(case.sizes)
    if sizes is None:
        return []
    slug = Case(case.workload, "reference", sizes, {}).slug.removesuffix(",cache=cold")
    return f"results/references/{case.workload}/{slug}.npz"


def ceilings_of(case):
    """The file of the machine's ceilings, for the cases that don't measure them."""
    label = targets.target_of(TARGETS, case).label
    has_ceilings = case.key not in CEILING_CASES and label in CEILING_MACHINES
    return f"results/ceilings/{label}.json" if has_ceilings else []


@functools.cache
def figure_constants(figure):
    """The constants of a figure, cached because many functions of a job's wildcards need them."""
    return drawings.constants(figure)


def origin_of(wildcards):
    """The name of the data that an artefact is built from, or None; a published one is not built."""
    return None if published_sum(wildcards) else datasets.artefacts(wildcards.workload).get(wildcards.artefact)


def published_sum(wildcards):
    """The sha256 of a published artefact, which is unpacked instead of built; None for others."""
    return published.sum_of(wildcards.workload, wildcards.artefact)


def tables_of(figure):
    """The folders of the tables that a figure reads."""
    return expand("results/tables/{experiment}", experiment=figure_constants(figure)["EXPERIMENTS"])


def ceilings_for(figure):
    """The file of ceilings that a figure reads, in a list; empty if it reads none or there are none."""
    return ROOFS if figure_constants(figure)["USES_CEILINGS"] else []


def figure_data(figure):
    """The name of the data that a figure shows, that of its workload's first case with data; empty without one."""
    if not figure_constants(figure)["USES_DATA"]:
        return ""
    workload = drawings.workload(figure)
    cases = (item.case for item in PLAN if item.case.workload == workload)
    return next(filter(None, (datasets.name_of(case.workload, case.sizes) for case in cases)), "")


def figure_artefacts(figure):
    """The artefacts that a figure shows: {file: path}."""
    workload, names = drawings.workload(figure), figure_constants(figure)["USES_ARTEFACTS"]
    return {name: path for name in names for path in datasets.files(f"{workload}/{name}")}


@functools.cache
def figure_inputs(figure):
    """The files of data and artefacts that a figure shows; None if one isn't available and no other job needs it."""
    name = figure_data(figure)
    if figure_constants(figure)["USES_DATA"] and not name:
        return None
    workload, names = drawings.workload(figure), [name] if name else []
    names += [f"{workload}/{file}" for file in figure_artefacts(figure)]
    is_measured = CONFIG["measure"] and any(item.case.workload == workload for item in PLAN)
    if not is_measured and not all(map(is_available, names)):
        return None
    return [path for name in names for path in datasets.files(name)]


def is_available(name):
    """Whether data exist, or are built only from published data."""
    if all(Path(file).exists() for file in datasets.files(name)):
        return True
    if not datasets.is_artefact(name):
        return False
    workload, _, file = name.partition("/")
    origin = datasets.artefacts(workload)[file]
    return bool(published.sum_of(workload, file) or origin is None or is_available(origin))


def code_of(verb):
    """The fingerprint of the code behind a verb that writes about the study, including that of all chapters."""
    modules = [f"ladder.workloads.{workload}.paper.{verb}" for workload in workloads.names()]
    for chapter in chapters.chapters():
        modules += chapters.data_modules(chapter.workload, chapter.folder, chapters.DATA)
    return sources.of(f"ladder.verbs.{verb}", *filter(imports.module_path, modules))


def chapters_fingerprint():
    """The fingerprint of all that the paper reads of chapters: their order, titles, texts and captions."""
    texts = json.dumps(chapters.texts() | captions.text())
    return hashlib.sha256(texts.encode()).hexdigest()[:16]


def digest_of(paths):
    """A digest of the contents of files."""
    return hashlib.sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()[:16]


def sensitivity_cases():
    """The cases into whose results errors are injected, those that this machine can run."""
    cases = sensitivity.cases(CONFIG["sensitivity"])
    return [case for case in cases if not plan.skip_reason(case, True, TARGETS["cpu"])]


def sensitivity_code():
    """The fingerprint of the code behind the sensitivity, including that of the cases' workloads and variants."""
    roots = {root for case in sensitivity_cases() for root in sources.roots_of(case)}
    return sources.of("ladder.verbs.sensitivity", "ladder.devices.host", *sorted(roots))


def study_arguments():
    """The arguments of verbs that write about the whole study."""
    return [
        *TABLE_FOLDERS,
        f"--machine={MACHINE}",
        *(f"--description={path}" for path in DESCRIPTIONS),
        *(f"--roofs={path}" for path in ROOFS),
    ]


BINARIES = sorted({path for item in FULL_PLAN for path in binaries_of(item.case, ARCHITECTURES)})
