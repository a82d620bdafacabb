"""What a worker takes from the network, whoever sends it: its loop belongs to all runs."""
