"""The command lines of jobs, and the environment variables that they inherit."""

import os
import sys
from dataclasses import dataclass

from ladder.machine import revision, variables
from ladder.records import campaigns
from ladder.workflow import deployment
from ladder.workflow.mistakes import end_run_on_mistake

# Settings of Bash that a user may have exported would affect every command: with noclobber no log can be overwritten.
BASH_VARIABLES = ("BASH_ENV", "SHELLOPTS", "BASHOPTS", "CDPATH")


@dataclass(frozen=True)
class Commands:
    """Command lines for jobs of this machine or of a cluster.

    With `is_deployed` they run in an environment that Snakemake creates, else in that of Snakemake itself.
    """

    is_on_cluster: bool
    is_deployed: bool

    def ladder(self, verb, wrapper=""):
        """The command line of a verb."""
        return self.module(f"ladder {verb}", wrapper)

    def module(self, module, wrapper=""):
        """The command line of a Python module; it replaces its shell (exec), so that it ends when the run is killed."""
        python = 'env PYTHONPATH="$LADDER_CODE" python' if self.is_deployed else '"$LADDER_PYTHON"'
        return f"exec {wrapper} {python} -m {module} "

    def on_node(self, verb):
        """The command line of a verb on a node of the cluster, after the node's prelude; `ladder` without a cluster.

        Environment modules read unset variables, hence `set +u`. Variables of runtimes are unset before the prelude, so
        that a measurement keeps only those that the prelude sets. Each rank is bound to its own cores.
        """
        if not self.is_on_cluster:
            return self.ladder(verb)
        prelude = 'set +u; eval "$LADDER_UNSET"; eval "$LADDER_PRELUDE_{resources.kind}"; set -u\n'
        binding = "export SLURM_CPU_BIND=cores SRUN_CPUS_PER_TASK={resources.cpus_per_task}\n"
        nodes = "export LADDER_NODES={resources.nodes}\n"
        return prelude + binding + nodes + self.ladder(verb, "$LADDER_WRAPPER_{resources.kind}")


@end_run_on_mistake()
def set_variables(plan, workflow):
    """Set the environment variables of this process that its jobs inherit.

    If they were in the rules' commands or parameters, all cases would be measured again after a move of the folder or a
    change of a cluster's prelude, most other rules would run again after a switch between this machine and a cluster,
    and blanks in the project's path would split words. Ends the run if LADDER_COMMIT isn't a commit.
    """
    for name in BASH_VARIABLES:
        os.environ.pop(name, None)
    os.environ |= {"LADDER_PYTHON": sys.executable, "LADDER_CODE": f"{plan.root}/src"}
    os.environ |= {"PYTHONSAFEPATH": variables.FIXED_VARIABLES["PYTHONSAFEPATH"]}
    # NumPy's import starts a thread of OpenBLAS per CPU, which few jobs need: these have an environment of their own.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1"}
    if workflow.is_main_process:
        os.environ[campaigns.VARIABLE] = campaigns.new_name()
    if plan.image:
        deployment.bind_folders(plan.root)
    # The verbs that the rules start end when this process ends. On a node it is the Snakemake that runs the job there.
    os.environ |= {"LADDER_PARENT": str(os.getpid())}
    if plan.site:
        for kind, nodes in plan.site["nodes"].items():
            wrapper = plan.site["wrapper"] if nodes["wrapper"] is None else nodes["wrapper"]
            os.environ[f"LADDER_PRELUDE_{kind}"] = f"{plan.site['prelude']}\n{nodes['prelude']}"
            os.environ[f"LADDER_WRAPPER_{kind}"] = wrapper
        os.environ |= {"LADDER_UNSET": variables.unset_runtime_variables()}
    if workflow.is_main_process and plan.config["measure"]:
        # The revision is determined once for all jobs; a node of a cluster may have no git.
        source, revision_variables = revision.for_jobs()
        os.environ |= {"LADDER_COMMIT": revision.format(source)} if plan.site else revision_variables
