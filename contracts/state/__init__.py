"""The state of a run: everything that decides what happens next, as frozen values."""
