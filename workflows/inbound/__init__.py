"""What people say to a run: taken in their order, read, judged, and heard."""
