"""Guardrails: how an app defines them, what runs them, and those that come with Holdfast."""
