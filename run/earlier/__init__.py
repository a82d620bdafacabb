"""What a run takes from one that is over. Pure."""
