"""What the columns of the tables mean for stream's sizes and tunings."""

COLUMNS = {
    "kernel": "the loop that is timed: read, copy or triad",
    "elements": "elements of an array",
}
