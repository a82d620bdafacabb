"""The kinds of steps that a run takes."""
