"""Medians with intervals, verdicts on two cases, and verdicts on claims."""
