"""The support desk with a till that pays and then says nothing: its worker is killed meanwhile."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import cast

from examples.support import app as desk
from examples.support import tools
from examples.support.refunds import Refund
from examples.support.tools import Amount, Currency, OrderId, find_refund, prepare_refund
from holdfast import App, Risk, ToolContext, tool

__all__ = ["app", "find_refund", "issue_refund", "prepare_refund"]


@tool(risk=Risk.FINANCIAL, timeout=30, draft="prepare_refund", reconcile="find_refund")
async def issue_refund(
    order_id: OrderId, amount: Amount, currency: Currency, ctx: ToolContext
) -> Refund:
    """Give a customer money back, and never say so."""
    paid = cast("Awaitable[Refund]", tools.issue_refund(order_id, amount, currency, ctx))
    await paid
    await asyncio.Event().wait()
    raise AssertionError


app = App(
    agents=[
        replace(
            desk.app.agents[0], models=["scripted:desk"], tools=[tools.find_order, issue_refund]
        )
    ],
    scripts=desk.app.scripts,
    policy=desk.POLICY,
)
