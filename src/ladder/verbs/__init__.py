"""The verbs of the command line, one module each, whose docstring is the verb's help.

Each has `add_arguments`, which declares its arguments, and `run`, which gets them parsed. `python -m ladder VERB`
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
