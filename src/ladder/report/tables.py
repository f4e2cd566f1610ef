"""The paper's tables as LaTeX: those of the study as a whole, and those of all chapters."""

from ladder.report import chapters

# The names of the former, which planning reads.
OWN = ("machines", "software", "plan", "validation", "kernels", "sensitivity", "faults", "verdicts", "toys")


def names():
    """The names of all tables' files."""
    return [*OWN, *chapters.table_names()]


def tables(study, reports=(), sensitivity=None):
    """Every table's LaTeX by its file's name.

    `reports` are the files that say what each built kernel takes, `sensitivity` the one of the smallest errors refused.
    """
    from ladder.report import (  # planning asks for names only
        kernels_table,
        machines_table,
        plan_table,
        sensitivity_table,
        validation_table,
        verdicts,
    )

    of_study = {
        "machines": machines_table.machines(study),
        "software": machines_table.software(study),
        "plan": plan_table.plan(study),
        "validation": validation_table.latex_table(study),
        "kernels": kernels_table.kernels(reports),
        "sensitivity": sensitivity_table.latex_table(sensitivity),
        "faults": sensitivity_table.faults(sensitivity),
        "verdicts": verdicts.table(study),
        "toys": validation_table.by_workload(study),
    }
    return of_study | chapters.tables(study)
