"""Guardrails: how an app defines them, those that come with Holdfast, and what these look for."""

if __name__ != "holdfast.guardrails":
    raise ImportError("import it as holdfast.guardrails")
