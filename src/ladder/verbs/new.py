"""Write a new variant (by default a copy of the plainest one on a device) or a new workload; either runs as it is."""

import os
from pathlib import Path

from ladder.catalogue import locations, scaffolding
from ladder.machine import programs

EXAMPLES = """\
  ladder new gemm/mine --device cuda
  ladder new gemm/mine --from tiled --folder ~/kernels
  ladder new workload/spmv"""


def add_arguments(parser):
    parser.add_argument("name", help="such as gemm/mine, a new variant of gemm, or workload/spmv, a new workload")
    parser.add_argument("--device", default="host", help="where its arrays are: host (default), cuda, mpi, ...")
    parser.add_argument(
        "--from", dest="origin", metavar="VARIANT", help="the variant to copy (default: the first rung)"
    )
    parser.add_argument("--folder", help="folder of workloads (default: the first of LADDER_VARIANTS or the project's)")


def run(options):
    paths, words = scaffolding.create(options.name, options.device, options.origin, options.folder)
    print(*(f"Wrote {os.path.relpath(path)}." for path in paths), sep="\n")
    folder = Path(options.folder).expanduser().absolute() if options.folder else None
    is_searched = folder is None or any(folder.samefile(root) for root in locations.roots())
    variable = "" if is_searched else f"LADDER_VARIANTS={folder} "
    print(f"Try it:  {variable}{programs.ladder_command()} run {' '.join(words)} --quick")
    is_workload = options.name.startswith(f"{scaffolding.WORKLOAD_WORD}/")
    document = "docs/how-to/workload.md" if is_workload else "docs/how-to/variant.md"
    print(f"{document} says how it becomes part of the study.")
