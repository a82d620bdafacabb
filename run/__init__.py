"""
The state machine of a run: pure functions, from one state and what happened to the next.

* What comes next? `steps` says it as one class of `step`; `gates` says what guardrails look at
  before, `batches` which calls come first.
* What did a step bring? `replies` and `fallbacks` take what a model said or failed to, `rulings`
  what the policy said of calls, `results` and `disagreements` stand in for a tool, `tripwires`
  take verdicts of guardrails, `billing` what it cost, `effects` and `parts` what was done.
* What waits for people? `requests` opens and closes it, `approvals`, `reviews` and `escalations`
  are its kinds, `verdicts` what a decision leads to.
* Where to, when it goes wrong? `backtracking` goes back, `tiers` and `decomposition` try another
  way, `compaction` makes room.
* What is said of it? `transcript` keeps it, `answers` and `disclosure` hold it back until it may
  go out, `summaries` is the line that an auditor sees.
"""

if __name__ != "holdfast.run":
    raise ImportError("import it as holdfast.run; a folder run/ of your own has an __init__.py")
