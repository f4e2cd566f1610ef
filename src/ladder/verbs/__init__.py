"""The verbs (subcommands) of the command line, one module each; the module's docstring is the verb's help.

A module has `add_arguments(parser)` and `run(options)`, which gets the parsed arguments, and may have `EXAMPLES`, lines
for its help. `python -m ladder VERB` imports only the module of that verb, so that a job starts fast.
"""

# The verbs that users call, in the order of the help.
FOR_USERS = (
    "new",
    "run",
    "profile",
    "compare",
    "show",
    "measure",
    "list",
    "status",
    "data",
    "artefact",
    "train",
    "generate",
    "publish",
    "counters",
    "completion",
)
VERBS = (
    "list",
    "status",
    "show",
    "data",
    "artefact",
    "reference",
    "build",
    "precompile",
    "new",
    "run",
    "profile",
    "measure",
    "campaign",
    "turns",
    "publish_campaign",
    "ceilings",
    "roofs",
    "collect",
    "sensitivity",
    "table",
    "figure",
    "overview",
    "site",
    "compare",
    "train",
    "generate",
    "publish",
    "counters",
    "package",
    "numbers",
    "tables",
    "paper",
    "crate",
    "proof",
    "describe",
    "completion",
)

EXAMPLES = """\
  ladder run gemm/tiled gemm/blas m=512 n=512 k=512 --quick
  ladder run gemm/cuda_tiled m=4096 n=4096 k=4096 --sweep bm=32,64,128
  ladder list --rungs
  ladder VERB --help"""
