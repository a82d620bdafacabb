"""Sessions: what is said to them, what they answer, and what they keep."""
