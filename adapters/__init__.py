"""Providers of models: one dialect per folder, behind one small protocol. No Temporal."""

if __name__ != "holdfast.adapters":
    raise ImportError("import it as holdfast.adapters")
