"""Deterministic orchestration: what happens in which order. No I/O."""

if __name__ != "holdfast.workflows":
    raise ImportError(
        "import it as holdfast.workflows; a folder workflows/ of your own has an __init__.py"
    )
