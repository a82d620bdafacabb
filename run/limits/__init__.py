"""What a run may use, and what happens before it has used too much. Pure."""
