"""A ranking as text and as JSON: medians, rates, checks, ratios and verdicts."""

from dataclasses import asdict

from ladder import quantities, terminal
from ladder.catalogue import sources
from ladder.errors import pluralize
from ladder.harness.comparison import difference
from ladder.harness.progress import Progress
from ladder.machine import description, revision
from ladder.quantities import seconds
from ladder.statistics.verdicts import EQUAL, UNDECIDED

UNCHECKED = "unchecked"  # a case without outputs
WRONG = "wrong"  # instead of the rank of a case that failed its extra check at small odd sizes (spot_checks.py)
HEADINGS = ("", "case", "median", "95 % interval", "rate", "of ceiling", "error/bound")
HEADINGS_OF_RATIO = ("ratio", "99 % interval", "verdict")


class RankingProgress(Progress):
    """The progress of a ranking: a line on each case after its first process, then the difference detectable so far.

    `rate_of(case, cost, seconds)` returns the rate of a case that takes `seconds`, its unit, and its share of the
    machine's ceiling or None. `cost` has the `flops`, `bytes` and `precision` of a run, as `cost` of the workload.
    """

    def __init__(self, rate_of, stream=None):
        super().__init__(stream)
        self.rate_of, self.ranking = rate_of, None
        self.reported_cases, self.reported_processes = set(), 0

    def update(self, ranking):
        """Show the results of further processes."""
        if ranking is not self.ranking:
            self.ranking, self.reported_cases, self.reported_processes = ranking, set(), 0
        for case in ranking.remaining:
            if case not in self.reported_cases and ranking.results[case]:
                self.reported_cases.add(case)
                _, label, median, _, rate, share, check = cells_of(ranking, case, self.rate_of)
                share_text = f", {share} of the ceiling" * bool(share)
                threads_text = f" on {pluralize(case.threads, 'thread')}" if "threads" in case.tuning else ""
                note = " here, but not in its untimed check" * (case in ranking.warnings)
                result = (
                    f"right{threads_text}{note}, with a largest error of {check} of its bound"
                    if check != UNCHECKED
                    else check
                )
                self.say(f"{label}: {median}, {rate}{share_text}; {result}.")
        if (count := ranking.processes) > self.reported_processes and count > 1:
            self.reported_processes = count
            precision, target = map(ranking.describe_precision, (ranking.precision(), ranking.limits.detect))
            self.show(f"{pluralize(count, 'process')} of each case: {precision}. Target: {target}.")


def cells_of(ranking, case, rate_of):
    """The cells of a case below HEADINGS, without its rank."""
    summary, check = ranking.summary(case), ranking.worst_check(case)
    rate, unit, share = rate_of(case, ranking.cost(case), summary.median)
    return [
        "",
        ranking.labels[case],
        seconds(summary.median),
        f"{seconds(summary.low)} – {seconds(summary.high)}" if ranking.has_interval(case) else "unknown",
        quantities.rate(rate, unit),
        "" if share is None else f"{100 * share:.0f} %",
        f"{check['error'] / check['bound'] if check['bound'] else 0.0:.2g}" if check else UNCHECKED,
    ]


def table(ranking, rate_of):
    """The ranking as lines of a table, fastest first; empty without results."""
    has_baseline = len(ranking.measured) > 1 and ranking.baseline in ranking.measured
    rows = []
    for rank, case in enumerate(ranking.measured, 1):
        cells = cells_of(ranking, case, rate_of)
        cells[0] = WRONG if case in ranking.warnings else f"{rank}."
        rows.append(cells + (ratio_cells(ranking, case) if has_baseline else []))
    if not rows:
        return []
    header = [*HEADINGS, *(HEADINGS_OF_RATIO if has_baseline else ())]
    lines = list(terminal.table(*terminal.drop_empty_columns(header, rows)))
    if has_baseline:
        lines.append(f"Ratios are times divided by that of {ranking.labels[ranking.baseline]}.")
        lines.append("A ratio comes from all pairs of processes; it isn't the quotient of the medians above.")
    return lines


def ratio_cells(ranking, case):
    """The ratio of a case's time to that of the baseline, its interval, and the verdict."""
    if case == ranking.baseline:
        return ["1", "", "baseline"]
    verdict = ranking.verdict(case)
    if not ranking.has_verdict(case):
        return [quantities.digits(verdict.ratio), "unknown", "too few processes"]
    interval = f"{quantities.digits(verdict.low)} – {quantities.digits(verdict.high)}"
    return [quantities.digits(verdict.ratio), interval, verdict_words(verdict)]


def verdict_words(verdict):
    """A verdict in words: how many times faster or slower; if undecided, what would have been detected."""
    if verdict.outcome == EQUAL:
        return f"equal within {verdict.equal_percent} %"
    if verdict.outcome == UNDECIDED:
        if verdict.detectable >= 1:
            return verdict.outcome
        return f"undecided; {difference(verdict.detectable)} would have been detected"
    return f"{quantities.digits(max(verdict.ratio, 1 / verdict.ratio))} × {verdict.outcome}"


def document(ranking, rate_of):
    """The ranking as a dict for JSON, with all samples."""
    cases = []
    for case in ranking.measured:
        summary = ranking.summary(case)
        rate, unit, share = rate_of(case, ranking.cost(case), summary.median)
        cases.append(
            {
                "case": case.key,
                **asdict(summary),
                "rate": rate,
                "unit": unit,
                "share": share,
                "check": ranking.worst_check(case),
                "verdict": asdict(ranking.verdict(case)) if ranking.has_verdict(case) else None,
                "times": ranking.times(case),
                "conditions": ranking.results[case][0].get("system", {}),
            }
        )
    return {
        "baseline": ranking.baseline and ranking.baseline.key,
        "results": cases,
        "failures": {case.key: reason for case, reason in ranking.failures.items()},
        "warnings": {case.key: sentence for case, sentence in ranking.warnings.items()},
        "end": ranking.end_reason,
    }


def session_document(ranking, rate_of, was_interrupted, sweep_ranking=None):
    """A ranking, and that of the `--sweep` that chose its tunings or None, as JSON with the machine's description."""
    return document(ranking, rate_of) | {
        "sweep": sweep_ranking and document(sweep_ranking, rate_of),
        "interrupted": was_interrupted,
        "description": description.describe(),
        "source": revision.of_files([path for case in ranking.measured for path in sources.code_paths(case)]),
    }
