"""The words that every part of Holdfast shares: frozen values, no behaviour beyond arithmetic."""

if __name__ != "holdfast.contracts":
    raise ImportError("import it as holdfast.contracts")
