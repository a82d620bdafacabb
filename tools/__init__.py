"""What an agent can do: the tool contract, its checks, and how a tool runs. No Temporal."""

if __name__ != "holdfast.tools":
    raise ImportError("import it as holdfast.tools")
