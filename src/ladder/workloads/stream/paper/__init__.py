"""The supplement's section on the ceilings of machines: the best rates of memory and of arithmetic."""

ORDER = 1
TITLE = "Ceilings"
TABLES = ("ceilings", "gpu_ceilings")
