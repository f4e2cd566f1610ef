"""Whether processes ran under the same conditions, `system` in a record: only then are their times of one thing."""

from ladder.errors import LadderError

# How facts begin that libraries choose: the kernels, the vector units and the optimisation that they run with.
OF_LIBRARIES = ("blas/", "numpy/", "numba/", "torch/")


def differences(conditions):
    """The facts in which conditions, {fact: value} each, differ: a text for each, with the values."""
    for fact in sorted({fact for one in conditions for fact in one}):
        values = dict.fromkeys(str(one.get(fact, "not known")) for one in conditions)
        if len(values) > 1:
            yield f"{fact} ({' and '.join(values)})"


def require_same(results, whose):
    """Refuse results of processes that ran under different conditions; `whose` says which processes these are."""
    if different := list(differences([result["system"] for result in results if "system" in result])):
        raise LadderError(
            f"{whose} ran under different conditions and can't be pooled: they differ in {', '.join(different)}. "
            "Leave the machine's settings and libraries as they are while it measures, and measure again."
        )


def shared(results, with_libraries=True):
    """Results with those conditions alone that all of them have: two variants needn't load the same libraries."""
    conditions = [result["system"] for result in results if "system" in result]
    facts = set.intersection(*map(set, conditions)) if conditions else set()
    facts = {fact for fact in facts if with_libraries or not fact.startswith(OF_LIBRARIES)}
    return [{"system": {fact: one[fact] for fact in facts}} for one in conditions]
