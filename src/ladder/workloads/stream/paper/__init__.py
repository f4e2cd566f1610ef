"""The supplement's section on ceilings, the best rates of memory and arithmetic. Literals: docs/contracts.md."""

ORDER = 1
TITLE = "Ceilings"
TABLES = ("ceilings", "gpu_ceilings")
