"""The numbers about the study as a whole, with keys `study/...`: machines, cases, protocol and checks."""

from ladder.errors import pluralize
from ladder.report import campaigns_table, latex
from ladder.report.latex import code, enumeration, percent
from ladder.report.phrases import Missing, cache_protocols, span, with_prefix
from ladder.store import PUBLISHED_SUFFIX
from ladder.store import study as queries


def numbers(study, protocol, margin):
    """{key: value in LaTeX, or None} for a study, a measuring protocol and the margin of the ceilings."""
    groups = {
        "machine": machine(study),
        "cases": cases(study),
        "protocol": protocol_numbers(protocol, margin),
        "validation": validation(study),
    }
    values = {"machines": enumeration(code(name) for name in study.machines()) or None}
    values |= {"campaigns/list": campaigns(study), "campaigns/count": campaigns_and_hosts(study)}
    values |= {"campaigns/pooled": pooled_labels(study), "flags": campaigns_table.flags()}
    for prefix, group in groups.items():
        values |= with_prefix(prefix, group)
    return with_prefix("study", values)


def campaigns(study):
    """The numbers of published campaigns, and of the hosts that they ran on, by machine; None without any."""
    texts = []
    publications = study.campaigns.values()
    for label in dict.fromkeys(publication["machine"] for publication in publications):
        notes = [publication["campaign"] for publication in publications if publication["machine"] == label]
        texts.append(f"\\num{{{len(notes)}}} on {code(label)} ({host_count(notes)})")
    return enumeration(texts) or None


def pooled_labels(study):
    """The labels of published campaigns whose cases all count as another machine's, or None: see `machine_families`."""
    names = {name.removesuffix(PUBLISHED_SUFFIX) for name in study.machines()}
    labels = {publication["machine"] for publication in study.campaigns.values()}
    return enumeration(map(code, sorted(labels - names))) or None


def campaigns_and_hosts(study):
    """The number of published campaigns, and of the hosts that they ran on, as `4 campaigns on 2 hosts`, or None."""
    notes = [publication["campaign"] for publication in study.campaigns.values()]
    return f"{pluralize(len(notes), 'campaign')} on {host_count(notes)}" if notes else None


def host_count(notes):
    """The number of hosts of campaigns, given by their notes in `machine.json`, as `2 hosts`."""
    return pluralize(len({note["host"] for note in notes}), "host")


def machine(study):
    """The study's machine: its name, CPU, cores, memory, and the origin of its measurements."""
    description = study.description
    cpu = description.get("cpu", {})
    return {
        "name": code(study.machine_name) if study.machine_name else Missing("no machine"),
        "cpu": latex.escape(cpu["Model name"]) if cpu else None,
        "cores": f"\\num{{{description['cores']}}}" if description else None,
        "memory": latex.memory(description["memory"]) if description else None,
        "origin": origin(study.machine_name),
    }


def origin(machine_name):
    """The origin of a machine's measurements, in words."""
    if machine_name is None:
        return Missing("nowhere: nothing was measured and nothing is published")
    is_published = machine_name.endswith(PUBLISHED_SUFFIX)
    return "the measurements published with the source" if is_published else "measurements taken for this build"


def cases(study):
    """The numbers of cases measured, skipped and not measured, and of their processes and samples."""
    samples = study.all_rows("samples", *queries.RECORD, "phase", "process", "converged", "cache")
    calls = queries.where(samples, machine=study.machine_name, phase="total")
    missing = queries.where(study.all_rows("missing", "machine", *queries.CASE, "why"), machine=study.machine_name)
    by_case = [rows for _, rows in calls.groupby(queries.CASE)] if len(calls) else []
    per_process = [count for rows in by_case for count in rows.groupby(["experiment", "process"]).size()]
    unmeasured = missing[missing["why"] == "not measured"] if len(missing) else missing
    return {
        "measured": f"\\num{{{len(by_case)}}}",
        "skipped": f"\\num{{{queries.count_cases(missing) - queries.count_cases(unmeasured)}}}",
        "unmeasured": f"\\num{{{queries.count_cases(unmeasured)}}}",
        "converged": f"\\num{{{sum(bool(rows['converged'].all()) for rows in by_case)}}}" if by_case else None,
        "processes": span(rows["process"].nunique() for rows in by_case),
        "samples": span(per_process),
        "caches": cache_protocols(calls),
    }


def protocol_numbers(protocol, margin):
    """The protocol of this build, with units, and the margin of the ceilings."""
    return {
        "processes": f"\\num{{{protocol['processes']}}}",
        "most-processes": f"\\num{{{protocol['most_processes']}}}",
        "samples": f"\\num{{{protocol['samples']}}}",
        "least": f"\\num{{{protocol['least']}}}",
        "target": f"\\qty{{{100 * protocol['target']:g}}}{{\\percent}}",
        "cap": f"\\qty{{{protocol['cap']:g}}}{{\\second}}",
        "phase-passes": f"\\num{{{protocol['phase_passes']}}}",
        "ceiling-margin": f"\\qty{{{100 * (margin - 1):g}}}{{\\percent}}",
    }


def validation(study):
    """The number of comparisons with a reference, and the comparison nearest to its bound."""
    checks = study.all_rows("checks", "machine", *queries.CASE, "process", "check", "error", "bound", "dtype")
    if checks.empty:
        return dict.fromkeys(("checks", "worst-share", "worst-case"))
    checks = checks.drop_duplicates(["machine", *queries.CASE, "process", "check"]).reset_index(drop=True)
    worst = checks.loc[(checks["error"] / checks["bound"]).idxmax()]
    return {
        "checks": f"\\num{{{len(checks)}}}",
        "worst-share": percent(worst["error"] / worst["bound"]),
        "worst-case": f"{code(worst['variant'])} of {code(worst['workload'])} in {code(worst['dtype'])}",
    }
