"""Keeping sessions that are closed, and finding them again."""
