"""What runs that work for each other say to each other."""
