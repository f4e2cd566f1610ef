"""Medians with intervals, and verdicts on two cases."""
