"""Giving work to other agents: a task, or the whole conversation."""
