"""Cases and their records, campaigns, and conditions to compare; documents, checksums, atomic writes and locks."""
