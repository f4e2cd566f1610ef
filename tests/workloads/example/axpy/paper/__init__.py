"""The paper's chapter on scaled sums."""

ORDER = 90
TITLE = "Scaled sums"
LOOKS = {"vectorised": ("two passes", "blue", "o", ""), "parallel": ("one pass", "green", "s", "")}
