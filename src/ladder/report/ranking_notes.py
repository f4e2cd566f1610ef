"""The notes below a ranking: where the fastest was measured, how to measure it again, and what wasn't measured."""

import shlex

from ladder.catalogue import workloads
from ladder.errors import enumerate_words
from ladder.machine import programs
from ladder.records import campaigns, record
from ladder.report.ranking import Ranking
from ladder.store import data_package, results, study
from ladder.terminal import wrap


def footer(ranking):
    """Yield the lines below a full ranking."""
    if ranking.unmeasured:
        yield from wrap(f"Not measured at these sizes: {', '.join(ranking.unmeasured)}.")
    fastest = ranking.entries[0]
    yield f"The samples of {fastest.case.variant} are in"
    yield from (f"  {file}" for file in sample_files(ranking.machine, fastest))
    yield "To measure it again:"
    yield f"  {command(fastest)}"


def sample_files(machine, entry):
    """The files of an entry's samples, each with words on when they were measured."""
    if entry.rows["origin"].iloc[0] == results.FROM_RECORDS:
        return [record.path_of(machine, entry.case.key)]
    folders = [campaigns.PUBLISHED / name for name in study.by_campaign(entry.rows) if name]
    return [file_and_date(folder) for folder in folders or [data_package.PUBLISHED_FOLDER / machine]]


def file_and_date(folder):
    """The file of a published folder's samples, with words on when they were measured."""
    when = data_package.date_in_words(data_package.publication(folder))
    return f"{folder.as_posix()}/samples.csv.gz" + (f" ({when})" if when else "")


def command(entry):
    """The command that measures an entry's case again; it makes the files that the case needs."""
    launcher = " --launcher mpiexec" if entry.rows["device"].iloc[0].startswith("mpi") else ""
    return f"{programs.ladder_command()} run {shlex.quote(entry.case.key)}{launcher}"


def never_measured(results_of_machine):
    """Yield lines on the rungs of a system that a machine, `store.results.Results`, has never measured."""
    workload = results_of_machine.calls["workload"].iloc[0]
    measured = {*results_of_machine.calls["variant"]}
    if names := [name for name in workloads.rungs(workload) if name not in measured]:
        yield from wrap(f"Never measured on {results_of_machine.machine}: {', '.join(names)}.")


def campaigns_elsewhere(rankings, others):
    """Yield lines on machines, {machine: Rankings}, whose campaigns have ratios that these rankings lack."""
    for ranking in rankings:
        if is_paired(ranking) or len(ranking.entries) == 1:
            continue
        same_sizes = [
            (name, other) for name, items in others.items() for other in items if other.sizes == ranking.sizes
        ]
        if names := [name for name, other in same_sizes if is_paired(other)]:
            sizes = " ".join(f"--size {name}={value}" for name, value in ranking.sizes.items())
            yield f"Campaigns on {enumerate_words(names)} measured these sizes in turns, for ratios without ~:"
            show = f"  {programs.ladder_command()} show {ranking.entries[0].case.workload}"
            yield from (f"{show} --machine {name} {sizes}" for name in names)


def is_paired(ranking: Ranking):
    """Whether campaigns measured some entry of a ranking together with the fastest."""
    return any(entry.over_fastest and entry.over_fastest.spread for entry in ranking.entries)
