"""Checking and timing a case, alone or beside another."""
