"""Providers of models: one dialect per folder, behind one small protocol. No Temporal."""

if __name__ != "holdfast.adapters":
    raise ImportError(
        "import it as holdfast.adapters; a folder adapters/ of your own has an __init__.py"
    )
