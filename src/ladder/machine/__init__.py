"""This machine: its CPUs and caches, its GPUs, its programs, and the revision of the source."""
