"""What is switched off, as each worker knows it: by following one history."""
