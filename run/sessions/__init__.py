"""What a session does between the work on one message and the next. Pure."""
