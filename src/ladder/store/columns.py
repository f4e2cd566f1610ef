"""What the columns of the tables mean: the only descriptions of them, for documents and for data packages.

Columns of the harness are in TABLES, those of several workloads in SHARED_MEANINGS; a workload's other sizes, tunings,
facts and numbers of a curve are in the literal COLUMNS of its folder's `columns.py`.
"""

import functools
from collections.abc import Mapping
from typing import NamedTuple

from ladder.catalogue import literals, locations

STRING, INTEGER, NUMBER, BOOLEAN = "string", "integer", "number", "boolean"  # types of Frictionless's table schema


class Column(NamedTuple):
    """A column: what it means, its type (None: that of its values) and its unit, None without one."""

    meaning: str
    kind: str | None = None
    unit: str | None = None


CASE = {
    "machine": Column("the label of the machine that measured the case", STRING),
    "experiment": Column("the experiment that the case belongs to; a case may belong to several", STRING),
    "workload": Column("the system", STRING),
    "variant": Column("the implementation: a rung of the system's ladder, or a peer", STRING),
    "case": Column("the sizes, the cache protocol and the tuning, which are columns of their own too", STRING),
    "cache": Column("whether caches were emptied before each sample (cold) or not (warm)", STRING),
}
PROCESS = {"process": Column("the number of the process, from 0, within its case and campaign", INTEGER)}
# The columns of each table besides those of a case, in the order in which documents list them.
TABLES = {
    "samples": PROCESS
    | {
        "sample": Column("the number of the timed call, or of the pass that times phases, within its process", INTEGER),
        "phase": Column("`total` for a timed call, else the part of a pass that was timed by itself", STRING),
        "seconds": Column("the time", NUMBER, "s"),
        "device": Column(
            "where the arrays live: host, cuda, mpi (ranks), mpi_cuda (a GPU for each rank), or offload (arrays on the "
            "host, work on GPUs)",
            STRING,
        ),
        "threads_found": Column("threads of the runtime with the most, read back in the process", INTEGER),
        "flops": Column("floating-point operations of a call", NUMBER, "FLOP"),
        "bytes": Column("bytes that a call must move, at least", NUMBER, "B"),
        "precision": Column("the precision of the arithmetic: the dtype, or what tensor cores round to", STRING),
        "converged": Column("whether the interval of the median became as narrow as the protocol asks", BOOLEAN),
        "commit": Column("the commit that measured the case, with `-dirty` behind it if files had changed", STRING),
        "campaign": Column("the stretch of measuring, within which ratios are taken", STRING),
        "host": Column("a digest of the host", STRING),
        "gpu": Column("digests of the GPUs, separated by blanks", STRING),
        "throttled": Column("whether the process's GPU was throttled for power or heat", BOOLEAN),
        "joules": Column("energy of a run, averaged over at least a second of runs", NUMBER, "J"),
        "sustained": Column("time of a run, averaged over at least a second of runs", NUMBER, "s"),
        "cold_start": Column(
            "time of the process's set-up and first call, after its libraries and inputs are loaded; of ranks invalid, "
            "since some waited for others and for the start of GPUs",
            NUMBER,
            "s",
        ),
        "cold_start_of_ranks": Column("`cold_start` of ranks that begin together, with GPUs at work", NUMBER, "s"),
        "nodes": Column("nodes that the ranks ran on", INTEGER),
        "imbalance": Column("of a phase on several ranks, the time of the slowest over their mean", NUMBER),
    },
    "checks": PROCESS
    | {
        "check": Column("what was compared with the reference", STRING),
        "error": Column("the largest error, in the unit of `bound`", NUMBER),
        "bound": Column("the largest error that passes, from the arithmetic", NUMBER),
    },
    "curves": PROCESS,
    "traces": PROCESS
    | {
        "lane": Column("what the event happened on, such as a stream or a copy engine", STRING),
        "name": Column("the event", STRING),
        "start": Column("when the event began, since the start of the run", NUMBER, "s"),
        "end": Column("when the event ended, since the start of the run", NUMBER, "s"),
    },
    "missing": {"why": Column("why the case has no measurement", STRING)},
    "counters": {
        "kernel": Column("the kernel", STRING),
        "launches": Column("launches of the kernel that were counted", INTEGER),
        "kernel_seconds": Column("time of all these launches", NUMBER, "s"),
        "issue": Column("share of the cycles in which a scheduler issued an instruction", NUMBER),
        "pipe": Column("the execution unit nearest to its peak rate", STRING),
        "pipe_share": Column("share of that rate", NUMBER),
        "dram_share": Column("share of the peak rate of the GPU's memory", NUMBER),
        "l2_share": Column("share of the peak rate of the L2 cache", NUMBER),
        "l1_share": Column("share of the peak rate of the L1 caches with shared memory", NUMBER),
        "stall": Column("what resident warps waited for most often, in ncu's words", STRING),
        "stall_share": Column("share of the warps' time", NUMBER),
        "commit": Column("the commit that the kernel is of", STRING),
        "gpu": Column("digests of the GPUs, separated by blanks", STRING),
    },
}
# What identifies a row. Points of curves have no such columns: which number counts them depends on the workload.
CASE_KEY = ("experiment", "workload", "variant", "case")
KEYS = {
    "samples": (*CASE_KEY, "process", "sample", "phase"),
    "checks": (*CASE_KEY, "process", "check"),
    "traces": (*CASE_KEY, "process", "lane", "name", "start"),
    "missing": CASE_KEY,
    "counters": (*CASE_KEY, "kernel"),
}
SHARED_MEANINGS = {
    "dtype": "the type of the arrays",
    "seed": "the seed of the inputs",
    "source": "the data set of the images",
    "threads": "threads of a process, or of each MPI rank",
    "ranks": "MPI ranks",
    "gpus": "GPUs",
    "block": "threads of a block",
    "math": "the type to which tensor cores round operands; default: none",
    "flags": "the set of compiler flags, as in `src/ladder/build/libraries.py`",
    "product": "the variant of gemm that computes products",
    "graph": "whether the kernels of a call are one CUDA graph",
    "compiled": "whether `torch.compile` is applied",
}


def of_workload(workload: str) -> dict[str, Column]:
    """The columns that a workload describes, {name: Column}; empty for an unknown workload, or one without any."""
    path = locations.module_path(workload, "columns")
    return as_columns(literals.read(path).get("COLUMNS", {})) if path else {}


def as_columns(descriptions: Mapping[str, tuple[str, str] | str]) -> dict[str, Column]:
    """{name: Column} of {name: meaning or (meaning, unit)}."""
    pairs = {name: (text, None) if isinstance(text, str) else text for name, text in descriptions.items()}
    return {name: Column(meaning, unit=unit) for name, (meaning, unit) in pairs.items()}


@functools.cache
def find(table: str, name: str, workload: str) -> Column | None:
    """The Column of this name in a table's rows of a workload; None for one that nothing describes."""
    harness_columns = CASE | TABLES[table]
    if name in harness_columns:
        return harness_columns[name]
    if name.isupper():
        return Column(f"the environment variable `{name}`", STRING)
    return (as_columns(SHARED_MEANINGS) | of_workload(workload)).get(name)


def describe(table: str, name: str, workload: str) -> Column:
    """As `find`, and for a column that nothing describes, such as one of a user's workload, a Column that says so."""
    return find(table, name, workload) or Column(f"a size, a tuning or a result of {workload}, which doesn't say more")
