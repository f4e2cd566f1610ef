"""What verdicts rest on: campaigns alone, in which both sides of a ratio were measured in turns.

The records of an ordinary run name a campaign, too, but each of its cases is measured by itself.
"""

import copy
from dataclasses import replace

from ladder.records import campaigns
from ladder.report.machine_choice import replicated_machine
from ladder.report.telling.chapter_study import NotMeasured
from ladder.store import PUBLISHED_SUFFIX

CAMPAIGN = "a campaign"  # what a claim needs to be tested if both sides were measured, but in no common campaign


def measured_ratio(chapter_study, claim):
    """The ratio of a claim in a chapter's study, or None without measurements, and what testing it needs."""
    try:
        ratio = claim.ratio(chapter_study) if claim.ratio else chapter_study.ratio(claim.slower, claim.faster)
        return ratio, claim.needs
    except NotMeasured as missing:
        return None, missing.needs or claim.needs


def of_campaigns(chapter_study):
    """The chapter's study of campaigns, made once: the machine of each role is its `replicated_machine`."""
    answers, key = chapter_study.study.answers, (replicated_machine, chapter_study.workload)
    if key not in answers:
        campaign_study = of_own_campaigns(chapter_study)
        machines = {role: replicated_machine(campaign_study, role) for role in campaign_study.machines}
        campaign_study.machines = {role: campaign_study.study.for_machine(name) for role, name in machines.items()}
        answers[key] = campaign_study
    return answers[key]


def of_own_campaigns(chapter_study):
    """The chapter's study in which this build's machines are replaced by their published campaigns, if they have any.

    Measurements of ordinary runs are in no campaign there.
    """
    study = study_without_runs(chapter_study.study)
    replaced = {publication["machine"] for publication in study.campaigns.values()}
    names = {role: machine.machine_name for role, machine in chapter_study.machines.items()}
    names = {role: name + PUBLISHED_SUFFIX if name in replaced else name for role, name in names.items()}
    campaign_study = copy.copy(chapter_study)
    campaign_study.study, campaign_study.frames = study, {}
    campaign_study.machines = {role: study.for_machine(name) for role, name in names.items()}
    return campaign_study


def study_without_runs(study):
    """The study with no campaign for measurements of ordinary runs; made once for a study."""
    if study_without_runs not in study.answers:
        tables = {
            experiment: tables | {"samples": mask_ordinary_runs(tables["samples"])}
            for experiment, tables in study.tables.items()
        }
        study.answers[study_without_runs] = replace(study, tables=tables) if is_changed(study.tables, tables) else study
    return study.answers[study_without_runs]


def is_changed(tables, others):
    """Whether the samples of some experiment are another object in `others`."""
    return any(tables[experiment]["samples"] is not others[experiment]["samples"] for experiment in tables)


def mask_ordinary_runs(samples):
    """Samples with no campaign in the rows of ordinary runs; the same object without such rows."""
    if "campaign" not in samples:
        return samples
    names = [name for name in samples["campaign"].dropna().unique() if campaigns.RUN_NAME.fullmatch(str(name))]
    if not names:
        return samples
    return samples.assign(campaign=samples["campaign"].astype(object).mask(samples["campaign"].isin(names), None))
