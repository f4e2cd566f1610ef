"""The workloads: a folder each, loaded by name only."""
