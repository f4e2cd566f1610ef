"""The verbs (subcommands) of the command line, one module each; the module's docstring is the verb's help.

A module has `add_arguments(parser)` and `run(options)`, which gets the parsed arguments. `python -m ladder VERB`
imports only the module of that verb, so that a job starts fast.
"""

# In the order of the help.
VERBS = (
    "list",
    "status",
    "data",
    "artefact",
    "reference",
    "build",
    "precompile",
    "run",
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
    "compare",
    "train",
    "generate",
    "publish",
    "numbers",
    "tables",
    "paper",
    "proof",
    "describe",
)
