"""What a call says: filled in, and as JSON that can be compared with that of another call."""
