"""What is missing, and why: the planned cases without a measurement, counted by machine and reason."""

from ladder.planning import reasons
from ladder.store.study import CASE


def rows(study):
    """[{machine, why, workloads, count}], most cases first; `workloads` are {name: number of cases}."""
    frame = study.all_rows("missing", "machine", *CASE, "why")
    if frame.empty:
        return []
    frame = frame.drop_duplicates(["machine", *CASE])
    # Early publications word reasons otherwise.
    frame["why"] = frame["why"].map(lambda why: str(reasons.parse(why)))
    groups = [
        {
            "machine": machine,
            "why": why,
            "workloads": {str(name): int(count) for name, count in part["workload"].value_counts().items()},
            "count": len(part),
        }
        for (machine, why), part in frame.groupby(["machine", "why"], sort=False)
    ]
    order = study.machines()
    return sorted(groups, key=lambda row: (row["machine"] not in order, row["machine"], -row["count"]))
