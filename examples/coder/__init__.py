"""An agent that mends a failing test of a small repository."""
