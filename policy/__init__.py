"""Decisions: pure functions and tables. No I/O, no clock, no Temporal."""
