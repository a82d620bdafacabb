"""What a worker has of its machine: memory, and places for what runs ask of it."""
