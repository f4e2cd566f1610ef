# Plain `snakemake` in this folder runs the workflow.
include: "workflow/Snakefile"


# Snakemake forgets the default target of an included file.
workflow.default_target = "all"
