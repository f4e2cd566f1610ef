"""What the columns of the tables mean for pattern_input's sizes and tunings."""

COLUMNS = {
    "images": "images that are read",
    "block": "images of a task",
}
