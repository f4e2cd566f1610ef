"""The verbs of the command line, a module each: its docstring is the verb's help.

Each has `add_arguments`, which declares them, and `run`, which is given them parsed.
`python -m ladder VERB` imports the module of that verb alone, so that a job starts fast.
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
