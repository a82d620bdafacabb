"""Who counts now: whose signatures, and which authorities; read when something is decided."""
