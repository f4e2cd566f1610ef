"""The paper's tables as LaTeX: those about the study as a whole, and those of all chapters."""

from ladder.report import chapters

# The names of the tables about the study as a whole, which planning reads.
STUDY_TABLES = (
    "machines",
    "software",
    "campaigns",
    "then_now",
    "environments",
    "plan",
    "validation",
    "kernels",
    "counters",
    "sensitivity",
    "faults",
    "verdicts",
    "kinds",
    "toys",
)


def names():
    """The names of all tables' files."""
    return [*STUDY_TABLES, *chapters.table_names()]


def tables(study, reports=(), sensitivity=None, counters=()):
    """{name of the file: LaTeX} of all tables.

    `reports` are the paths of the kernels' build reports, `sensitivity` is that of the file of the verb `sensitivity`,
    and `counters` are those of the published tables of counters.
    """
    from ladder.report import (  # here, because planning needs only the names
        campaigns_table,
        counters_table,
        kernels_table,
        kinds_table,
        machines_table,
        plan_table,
        sensitivity_table,
        then_now,
        validation_table,
        verdicts,
    )

    study_tables = {
        "machines": machines_table.machines(study),
        "software": machines_table.software(study),
        "then_now": then_now.table(study),
        "campaigns": campaigns_table.campaigns(study),
        "environments": campaigns_table.environments(study),
        "plan": plan_table.plan(study),
        "validation": validation_table.latex_table(study),
        "kernels": kernels_table.kernels(reports),
        "counters": counters_table.table(counters),
        "sensitivity": sensitivity_table.latex_table(sensitivity),
        "faults": sensitivity_table.faults(sensitivity),
        "verdicts": verdicts.table(study),
        "kinds": kinds_table.table(study),
        "toys": validation_table.by_workload(study),
    }
    return study_tables | chapters.tables(study)
