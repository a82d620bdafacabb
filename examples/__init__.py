"""Agents to run, read and change."""
