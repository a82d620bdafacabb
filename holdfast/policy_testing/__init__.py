"""Trying policies: on cases, on calls of an app, and on past runs."""
