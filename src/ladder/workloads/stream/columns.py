"""Descriptions of the columns that stream's sizes and tunings have in the tables."""

COLUMNS = {
    "kernel": "the loop that is timed: read, copy or triad",
    "elements": "elements of an array",
}
