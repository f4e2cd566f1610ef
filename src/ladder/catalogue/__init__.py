"""Which workloads and variants there are, read as text, and the fingerprints of their code."""
