"""
What the built-in guardrails look for. Pure, and linear in the length of a text.

`patterns` and `plain` are what the others read with, `blocks` finds code in an answer. What leads
out of a project is in `scope`, what can't be undone in `destruction`, data about people in
`personal`, attempts to steer a model in `injection`, credentials in `secrets`, a document's own
schemas in `openapi`, which run holds what in `holding`.
"""
