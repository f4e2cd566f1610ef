"""Cases and their records: what names a measurement, and how it is kept."""
