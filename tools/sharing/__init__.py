"""What a worker has once for all runs."""
