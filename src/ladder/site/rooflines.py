"""The roofs of each machine: the best measured rates of arithmetic, by precision, and of memory."""

from ladder.catalogue import traits
from ladder.records.case import Case
from ladder.site.compact import number
from ladder.store import rates, roofs
from ladder.store.ceiling_rates import NO_CEILINGS
from ladder.store.ceilings import stated_ceiling

COLUMNS = ("machine", "device", "precision", "flops", "bandwidth")


def rows(study):
    """[{COLUMNS}]: the best FLOP/s and B/s on any number of threads, where both products and memory were measured."""
    entries = []
    for machine in study.machines():
        machine_study = study.for_machine(machine)
        for device, precision in precisions(machine_study.ceilings or NO_CEILINGS):
            bandwidth = max(rates.bandwidths(machine_study, device).values(), default=None)
            flops = rates.products(machine_study, precision, device=device)
            if flops and bandwidth:
                entries.append(
                    {"machine": machine, "device": device, "precision": precision}
                    | {"flops": number(flops), "bandwidth": number(bandwidth)}
                )
    return entries


def precisions(ceilings):
    """The (device, precision) of the products among ceilings, in a fixed order."""
    rows = [row for row in ceilings["rows"] if stated_ceiling(row["workload"]) in roofs.PRODUCTS]
    row_precisions = (
        (row.get("device", "host"), traits.precision(Case.parse(row["workload"], row["variant"], row["case"])))
        for row in rows
    )
    return sorted(set(row_precisions), reverse=True)
