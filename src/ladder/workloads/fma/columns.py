"""Descriptions of the columns that fma's sizes and tunings have in the tables."""

COLUMNS = {
    "elements": "start values",
    "length": "multiply-adds from a start value to its end value",
    "chains": "recurrences that a thread computes at once",
}
