"""An agent that reconciles orders against payments."""
