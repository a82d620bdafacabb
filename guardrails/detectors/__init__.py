"""
What the built-in guardrails look for. Pure, and linear in the length of a text.

`normalize` and `subject_text` are what the others read with, `code_blocks` finds code in an
answer. What leads out of a project is in `scope`, what can't be undone in `destruction`, data
about people in `personal`, attempts to steer a model in `injection`, credentials in `secrets`, a
document's own schemas in `openapi`, which run claims what in `resource_claims`.
"""
