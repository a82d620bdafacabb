"""A fresh process for each call, with nothing in it but the tool (docs/sandbox.md)."""
