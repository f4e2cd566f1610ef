"""The workloads: a folder each, loaded by name only; docs/contracts.md has what they and their variants hold."""
