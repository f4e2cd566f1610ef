"""Print stored results of a system: its variants ranked by time, with rates and shares of the machine's ceilings."""

from ladder.machine import programs
from ladder.report import ranking, ranking_notes, ranking_text
from ladder.store import results
from ladder.verbs.arguments import add_json, parse_filters, print_json


def add_arguments(parser):
    parser.add_argument("workload", help="the system, such as gemv")
    parser.add_argument("--machine", action="append", default=[], help="the label of a machine; all by default")
    parser.add_argument(
        "--size", action="append", default=[], metavar="KEY=VALUE", help="only cases with this size or tuning"
    )
    parser.add_argument("--all", action="store_true", help="every tuning of a variant, not only its best")
    add_json(parser)


def run(options):
    stored = results.load(options.workload, options.machine)
    filters = parse_filters(options.size, results.parameter_names(stored.values()), options.workload)
    rankings = {machine: ranking.rankings(each, filters, options.all) for machine, each in stored.items()}
    results.require_matches(rankings, filters, options.workload)
    if options.json:
        documents = [ranking_text.document(each) for of_machine in rankings.values() for each in of_machine]
        print_json(options, {"workload": options.workload, "results": documents})
        return
    is_detailed = bool(filters or options.all)
    is_only = len(stored) == 1
    for machine, of_machine in rankings.items():
        if of_machine:
            print(*lines(options.workload, stored[machine], of_machine, is_detailed, is_only), sep="\n", end="\n\n")
    full = [each for of_machine in rankings.values() for each in (of_machine if is_detailed else of_machine[-1:])]
    if options.machine and not all(map(ranking_notes.is_paired, full)):
        for line in campaigns_elsewhere(options.workload, full, stored):
            print(line)


def campaigns_elsewhere(workload, full, stored):
    """The lines on other machines whose campaigns have measured what the machines `stored` have not."""
    others = {machine: each for machine, each in results.load(workload).items() if machine not in stored}
    rankings = {machine: ranking.rankings(each) for machine, each in others.items()}
    return ranking_notes.campaigns_elsewhere(full, rankings)


def lines(workload, of_machine, rankings, is_detailed, is_only):
    """The lines about a machine: every ranking, or else a summary and, of a machine alone, the largest ranking."""
    machine = of_machine.machine
    yield f"{workload} on {machine}" + f": {of_machine.processors}" * bool(of_machine.processors)
    yield ""
    all_rankings = rankings
    if not is_detailed and len(rankings) > 1:
        yield from ranking_text.summary(rankings)
        yield ""
        rankings = rankings[-1:] if is_only else []
    for each in rankings:
        yield from ranking_text.full(each)
        yield from ranking_notes.below(each)
        yield ""
    if rankings:
        yield from ranking_text.notes(all_rankings)
    else:
        yield from ranking_text.marks(all_rankings)
        yield f"Rankings: {programs.ladder_command()} show {workload} --machine {machine}"
    yield from ranking_notes.never_measured(of_machine)
