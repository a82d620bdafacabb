"""A trace as spans: for our own readers, and for others."""
