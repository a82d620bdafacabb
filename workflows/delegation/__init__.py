"""Giving work to other agents, in workflow code."""
