"""Medians with their intervals, verdicts on two cases, and verdicts on claims."""
