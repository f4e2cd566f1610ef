"""The verdicts on a chapter's claims, which its `claims.py` has as data: CLAIMS, {`earlier` or `own`: [Claim]}.

A verdict rests on cases of the same campaigns alone: a ratio without a spread is not tested.
"""

import re
from functools import partial

from ladder.report import chapter_data, evidence, latex, verdict_table
from ladder.report.telling.chapter_study import NotMeasured, chapter_module, require_measured
from ladder.report.telling.lines import FLOOR, Claim
from ladder.statistics.claims import decide, has_number


def verdicts(study, campaigns_of=evidence.of_campaigns):
    """The claims of a chapter with their answers, {group: [AnsweredClaim]}; cached in the study.

    The chapter's study of the campaigns on which they rest is `campaigns_of(study)`.
    """
    key, answers = (campaigns_of, study.workload), study.study.answers
    if key not in answers:
        data = chapter_module(study.workload, "claims")
        groups = group_claims(chapter_data.require_groups(data.__file__, data.CLAIMS)) if data else {}
        campaign_study = campaigns_of(study)
        answers[key] = {name: [decide_claim(study, campaign_study, claim) for claim in groups[name]] for name in groups}
    return answers[key]


def group_claims(claims):
    """Claims in three groups: those of the earlier study with a number, those of it without one, and our own."""
    groups = {"numbers": [], "directions": [], "own": claims.get("own", [])}
    for claim in claims.get("earlier", []):
        groups["numbers" if has_number(claim.min, claim.max) else "directions"].append(claim)
    return groups


def decide_claim(study, campaign_study, claim):
    """A claim with its answer in a chapter's study of campaigns, and with what testing it needs."""
    ratio, needs = evidence.measured_ratio(campaign_study, claim)
    if not (ratio and ratio.spread):
        is_measured = ratio or evidence.measured_ratio(study, claim)[0]  # in different campaigns, or in none
        ratio, needs = None, evidence.CAMPAIGN if is_measured else needs
    return verdict_table.AnsweredClaim(
        claim.key,
        render_code(claim.words),
        render_code(needs),
        cause(campaign_study, claim.cause, ratio),
        decide(ratio, claim.min, claim.max),
        render_code(claim.place),
        campaign_study.study.have_converged(ratio.cases if ratio else ()),
    )


def cause(study, stated_cause, ratio):
    """The cause of a verdict in LaTeX; None without a cause, or if it wasn't measured."""
    try:
        text = stated_cause(study, ratio) if callable(stated_cause) else stated_cause
    except NotMeasured:
        return None
    return text and render_code(text)


def join_causes(*causes):
    """The cause of a claim that joins several causes, all of them functions, as a function."""
    return lambda study, ratio: ", ".join(cause(study, ratio) for cause in causes)


def share_of_floor(words="model: {} of the time"):
    """The cause of a claim about the floor: a function that puts the predicted over the measured time into words."""
    return lambda study, ratio: words.format(latex.percent(1 / require_measured(ratio).value, 2))


# The claim that a line takes no longer than the minimum time that the model predicts.
floor_claim = partial(Claim, faster=FLOOR, min=1, max=1, needs="the rung and ceilings", cause=share_of_floor())


def render_code(text):
    """LaTeX with code in `backticks`."""
    return re.sub(r"`([^`]*)`", lambda match: latex.code(match[1]), text)
