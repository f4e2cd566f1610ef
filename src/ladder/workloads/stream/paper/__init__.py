"""The paper's chapter on the ceilings of machines: what memory moves and what arithmetic does at best."""

ORDER = 1
TITLE = "Ceilings"
TABLES = ("ceilings", "gpu_ceilings")
