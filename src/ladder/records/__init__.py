"""Cases and their records: the name of a measurement, and the file that holds it."""
