"""Whether processes ran under the same conditions, `system` in a record: only then are their times comparable."""

from ladder.errors import LadderError

# The prefixes of facts that libraries choose: their kernels, vector units and optimisation level.
OF_LIBRARIES = ("blas/", "numpy/", "numba/", "torch/")


def differences(conditions):
    """The facts in which conditions, each {fact: value}, differ: a text for each, with the values."""
    for fact in sorted({fact for process in conditions for fact in process}):
        values = dict.fromkeys(str(process.get(fact, "not known")) for process in conditions)
        if len(values) > 1:
            yield f"{fact} ({' and '.join(values)})"


def require_same(results, whose):
    """Refuse results of processes that ran under different conditions; `whose` names the processes in the message."""
    if facts := list(differences([result["system"] for result in results if "system" in result])):
        raise LadderError(
            f"{whose} ran under different conditions and can't be pooled: they differ in {', '.join(facts)}. "
            "Don't change the machine's settings and libraries during a measurement, and measure again."
        )


def shared(results, with_libraries=True):
    """Results with only the conditions that all of them have: two variants needn't load the same libraries."""
    conditions = [result["system"] for result in results if "system" in result]
    facts = set.intersection(*map(set, conditions)) if conditions else set()
    facts = {fact for fact in facts if with_libraries or not fact.startswith(OF_LIBRARIES)}
    return [{"system": {fact: process[fact] for fact in facts}} for process in conditions]
