"""The workloads, variants and data that exist, found without importing variants, the fingerprints of their code, and
the contracts that they must keep.
"""
