"""Test whether Slurm accepts the jobs of a cluster's description, `cluster/site.yaml`, before any is submitted."""

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ladder.catalogue import traits
from ladder.errors import LadderError
from ladder.machine import programs
from ladder.planning.plan import is_installed
from ladder.records.case import Case

TIMEOUT = 60  # seconds for a Slurm command to answer
# Seconds for which jobs of a killed run may end by themselves. If a job is cancelled whose record is complete, the
# Snakemake in it deletes the record, although this run has planned without the case.
ENDING_SECONDS = 5
# What Slurm's commands say without a configuration or without an answer of the controller.
UNREACHABLE = re.compile(
    "configuration source|s_p_parse_file|unable to contact slurm controller|connection (?:refused|timed out)|"
    "unable to connect to slurm|zero bytes were transmitted",
    re.IGNORECASE,
)


def require_accepted(site: Mapping[str, Any], path: Path | str, kinds: Iterable[str]) -> None:
    """Have Slurm test the largest job on each of these kinds of nodes. Nothing is submitted.

    `site` is the validated description that was read from the file `path`. Raises LadderError naming the key to change,
    or if there is no Slurm that answers.
    """
    if not shutil.which("sbatch"):
        raise LadderError(
            "There is no `sbatch` here: run `snakemake --profile cluster` on a login node of the cluster."
        )
    for kind in kinds:
        nodes = site["nodes"][kind]
        options = options_of(nodes, site)
        if reason := refusal(options):
            if UNREACHABLE.search(reason):
                raise LadderError(f"Slurm can't be reached from here: {reason}. Start on a login node of the cluster.")
            wrong_keys = [key for key in options if not refusal({**options, key: []})]
            if not wrong_keys and not site["account"] and "account" in reason:
                wrong_keys = ["account"]
            values = {name: "null" if value is None else value for name, value in (site | nodes).items()}
            change = " or ".join(f"`{key}: {values[key]}`" for key in wrong_keys)
            raise LadderError(
                f"Slurm refuses jobs for the nodes `{kind}` of {path}: {reason}. "
                + (f"Change {change} there. " if wrong_keys else "No single key is to blame. ")
                + '`sinfo -o "%P %D %c %m %G %l"` lists what the cluster has.'
            )
    for account in (site["account"] or "").split(","):
        if account:
            require_account(account, path)


def options_of(nodes: Mapping[str, Any], site: Mapping[str, Any]) -> dict[str, list[str]]:
    """sbatch's options for the largest job on one kind of nodes: {key of the description: [option, ...]}."""
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


def refusal(options: Mapping[str, Sequence[str]]) -> str | None:
    """Why Slurm refuses a job with the options of `options_of`; None if it accepts the job."""
    result = run("sbatch", "--test-only", *itertools.chain.from_iterable(options.values()), "--wrap", "true")
    text = " ".join(
        result.stderr.replace("sbatch: error: ", "").replace("allocation failure: ", "").split("\n")
    ).strip()
    return (text or f"sbatch ended with status {result.returncode}") if result.returncode else None


def require_account(account: str, path: Path | str) -> None:
    """Raises LadderError for an account that the user can't use, as Snakemake's executor would for every job."""
    from snakemake.logging import logger
    from snakemake_executor_plugin_slurm.accounts import validate_account
    from snakemake_interface_common.exceptions import WorkflowError

    try:
        validate_account(account, logger)
    except (WorkflowError, OSError) as error:
        reason = " ".join(str(error).split())
        raise LadderError(
            f"Snakemake can't submit to `account: {account}` of {path}, so change that: {reason}"
        ) from None


def require_plain_path(python: str = sys.executable) -> None:
    """Raises LadderError for a path of Python that a shell would split: Snakemake passes it to jobs unquoted."""
    if shlex.quote(python) != python:
        raise LadderError(
            f"Jobs of a cluster can't start {python}: Snakemake writes this path without quotation marks. Move the "
            "project to a folder without blanks and special characters in its path, and run `make setup` there."
        )


def refuse_arrays(settings: Any) -> None:
    """Raises LadderError if the executor's settings ask for job arrays.

    With version 2.8.0 of the plug-in, a task that fails deletes the output of another one, and all tasks of an array
    get the nodes, cores and GPUs of the first.
    """
    if settings.array_jobs:
        raise LadderError(
            "Job arrays can't be used: a case that fails would cost another one its record. Start again without "
            "`--slurm-array-jobs`."
        )


def require_packages(cases: Iterable[Case]) -> None:
    """Raises LadderError if cases require GPUs and CuPy isn't installed, since every such job would fail."""
    if any(traits.gpus(case) for case in cases) and not is_installed("cupy"):
        raise LadderError(
            "There are cases for the cluster's GPUs, but CuPy isn't installed: `make setup GPU=1` installs it. "
            "Without `gpu` in the description of the cluster such cases are skipped."
        )


def cancel_stray_jobs(timeout: int = 60) -> list[str]:
    """Cancel the Slurm jobs that a killed run in this folder has left; returns their numbers.

    The caller holds the lock of this folder, and submits the same cases again afterwards; each is to be measured
    only once. Raises LadderError if jobs remain after `timeout` seconds.
    """
    end_of_waiting = time.monotonic() + ENDING_SECONDS
    while (cancelled := stray_jobs()) and time.monotonic() < end_of_waiting:
        time.sleep(1)
    remaining, deadline = cancelled, time.monotonic() + timeout
    while remaining:
        if time.monotonic() > deadline:
            raise LadderError(
                f"The jobs {' '.join(remaining)} of an earlier run don't end: cancel them with `scancel`, then "
                "start again."
            )
        output_of("scancel", "--quiet", *remaining)  # some may have ended meanwhile
        time.sleep(1)
        remaining = stray_jobs()
    return cancelled


def stray_jobs() -> list[str]:
    """The numbers of the user's measurements in Slurm that were submitted from this folder."""
    numbers = []
    for line in output_of("squeue", "--me", "--noheader", "--format=%i|%k|%Z").splitlines():
        number, _, rest = line.partition("|")
        comment, _, folder = rest.rpartition("|")  # the comment of another job of the user's may be anything
        if comment.startswith("rule_") and os.path.realpath(folder) == str(Path.cwd()):
            numbers.append(number)
    return numbers


def output_of(*command: str) -> str:
    """The output of a Slurm command. Raises LadderError with its message if it fails."""
    result = run(*command)
    if result.returncode:
        raise LadderError(f"`{command[0]}` of Slurm fails: {result.stderr.strip()}")
    return result.stdout


def run(*command: str) -> subprocess.CompletedProcess:
    """Run a Slurm command; returns the completed process. Raises LadderError if it doesn't end."""
    try:
        return programs.run(*command, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise LadderError(f"Slurm hasn't answered `{command[0]}` for {TIMEOUT} s: try again later.") from None
