"""What fused multiply-adds reach, a number for the chapters on products."""

ORDER = 2
TITLE = "Multiply-adds"
TABLES = ()
