"""
Decisions: pure functions and tables. No I/O, no clock, no Temporal.

* May this call run? `engine` has the rules in their order. `case` is what they look at, `matching`
  finds the rule of the policy that fits, `permission_checks` says what a permission takes, `risk`
  what holds without a policy; `allowlists` and `switches` are lists that some of them ask.
* What does the policy file say? `document` reads it: `yaml_lines` its text, `schema` its fields,
  `checks` what they may not say together, `conditions` its expressions. `rules` is what comes out.
* Does this approval count? `approvals` judges it, `authentication` holds its token against the
  request, `signatures` against the keys, `trust` says whose keys those are, `people` who is who.
* How far may a run go? `budgets`, `loop_detection`, `context`.
"""

if __name__ != "holdfast.policy":
    raise ImportError(
        "import it as holdfast.policy; a folder policy/ of your own has an __init__.py"
    )
