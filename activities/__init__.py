"""The only place where effects happen: thin, one collaborator each."""

if __name__ != "holdfast.activities":
    raise ImportError(
        "import it as holdfast.activities; a folder activities/ of your own has an __init__.py"
    )
