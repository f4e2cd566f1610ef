"""Whether Slurm takes the jobs that a cluster's description, `cluster/site.yaml`, asks for, before any is submitted."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.machine import programs
from ladder.planning.plan import is_installed

ANSWER = 60  # seconds that Slurm may take


def require_accepted(site, path, kinds):
    """Ask Slurm about the largest job on some kinds of nodes of a checked site, which was read from a file.

    Raises LadderError naming the key to change, and where there is no Slurm to ask.
    """
    if not shutil.which("sbatch"):
        raise LadderError(
            "There is no `sbatch` here: run `snakemake --profile cluster` on a login node of the cluster."
        )
    for kind in kinds:
        nodes = site["nodes"][kind]
        require_free(nodes["options"], f"nodes.{kind}.options of {path}")
        options = options_of(nodes, site)
        if said := refusal(options):
            wrong = [key for key in options if not refusal({**options, key: []})]
            if not wrong and not site["account"] and "account" in said:
                wrong = ["account"]
            values = {name: "null" if value is None else value for name, value in (site | nodes).items()}
            change = " or ".join(f"`{key}: {values[key]}`" for key in wrong)
            raise LadderError(
                f"Slurm refuses jobs for the nodes `{kind}` of {path}: {said}. "
                + (f"Change {change} there. " if wrong else "No single key is to blame. ")
                + '`sinfo -o "%P %D %c %m %G %l"` lists what the cluster has.'
            )
    for account in (site["account"] or "").split(","):
        if account:
            require_account(account, path)


def require_free(options, where):
    """Raises LadderError for options of sbatch that Snakemake's executor keeps for itself."""
    from snakemake_executor_plugin_slurm.validation import get_forbidden_slurm_options

    for pattern, name in get_forbidden_slurm_options().items():
        if re.search(pattern, " ".join(options)):
            raise LadderError(
                f"The {name} can't be among nodes' options, since Snakemake sets it: remove it from {where}, and use "
                "the key that docs/cluster.md has for it."
            )


def options_of(nodes, site):
    """What sbatch is asked for by the largest job on a kind of nodes of a site: {key of the description: options}."""
    gpus = f"{nodes['model']}:{nodes['gpus']}" if nodes["model"] else nodes["gpus"]
    return {
        "account": [f"--account={site['account']}"] if site["account"] else [],
        "qos": [f"--qos={site['qos']}"] if site["qos"] else [],
        "partition": [f"--partition={nodes['partition']}"],
        "count": [f"--nodes={nodes['count']}", f"--ntasks={nodes['count']}"],
        "cores": [f"--cpus-per-task={nodes['cores']}"],
        "memory": [f"--mem={nodes['memory']}"],
        "minutes": [f"--time={nodes['minutes']}"],
        "gpus": [f"--gpus-per-node={gpus}"] if nodes["gpus"] else [],
        "constraint": [f"--constraint={nodes['constraint']}"] if nodes["constraint"] else [],
        "options": ["--exclusive", *shlex.split(" ".join(nodes["options"]))],
    }


def refusal(options):
    """What Slurm says against a job with these options of sbatch, by their keys; None when it would take it."""
    command = ["sbatch", "--test-only", *(option for some in options.values() for option in some), "--wrap", "true"]
    done = answer(*command)
    said = " ".join(done.stderr.replace("sbatch: error: ", "").replace("allocation failure: ", "").split("\n")).strip()
    return (said or f"sbatch ended with status {done.returncode}") if done.returncode else None


def require_account(account, path):
    """Raises LadderError for an account that the user has no part in, as Snakemake's executor would for every job."""
    from snakemake.logging import logger
    from snakemake_executor_plugin_slurm.accounts import validate_account
    from snakemake_interface_common.exceptions import WorkflowError

    try:
        validate_account(account, logger)
    except (WorkflowError, OSError) as error:
        said = " ".join(str(error).split())
        raise LadderError(f"Snakemake can't submit to `account: {account}` of {path}, so change that: {said}") from None


def require_plain(python=sys.executable):
    """Raises LadderError for a path of Python that isn't one word to a shell: Snakemake gives it to jobs as it is."""
    if shlex.quote(python) != python:
        raise LadderError(
            f"Jobs of a cluster can't start {python}: Snakemake writes this path without quotation marks. Move the "
            "project to a folder without blanks and signs of the shell in its path, and run `make setup` there."
        )


def require_packages(cases):
    """Raises LadderError when cases are for GPUs and CuPy isn't installed, with which every job would end."""
    if any(workloads.cards(case) for case in cases) and not is_installed("cupy"):
        raise LadderError(
            "There are cases for the cluster's GPUs, but CuPy isn't installed: `make setup GPU=1` installs it. "
            "Without `gpu` in the description of the cluster such cases are left out."
        )


def cancel_stray(limit=60):
    """Cancel what an earlier run in this folder, which was killed, has left in Slurm; the numbers of these jobs.

    Called by a run that has this folder for itself and submits the same cases anew: each is measured once. Raises
    LadderError when jobs are still there after so many seconds.
    """
    stray = stray_jobs()
    deadline = time.monotonic() + limit
    left = stray
    while left:
        if time.monotonic() > deadline:
            raise LadderError(
                f"The jobs {' '.join(left)} of an earlier run don't end: cancel them by `scancel`, then run it again."
            )
        asked("scancel", "--quiet", *left)  # which some may have ended before
        time.sleep(1)
        left = stray_jobs()
    return stray


def stray_jobs():
    """The numbers of the user's measurements in Slurm that were submitted from this folder."""
    lines = asked("squeue", "--me", "--noheader", "--format=%i|%k|%Z").splitlines()
    found = []
    for line in lines:
        number, _, rest = line.partition("|")
        comment, _, folder = rest.rpartition("|")  # a comment of the user's own jobs may be anything
        if comment.startswith("rule_") and os.path.realpath(folder) == str(Path.cwd()):
            found.append(number)
    return found


def asked(*command):
    """What a program of Slurm's prints. Raises LadderError with its words when it fails."""
    done = answer(*command)
    if done.returncode:
        raise LadderError(f"Slurm can't be asked: `{command[0]}` says {done.stderr.strip()}")
    return done.stdout


def answer(*command):
    """A program of Slurm's that has ended, and what it said. Raises LadderError when it doesn't end."""
    try:
        return programs.run(*command, timeout=ANSWER)
    except subprocess.TimeoutExpired:
        raise LadderError(f"Slurm hasn't answered `{command[0]}` for {ANSWER} s: try again when it does.") from None
