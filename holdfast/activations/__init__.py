"""How a worker takes the activations of workflows: what comes with them, and in which threads."""
