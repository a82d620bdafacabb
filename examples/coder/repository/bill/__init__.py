"""A bill, divided among guests."""
