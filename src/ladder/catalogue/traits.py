"""What a case needs and uses, by the constants of its variants: device, GPUs, runtime, environment, precision."""

from dataclasses import replace
from typing import Any

from ladder.catalogue import setup_arguments, workloads
from ladder.records.case import Case


def beyond_limits_reason(case: Case) -> str | None:
    """The reason, as a sentence, why a case exceeds the LIMITS of its variant or of a variant that it uses, or None.

    LIMITS is {size or tuning: (min, max)}, or the allowed words in place of the two numbers.
    """
    values = {**case.sizes, **case.tuning}
    for (workload, variant), limits in limits_of(case).items():
        for name, allowed in limits.items():
            if name not in values:
                continue
            if isinstance(values[name], str):
                if values[name] not in allowed:
                    return f"{workload}/{variant} takes {name} {' or '.join(allowed)} only"
            elif not allowed[0] <= values[name] <= allowed[1]:
                return f"{workload}/{variant} takes {name} from {allowed[0]} to {allowed[1]} only"
    return None


def limits_of(case: Case) -> dict[tuple[str, str], dict[str, Any]]:
    """The limits that hold for a case, by variant: its own, and on `dtype` those of the variants that it uses."""
    limits = {(case.workload, case.variant): workloads.constants(case.workload, case.variant).get("LIMITS", {})}
    for other in sorted(used_variants(case)):
        other_limits = workloads.constants(*other).get("LIMITS", {})
        limits[other] = {name: allowed for name, allowed in other_limits.items() if name == "dtype"}
    return limits


def used_variants(case: Case) -> set[tuple[str, str]]:
    """The variants of other workloads that a case's tuning selects by USES, {(workload, variant)}."""
    uses = workloads.constants(case.workload, case.variant).get("USES", {})
    tuning = setup_arguments.defaults(case.workload, case.variant) | case.tuning if uses else {}
    return {(workload, tuning[name]) for name, workload in uses.items()}


def reference_slug(case: Case) -> str | None:
    """The name of the file of a case's reference, without its suffix; None where the worker computes it."""
    sizes = workloads.load(case.workload).reference_sizes(case.sizes)
    if sizes is None:
        return None
    reference = replace(case, sizes=sizes, tuning={}, variables={}, cache="cold")
    return reference.slug.removesuffix(",cache=cold")


def device(case: Case) -> str:
    """The name of the device that a case is timed on."""
    return workloads.constants(case.workload, case.variant)["DEVICE"]


def gpus(case: Case) -> int:
    """The number of GPUs that a case is timed on."""
    return {"cuda": 1, "mpi_cuda": case.ranks, "offload": case.tuning.get("gpus", 1)}.get(device(case), 0)


def runtime(case: Case) -> str | None:
    """The runtime of a case's threads: the variant's RUNTIME, or that of the first variant that it uses, or None."""
    if own_runtime := workloads.constants(case.workload, case.variant).get("RUNTIME"):
        return own_runtime
    return next((workloads.constants(*other)["RUNTIME"] for other in sorted(used_variants(case))), None)


def environment(case: Case) -> dict[str, str]:
    """A variant's ENVIRONMENT, such as {"OMP_PROC_BIND": "{binding}"}, with the case's tunings filled in."""
    templates = workloads.constants(case.workload, case.variant).get("ENVIRONMENT", {})
    return {name: template.format(**case.tuning) for name, template in templates.items()}


def precision(case: Case) -> str:
    """The precision of a case's arithmetic: its dtype unless PRECISION or, for float32, the tuning `math` lower it."""
    dtype = case.sizes["dtype"]
    for workload, variant in [(case.workload, case.variant), *sorted(used_variants(case))]:
        dtype = workloads.constants(workload, variant).get("PRECISION", {}).get(dtype, dtype)
    math = case.tuning.get("math", "default")
    return dtype if math == "default" or dtype == "float64" else math
