"""What an endpoint does of what runs ask of models, tried on it."""
