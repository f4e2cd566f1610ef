"""The description of a cluster, such as `cluster/site.yaml`: validated, with defaults filled in."""

import copy
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ladder.errors import LadderError
from ladder.machine import programs
from ladder.planning.configuration import fill_defaults, require_fit

SCHEMA_FILE = Path(__file__).with_name("site.schema.json")


def validate(site: Any, path: Path | str) -> dict[str, Any]:
    """A validated copy of a cluster's description, read from `path`, with defaults filled in. Raises LadderError."""
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    site = copy.deepcopy(site)
    subject = f"The cluster's description {path}"
    require_fit(site, schema, subject, "See docs/how-to/cluster.md for every key.")
    fill_defaults(site, schema)
    for kind, nodes in site["nodes"].items():
        fill_defaults(nodes, schema["$defs"]["kind"])
        for key, text in (("launcher", nodes["launcher"]), ("options", " ".join(nodes["options"]))):
            if text:
                programs.split_command(text, f"{subject} is wrong: nodes.{kind}.{key}")
        refuse_reserved_options(nodes["options"], f"nodes.{kind}.options of {path}")
        if nodes["count"] > 1 and kind == "cpu":
            raise LadderError(
                f"{subject} is wrong at nodes.cpu.count: only MPI ranks, of nodes.mpi and nodes.gpu, can be on several "
                "nodes at once."
            )
        if nodes["share"] and kind != "gpu":
            raise LadderError(f"{subject} is wrong at nodes.{kind}.share: only cases on one GPU share a node.")
    require_labels(site["nodes"], subject)
    return site


def require_labels(nodes: Mapping[str, Mapping[str, Any]], subject: str) -> None:
    """Raises LadderError if kinds of nodes with different numbers of cores have one label: their results would mix."""
    first_kinds: dict[str, str] = {}
    for kind, keys in nodes.items():
        first_kind = first_kinds.setdefault(keys["machine"], kind)
        if keys["cores"] != nodes[first_kind]["cores"]:
            raise LadderError(
                f"{subject} is wrong at nodes.{kind}.machine: nodes.{first_kind} has the same label, "
                f"{keys['machine']}, but {nodes[first_kind]['cores']} cores in place of {keys['cores']}. Different "
                "nodes need different labels."
            )


def refuse_reserved_options(options: Sequence[str], where: str) -> None:
    """Raises LadderError for options of sbatch that Snakemake's executor sets itself."""
    from snakemake_executor_plugin_slurm.validation import get_forbidden_slurm_options

    for pattern, name in get_forbidden_slurm_options().items():
        if re.search(pattern, " ".join(options)):
            raise LadderError(
                f"The {name} can't be among nodes' options, since Snakemake sets it: remove it from {where}, and use "
                "the key for it in docs/how-to/cluster.md."
            )
