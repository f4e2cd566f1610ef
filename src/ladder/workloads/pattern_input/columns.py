"""Descriptions of the columns that pattern_input's sizes and tunings have in the tables."""

COLUMNS = {
    "images": "images that are read",
    "block": "images per OpenMP task",
}
