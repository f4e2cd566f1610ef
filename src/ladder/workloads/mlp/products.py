"""The matrix products of trainings, by a variant of `gemm`."""

from ladder.catalogue import workloads
from ladder.errors import LadderError


def of(variant):
    """The products of a variant, {form: `multiply(a, b, out, c=None)`}. Raises LadderError if it has none."""
    module = workloads.load_variant("gemm", variant)
    if not hasattr(module, "product"):
        raise LadderError(f"gemm/{variant} has no `product` for others to use: choose another variant of gemm.")
    return {form: module.product(form) for form in ("nn", "tn", "nt")}
