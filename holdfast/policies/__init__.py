"""Policies beside the worker: their files, and trying them on apps and on past runs."""
