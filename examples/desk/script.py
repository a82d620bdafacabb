"""The models of the desk without a provider's key: each does what it is there for."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from examples.desk.tools import RULES
from holdfast.contracts.calls import ToolResult
from holdfast.contracts.transcript import TranscriptItem
from holdfast.testing import Reply, ScriptTurn, call, calls, say

_ORDER = re.compile(r"\border (\d+)", re.IGNORECASE)
_AMOUNT = re.compile(r"\b\d+\.\d\d")
_PARCEL = re.compile(r"\bnew one\b", re.IGNORECASE)


class _Task(NamedTuple):
    """What is to be done now, about which order, and what was done for it so far."""

    words: str
    order_id: int | None
    results: tuple[ToolResult, ...]

    @property
    def amount(self) -> str | None:
        found = _AMOUNT.search(self.words)
        return found[0] if found else None


def triage(turn: ScriptTurn) -> Reply:
    """Have two questions answered side by side; then have sent and refunded what is asked for."""
    task = _read(turn, "goal", "message")
    order_id, done = task.order_id, [one.name for one in task.results]
    if order_id is None:
        return say("Which order is it about? I need its number.")
    facts = _find_facts(turn)
    if facts is None:
        return calls(
            call("delegate_to_researcher", about="order", order_id=order_id),
            call("delegate_to_researcher", about="rules", order_id=order_id),
        )
    if _PARCEL.search(task.words) and "transfer_to_shipping" not in done:
        return call("transfer_to_shipping", goal=f"Send order {order_id} once more")
    if task.amount is not None and "transfer_to_billing" not in done:
        return call("transfer_to_billing", goal=f"Refund {task.amount} of order {order_id}")
    return say(_tell_parcel(turn) if "transfer_to_shipping" in done else " ".join(facts))


def researcher(turn: ScriptTurn) -> Reply:
    """Look up what is asked, and say it as data."""
    asked = json.loads(turn.goal.partition("\n\n")[0])
    if not turn.results:
        if asked["about"] == "rules":
            return call("read_rules")
        return call("find_order", order_id=asked["order_id"])
    found = turn.results[-1]
    if found.status != "ok":
        return say(json.dumps({"facts": [found.reason]}))
    if asked["about"] == "rules":
        return say(json.dumps({"facts": list(RULES)}))
    order = turn.last("find_order")
    article = order["article"] if isinstance(order, dict) else "nothing"
    return say(json.dumps({"facts": [f"Order {asked['order_id']} was for: {article}."]}))


def shipping(turn: ScriptTurn) -> Reply:
    """Send one parcel, and say which."""
    named = _ORDER.search(turn.goal)
    if not turn.results:
        return call("send_parcel", order_id=int(named[1]) if named else 1)
    sent = turn.results[-1]
    if sent.status != "ok":
        return say(f"No parcel was sent: {sent.reason}")
    return say(f"Parcel {turn.last('send_parcel')} is on its way.")


def billing(turn: ScriptTurn) -> Reply:
    """Refund what the customer was promised, and tell what came of all."""
    task = _read(turn, "notice", "findings", "message")
    if task.amount is None or task.order_id is None:
        return say(f"{_tell_parcel(turn)} {_tell_refund(turn)}")
    if not task.results:
        return call("find_order", order_id=task.order_id)
    last, order = task.results[-1], turn.last("find_order")
    if last.status != "ok":
        return say(f"{_tell_parcel(turn)} There was no refund: {last.reason}")
    if last.name == "find_order" and isinstance(order, dict):
        given = {"amount": float(task.amount), "currency": order["currency"]}
        return call("issue_refund", order_id=task.order_id, **given)
    return say(f"{_tell_parcel(turn)} {_tell_refund(turn)}")


def _read(turn: ScriptTurn, *origins: str) -> _Task:
    """Read the latest words of these origins, and what was done since they came."""
    said = [
        (place, one.text)
        for place, one in enumerate(turn.transcript)
        if one.kind == "user" and one.origin in origins
    ]
    place, words = said[-1]
    named = [found[1] for _, text in said for found in _ORDER.finditer(text)]
    order_id = int(named[-1]) if named else None
    return _Task(words, order_id, _list_results(turn.transcript[place:]))


def _list_results(items: Sequence[TranscriptItem]) -> tuple[ToolResult, ...]:
    return tuple(result for item in items if item.kind == "tool" for result in item.results)


def _find_facts(turn: ScriptTurn) -> list[str] | None:
    """Return what the researcher found about both questions; null before it was asked."""
    every = _list_results(turn.transcript)
    found = [one for one in every if one.name == "delegate_to_researcher"]
    data = [one.data for one in found if one.status == "ok"]
    facts = [one["facts"] for one in data if isinstance(one, dict)]
    listed = [str(fact) for some in facts if isinstance(some, list) for fact in some]
    return listed if found else None


def _tell_parcel(turn: ScriptTurn) -> str:
    sent = turn.last("transfer_to_shipping")
    return str(sent["answer"]) if isinstance(sent, dict) else "No parcel was sent."


def _tell_refund(turn: ScriptTurn) -> str:
    paid = turn.last("issue_refund")
    return f"{paid['amount']} was refunded." if isinstance(paid, dict) else "Nothing was refunded."
