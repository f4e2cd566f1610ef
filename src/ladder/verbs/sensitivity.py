"""Inject errors into results, and write the smallest error that each check refuses (CSV)."""

from ladder.harness import environment
from ladder.records.files import require_writable, write_atomically
from ladder.verbs.arguments import data_paths


def add_arguments(parser):
    parser.add_argument(
        "cases",
        nargs="*",
        metavar="CASE",
        help="workload/variant/slug (default: those that workloads list as SENSITIVITY)",
    )
    parser.add_argument("--data", default="results/data", help="folder of the data sets")
    parser.add_argument("--out", required=True)


def run(options):
    from ladder.harness import comparison, sensitivity

    require_writable(options.out)
    cases = [comparison.parse_key(key) for key in options.cases] or sensitivity.cases()
    data = data_paths(options.data, *cases)
    environment.enter(environment.of_verb(1))  # restarts this process, if its environment differs

    import pandas as pd  # here, so that it isn't imported before the restart, too

    rows = [
        {
            "workload": case.workload,
            "variant": case.variant,
            "case": case.slug,
            "dtype": case.sizes["dtype"],
            **vars(row),
        }
        for case in cases
        for row in sensitivity.sensitivities(case, data)
    ]
    write_atomically(options.out, pd.DataFrame(rows).to_csv(index=False))
