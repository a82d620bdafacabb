"""The models of the desk without a provider's key: each does what it is there for."""

import json
import re

from examples.desk.tools import RULES
from holdfast.testing import Reply, ScriptTurn, call, calls, say

_ORDER = re.compile(r"\border (\d+)", re.IGNORECASE)
_AMOUNT = re.compile(r"\b\d+\.\d\d")


def triage(turn: ScriptTurn) -> Reply:
    """Have two questions answered side by side, a parcel sent, and the money given back."""
    named, amount = _ORDER.search(turn.goal), _AMOUNT.search(turn.goal)
    if named is None or amount is None:
        return say("Which order is it about, and how much money? I need both.")
    order_id = int(named[1])
    if not turn.results:
        return calls(
            call("delegate_to_researcher", about="order", order_id=order_id),
            call("delegate_to_researcher", about="rules", order_id=order_id),
        )
    if turn.results[-1].name == "delegate_to_researcher":
        return call("transfer_to_shipping", goal=f"Send order {order_id} once more")
    return call("transfer_to_billing", goal=f"Refund {amount[0]} of order {order_id}")


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
    return say(
        json.dumps({"facts": list(RULES) if asked["about"] == "rules" else [found.summary]})
    )


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
    named, amount = _ORDER.search(turn.goal), _AMOUNT.search(turn.goal)
    order_id, last = int(named[1]) if named else 1, turn.results[-1]
    if last.name == "transfer_to_billing":
        return call("find_order", order_id=order_id)
    if last.name == "find_order" and last.status == "ok" and amount is not None:
        order = turn.last("find_order")
        currency = order["currency"] if isinstance(order, dict) else "EUR"
        return call("issue_refund", order_id=order_id, amount=float(amount[0]), currency=currency)
    sent = turn.last("transfer_to_shipping")
    parcel = sent["answer"] if isinstance(sent, dict) else "No parcel was sent."
    if last.status != "ok":
        return say(f"{parcel} There was no refund: {last.reason}")
    return say(f"{parcel} {amount[0] if amount else 'Nothing'} was refunded.")
