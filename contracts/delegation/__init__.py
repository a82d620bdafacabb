"""What runs that work for each other, or go on for each other, say to each other."""
