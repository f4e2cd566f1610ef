"""Print stored results of a system: its variants ranked by time, with rates and shares of the machine's ceilings."""

from ladder.machine import programs
from ladder.report import ranking, ranking_notes, ranking_text
from ladder.store import results
from ladder.verbs.arguments import add_json_option, parse_filters, print_json


def add_arguments(parser):
    parser.add_argument("workload", help="the system, such as gemv")
    parser.add_argument("--machine", action="append", default=[], help="the label of a machine; all by default")
    parser.add_argument(
        "--size", action="append", default=[], metavar="KEY=VALUE", help="only cases with this size or tuning"
    )
    parser.add_argument("--all", action="store_true", help="every tuning of a variant, not only its best")
    add_json_option(parser)


def run(options):
    stored = results.load(options.workload, options.machine)
    filters = parse_filters(options.size, results.parameter_names(stored.values()), options.workload)
    rankings = {
        name: ranking.rankings(machine_results, filters, options.all) for name, machine_results in stored.items()
    }
    results.require_matches(rankings, filters, options.workload)
    if options.json:
        documents = [ranking_text.document(item) for items in rankings.values() for item in items]
        print_json(options, {"workload": options.workload, "results": documents})
        return
    is_detailed = bool(filters or options.all)
    is_only_machine = len(stored) == 1
    for machine, items in rankings.items():
        if items:
            print(*lines(options.workload, stored[machine], items, is_detailed, is_only_machine), sep="\n", end="\n\n")
    detailed_rankings = [item for items in rankings.values() for item in (items if is_detailed else items[-1:])]
    if options.machine and not all(map(ranking_notes.is_paired, detailed_rankings)):
        for line in campaigns_elsewhere(options.workload, detailed_rankings, stored):
            print(line)


def campaigns_elsewhere(workload, detailed_rankings, stored):
    """Lines on machines other than `stored` whose campaigns have ratios that `detailed_rankings` lack."""
    others = {name: item for name, item in results.load(workload).items() if name not in stored}
    rankings = {name: ranking.rankings(item) for name, item in others.items()}
    return ranking_notes.campaigns_elsewhere(detailed_rankings, rankings)


def lines(workload, machine_results, rankings, is_detailed, is_only_machine):
    """The lines about a machine: every ranking, or else a summary and, if it is the only one, the largest ranking."""
    machine = machine_results.machine
    yield f"{workload} on {machine}" + f": {machine_results.processors}" * bool(machine_results.processors)
    yield ""
    all_rankings = rankings
    if not is_detailed and len(rankings) > 1:
        yield from ranking_text.summary(rankings)
        yield ""
        rankings = rankings[-1:] if is_only_machine else []
    for item in rankings:
        yield from ranking_text.details(item)
        yield from ranking_notes.footer(item)
        yield ""
    if rankings:
        yield from ranking_text.notes(all_rankings)
    else:
        yield from ranking_text.marks(all_rankings)
        yield f"Rankings: {programs.ladder_command()} show {workload} --machine {machine}"
    yield from ranking_notes.never_measured(machine_results)
