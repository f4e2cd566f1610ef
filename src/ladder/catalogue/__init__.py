"""The workloads, variants and data that exist, found without importing variants, and the fingerprints of their code."""
