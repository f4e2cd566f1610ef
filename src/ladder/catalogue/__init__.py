"""The workloads and variants that exist, read as text, and the fingerprints of their code."""
