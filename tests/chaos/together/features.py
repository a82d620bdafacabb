"""Which features really met in an example, by what happened in it and not by what was drawn."""

import re

from tests.chaos.together.book import UNDO
from tests.chaos.together.scene import Seen

LINES = {
    "handoff": r"^handoff: ",
    "handed back": r"transfer_to_answerer|^open agent answerer",
    "plan approved": r"^submit_plan",
    "tripwire": r"^tripwire: (ask_before|look_after)",
    "withheld": r"^tripwire: keep_",
    "sent back": r"^tripwire: accept|^approach: ",
    "domain": r"^review: domain",
    "lapsed": r"^request.closed: .*expired",
    "rejected": r"rejected by",
    "escalated": r"^paused: |^escalat",
    "suspended": r"^suspended|^suspend",
    "stopped": r"^stopped: stopped by a person",
    "limit": r"^stopped: max_",
    "loop": r"^stopped: (loop|max_consecutive)",
    "message": r"^session.message: m-[2-9]",
    "denied": r"^ruled: .*: deny",
    "not undone": r"^not undone",
}

SAID = ("steer", "steer_now", "meanwhile steer_now", "meanwhile suspend", "extend", "continued")


def find_features(seen: Seen) -> set[str]:
    """Name what happened."""
    found = {
        name
        for name, pattern in LINES.items()
        for notes in seen.notes.values()
        for one in notes
        if re.search(pattern, one.summary)
    }
    found |= {name for name in SAID if name in seen.said}
    found |= {"kill"} & {name.removeprefix("meanwhile ") for name in seen.said}
    parts = [run_id.split(".") for run_id in seen.notes]
    found |= {"part"} if any(len(one) == 2 for one in parts) else set()
    found |= {"nested"} if any(len(one) > 2 for one in parts) else set()
    tiers = {"full", "simplified", "planner"}
    found |= {"judge"} if any("judged_by" in name for one in parts for name in one) else set()
    for one in parts[0:]:
        found |= {f"tier {tier}" for tier in tiers if any(tier in name for name in one[1:])}
    if len(seen.chain) > 1:
        found |= {"fork" if any(one.turn for one in seen.drama.agains) else "retry"}
    if seen.drama.session is not None:
        found |= {"session"}
        found |= {"session budget"} if seen.drama.session else set()
        opened = sum(one.name == "load_session" for notes in seen.notes.values() for one in notes)
        found |= {"opened again"} if opened > 1 else set()
    for entry in seen.book.entries:
        if entry.tool in UNDO:
            found.add("undo")
        elif entry.ended is None:
            found.add("lost")
        found |= {entry.tool} & {"send", "spread", "pay", "file", "draft"}
    if seen.drama.forgets or seen.drama.divides:
        found.add("forgetful")
    if seen.drama.plans:
        found.add("plan mode")
    return found
