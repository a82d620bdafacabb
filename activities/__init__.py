"""The only place where effects happen: thin, one collaborator each."""
