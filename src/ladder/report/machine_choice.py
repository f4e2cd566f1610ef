"""Which machine a chapter's measurements come from, by role, and on which one the verdicts about a role rest."""

from collections import Counter
from functools import partial

from ladder.statistics.campaigns import MIN_CAMPAIGNS, MIN_PROCESSES
from ladder.store import PUBLISHED_SUFFIX


def pick_machines(study, needs, sources):
    """The study about the machine of each role, {role: Study}; its `machine_name` is None if none meets the needs.

    The best machine gets each shared role (neither `separate` nor `widest`) that it meets. It is the first by: meeting
    the first two shared roles, being this build's, the number of campaigns of shared roles, the number of these that it
    meets. Each remaining role goes to the machine that meets it, this build's before a published one, with the most
    campaigns of it, then of all roles.
    """
    machines = [study.for_machine(name) for name in study.machines()]
    candidates_of = {role: need.machines(machines, sources) for role, need in needs.items()}
    names = {role: [machine.machine_name for machine in candidates] for role, candidates in candidates_of.items()}
    shared_roles = [role for role, need in needs.items() if not (need.separate or need.widest)]

    def campaigns(machine, roles):
        frames = [sources[name].rows(machine) for role in roles for name in needs[role].sources]
        return max((rows["campaign"].nunique() for rows in frames if "campaign" in rows), default=0)

    def rank(machine):
        meets = [machine.machine_name in names[role] for role in shared_roles]
        return all(meets[:2]), is_local(machine), campaigns(machine, shared_roles), sum(meets)

    def rank_in(role, machine):
        return is_local(machine), campaigns(machine, [role]), campaigns(machine, needs)

    best, picked = max(machines, key=rank, default=None), {}
    for role, candidates in candidates_of.items():
        preferred = [machine for machine in candidates if machine is best and role in shared_roles] or candidates
        picked[role] = max(preferred, key=partial(rank_in, role), default=study.for_machine(None))
    return picked


def is_local(machine):
    """Whether a study about one machine is about that of this build."""
    return not machine.machine_name.endswith(PUBLISHED_SUFFIX)


def replicated_machine(chapter_study, role):
    """The name of the machine on which verdicts about a role rest, None without one.

    If the role's machine is a published one with fewer than MIN_CAMPAIGNS full campaigns of some case of the role, it
    is replaced by another one with as many cores and GPUs that has MIN_CAMPAIGNS of every case. A case of which no
    machine has a full campaign, because its processes take too long, doesn't count.
    """
    role_machine = chapter_study.machines[role]
    if role_machine.machine_name is None or is_local(role_machine):
        return role_machine.machine_name
    study = chapter_study.study
    machines = [study.for_machine(name) for name in study.machines() if name.endswith(PUBLISHED_SUFFIX)]
    same_size = [
        machine
        for machine in machines
        if machine.description and cores_and_gpus(machine) == cores_and_gpus(role_machine)
    ]
    candidates = chapter_study.needs[role].machines(same_size, chapter_study.sources)
    counts_of = {machine.machine_name: full_campaigns(chapter_study, role, machine) for machine in candidates}
    cases = {case for counts in counts_of.values() for case in counts}
    replication = {name: min((counts[case] for case in cases), default=0) for name, counts in counts_of.items()}
    best = max(replication, key=replication.get, default=None)
    is_replaced = replication.get(role_machine.machine_name, 0) < MIN_CAMPAIGNS <= replication.get(best, 0)
    return best if is_replaced else role_machine.machine_name


def cores_and_gpus(machine):
    """The numbers of cores and GPUs of a machine; None without a description."""
    description = machine.description
    return (description["cores"], len(description["gpus"])) if description else None


def full_campaigns(chapter_study, role, machine):
    """The number of a machine's campaigns with at least MIN_PROCESSES of a case, by case of the role, as a Counter."""
    counts = Counter()
    for rows in (source.rows(machine) for source in chapter_study.sources.values() if source.role == role):
        if "campaign" in rows:
            processes = rows.groupby(["variant", "case", "campaign"])["process"].nunique()
            counts |= Counter(processes[processes >= MIN_PROCESSES].index.droplevel("campaign"))
    return counts
