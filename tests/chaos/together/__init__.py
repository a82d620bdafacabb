"""Runs in which everything happens at once, and a referee who sees them from outside alone."""
