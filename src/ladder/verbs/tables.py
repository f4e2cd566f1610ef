"""Write the paper's tables (LaTeX), all verdicts (CSV), and the validation table (HTML)."""

from ladder.records.files import write_atomically
from ladder.report import latex, tables, validation_table, verdicts
from ladder.store import study
from ladder.verbs.arguments import add_study_arguments


def add_arguments(parser):
    add_study_arguments(parser)
    parser.add_argument("--html", required=True, help="file for the validation table as HTML")
    parser.add_argument("--verdicts", required=True, help="file for the verdicts of all chapters (CSV)")
    parser.add_argument("--sensitivity", required=True, help="the smallest errors that checks refuse (CSV)")
    parser.add_argument("--kernel", action="append", default=[], help="a built kernel's report (JSON)")
    parser.add_argument("--counters", action="append", default=[], help="a published table of kernels' counters (CSV)")


def run(options):
    results = study.load(options.folders, options.machine, options.description, options.roofs)
    for name, text in tables.tables(results, options.kernel, options.sensitivity, options.counters).items():
        latex.write(f"{options.out}/{name}.tex", text)
    write_atomically(options.verdicts, verdicts.rows(results).to_csv(index=False))
    write_atomically(options.html, validation_table.page(results))
