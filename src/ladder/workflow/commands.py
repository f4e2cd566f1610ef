"""The command lines of jobs, and the variables that they inherit."""

import os
import sys
from dataclasses import dataclass

from ladder.machine import revision, variables
from ladder.records import campaigns
from ladder.workflow.mistakes import ending_run

# What a user has exported for Bash would affect every command: with noclobber a log can't be overwritten.
OF_BASH = ("BASH_ENV", "SHELLOPTS", "BASHOPTS", "CDPATH")


@dataclass(frozen=True)
class Commands:
    """Command lines for jobs of this machine or of a cluster.

    `is_deployed` says whether they run in an environment that Snakemake makes, else in that of Snakemake itself.
    """

    is_on_cluster: bool
    is_deployed: bool

    def ladder(self, verb, wrapper=""):
        """The command line of a verb, which replaces its shell so that it ends with a killed run."""
        return self.module(f"ladder {verb}", wrapper)

    def module(self, module, wrapper=""):
        """The command line of a Python module that ends with the run."""
        python = 'env PYTHONPATH="$LADDER_CODE" python' if self.is_deployed else '"$LADDER_PYTHON"'
        # A container's runtime may be between Snakemake and the command; otherwise Snakemake is its parent.
        parent = 'LADDER_PARENT="$PPID $$" ' if self.is_on_cluster or self.is_deployed else ""
        return f"{parent}exec {wrapper} {python} -m {module} "

    def on_node(self, verb):
        """The command line of a verb that runs on a node of the cluster, if there is one, after the node's prelude.

        Environment modules expect unset variables to be empty. Variables of runtimes are unset before the prelude, so
        that a measurement keeps only those that the prelude sets. Each rank gets its own cores.
        """
        if not self.is_on_cluster:
            return self.ladder(verb)
        prelude = 'set +u; eval "$LADDER_UNSET"; eval "$LADDER_PRELUDE"; set -u\n'
        binding = "export SLURM_CPU_BIND=cores SRUN_CPUS_PER_TASK={resources.cpus_per_task}\n"
        nodes = "export LADDER_NODES={resources.nodes}\n"
        return prelude + binding + nodes + self.ladder(verb, "$LADDER_WRAPPER")


@ending_run()
def set_variables(plan, workflow):
    """Set the variables of this process that its jobs inherit.

    In commands or parameters of rules a moved folder, or another prelude of a cluster, would have everything measured
    again; the project's path may have blanks, too. Ends the run if LADDER_COMMIT is no commit.
    """
    for name in OF_BASH:
        os.environ.pop(name, None)
    os.environ |= {"LADDER_PYTHON": sys.executable, "LADDER_CODE": f"{workflow.basedir}/src"}
    os.environ |= {"PYTHONSAFEPATH": variables.FIXED["PYTHONSAFEPATH"]}
    if workflow.is_main_process:
        os.environ[campaigns.VARIABLE] = campaigns.name_of()
    # The process whose death ends the verbs of the rules.
    os.environ |= {"LADDER_PARENT": str(os.getpid())}
    if plan.site:
        os.environ |= {"LADDER_PRELUDE": plan.site["prelude"], "LADDER_WRAPPER": plan.site["wrapper"]}
        os.environ |= {"LADDER_UNSET": variables.unset_families()}
    if workflow.is_main_process and plan.config["measure"]:
        # Jobs would determine the same revision, and on a node without git they can't.
        source, of_revision = revision.for_jobs()
        os.environ |= {"LADDER_COMMIT": revision.format(source)} if plan.site else of_revision
