"""The model of a run without a provider's key: it does what the goal's words say."""

import re
from decimal import Decimal

from examples.support.books import Order
from examples.support.refunds import Refund
from holdfast.testing import Reply, ScriptTurn, call, say

_ORDER = re.compile(r"\border (\d+)", re.IGNORECASE)
_AMOUNT = re.compile(r"\b(\d+\.\d\d)(?: ([A-Z]{3}))?")

ASKED_ONCE = 3
"""The turn after the one that asked for the refund."""


def desk(turn: ScriptTurn) -> Reply:
    """Look the order up, refund what is wanted, answer if told to; a refusal ends it."""
    named = _ORDER.search(turn.goal)
    if named is None:
        return say("Which order is it about? I need its number.")
    order_id = int(named[1])
    if turn.number == 1:
        return call("find_order", order_id=order_id)
    for result in turn.results:
        if result.status == "error" and result.type == "timeout" and turn.number == ASKED_ONCE:
            # It certainly didn't happen, or it would be an outcome that is unknown.
            return _refund(turn, order_id)
        if result.status != "ok":
            return say(f"{result.name} {result.status}: {result.reason}")
    return _next(turn, order_id)


def _next(turn: ScriptTurn, order_id: int) -> Reply:
    match turn.results[-1].name:
        case "find_order" if _AMOUNT.search(turn.goal):
            return _refund(turn, order_id)
        case "find_order":
            return say(f"Order {order_id}: {_order(turn).article}.")
        case "issue_refund" if "tell" in turn.goal.lower():
            refund = Refund.model_validate(turn.last("issue_refund"))
            text = (
                f"You have {refund.amount} {refund.currency} back. We are sorry for the trouble."
            )
            return call("send_answer", order_id=order_id, text=text)
        case _:
            return say(_done(turn))


def _refund(turn: ScriptTurn, order_id: int) -> Reply:
    wanted = _AMOUNT.search(turn.goal)
    amount, currency = wanted.groups() if wanted else ("0", None)
    return call(
        "issue_refund",
        order_id=order_id,
        amount=float(Decimal(amount)),
        currency=currency or _order(turn).currency,
    )


def _done(turn: ScriptTurn) -> str:
    refund = Refund.model_validate(turn.last("issue_refund"))
    told = " The customer was told." if turn.last("send_answer") else ""
    return (
        f"{refund.amount} {refund.currency} of order {refund.order_id} were refunded "
        f"(refund {refund.refund_id}).{told}"
    )


def _order(turn: ScriptTurn) -> Order:
    return Order.model_validate(turn.last("find_order"))
