"""Deterministic orchestration: what happens in which order. No I/O."""
