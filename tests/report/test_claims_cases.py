"""The experiment behind the verdicts, `config/claims.yaml`, has what decides the claims, and nothing else."""

import functools

import pytest

import chapter
import drawings
import made_up
from ladder.planning import configuration, plan
from ladder.planning.targets import Target
from ladder.store.study import Study
from made_up import MACHINE
from made_up import chapters as made_chapters

CEILING_PREFIX = "ceiling_"  # with which the names of experiments on ceilings begin


@functools.cache
def measurements():
    """A Measurement of every case of the claims on a host of 32 cores and two GPUs."""
    config = configuration.for_claims(configuration.load([drawings.ROOT / "config" / "config.yaml"]))
    entries = plan.plan(config, {"cpu": Target("here", cores=32, gpus=2)})
    return [made_chapters.measurement(entry.experiment, entry.case) for entry in entries]


@functools.cache
def tables(experiment, dropped_key=None):
    """The tables of an experiment, maybe without the case of a key: {} if that was all."""
    remaining = [
        measurement
        for measurement in measurements()
        if measurement.experiment == experiment and measurement.case.key != dropped_key
    ]
    return made_up.tables(remaining)


def study(experiment=None, dropped_key=None):
    """The study of one campaign of the claims, maybe without a case of an experiment."""
    parts = {}
    for name in dict.fromkeys(measurement.experiment for measurement in measurements()):
        parts |= tables(name, dropped_key) if name == experiment else tables(name)
    return Study(parts, MACHINE, {MACHINE: made_up.description()})


def statements(name, campaign):
    """What a chapter says of a campaign: its text, and the answers to its claims."""
    answers = [claim.answer for claim in chapter.claims_of(name, campaign).values()]
    ratios = [(answer.verdict, answer.ratio and (answer.ratio.value, answer.ratio.cases)) for answer in answers]
    return chapter.text(name, campaign), ratios, [claim.cause for claim in chapter.claims_of(name, campaign).values()]


def matters(case, campaign, full_statements):
    """Whether a campaign without a case changes what any chapter says; the case's own chapter is tried first."""
    names = sorted(made_chapters.WORKLOADS, key=lambda name: not case.workload.startswith(name))
    return any(statements(name, campaign) != full_statements[name] for name in names)


@pytest.mark.slow
def test_one_campaign_decides_every_claim():
    answers = {name: chapter.verdicts(name, study()) for name in made_chapters.WORKLOADS}
    untested = {key for verdicts in answers.values() for key, verdict in verdicts.items() if verdict == "not tested"}
    assert sum(map(len, answers.values())) > 100
    assert untested <= made_chapters.UNTESTED_CLAIMS


@pytest.mark.exhaustive
def test_every_case_of_the_claims_matters():
    """Those behind no verdict's ratio are dropped, one at a time: a verdict, a cause or a sentence must change."""
    full_study = study()
    full_statements = {name: statements(name, full_study) for name in made_chapters.WORKLOADS}
    claims = [
        claim
        for name in made_chapters.WORKLOADS
        for claim in chapter.claims_of(name, full_study).values()
        if claim.answer.ratio
    ]
    cases_of_ratios = {"/".join(case) for claim in claims for _, *case in claim.answer.ratio.cases}
    other_measurements = [
        measurement
        for measurement in measurements()
        if measurement.case.key not in cases_of_ratios and not is_extra(measurement)
    ]
    assert len(other_measurements) > 10
    studies_without_a_case = (
        (measurement.case, study(measurement.experiment, measurement.case.key)) for measurement in other_measurements
    )
    assert [case.key for case, campaign in studies_without_a_case if not matters(case, campaign, full_statements)] == []


def is_extra(measurement):
    """Whether a measurement sets ceilings, or has the earlier study's threads, which decide on fewer cores."""
    case = measurement.case
    return measurement.experiment.startswith(CEILING_PREFIX) or (case.workload == "mlp" and case.threads in (6, 24))
