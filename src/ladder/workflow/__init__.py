"""What the rules of the Snakefile call: the plan of the study, and what each kind of job reads, takes and starts.

Methods of `wildcards` are what a rule names: Snakemake calls them with the wildcards of a job, whose attributes are the
parts of its output's path.
"""
