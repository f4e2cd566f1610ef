"""What the columns of the tables mean for fma's sizes and tunings."""

COLUMNS = {
    "elements": "start values",
    "length": "multiply-adds from a start value to its end value",
    "chains": "recurrences that a thread computes at once",
}
