"""What the desk can do: look orders up, refund money, answer customers."""

import asyncio
import os
from decimal import Decimal
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field

from examples.support import answers, books, refunds
from examples.support.answers import Answer
from examples.support.books import Order
from examples.support.refunds import Claim, Prepared, Refund
from holdfast import Reconciled, Risk, ToolContext, tool

OrderId: TypeAlias = Annotated[int, Field(ge=1, description="The number of an order.")]
Amount: TypeAlias = Annotated[
    Decimal, Field(gt=0, max_digits=9, decimal_places=2, description="As in 29.00.")
]
Currency: TypeAlias = Annotated[
    str, Field(pattern=r"^[A-Z]{3}$", description="That of the order, as find_order gives it.")
]
Words: TypeAlias = Annotated[str, Field(min_length=1, max_length=2000)]


def kept() -> Path:
    """Return the file of the books, which is the worker's unless SUPPORT_BOOKS names another."""
    home = Path(os.environ.get("HOLDFAST_HOME") or ".holdfast")
    return Path(os.environ.get("SUPPORT_BOOKS") or home / "books.db")


@tool(risk=Risk.READ_ONLY, timeout=10)
async def find_order(order_id: OrderId) -> Order:
    """Look up one order by its number: customer, article, what was paid and refunded."""
    return await asyncio.to_thread(books.order, kept(), order_id)


@tool(risk=Risk.DRAFT_ONLY, timeout=30)
async def prepare_refund(
    order_id: OrderId, amount: Amount, currency: Currency, ctx: ToolContext
) -> Prepared:
    """Check a refund against the books and prepare it; no money moves."""
    claim = Claim(order_id, amount, currency)
    return await asyncio.to_thread(refunds.prepare, kept(), ctx.idempotency_key, claim)


@tool(
    risk=Risk.FINANCIAL,
    timeout=30,
    draft="prepare_refund",
    reconcile="find_refund",
    expected_result="one refund in the books, of this amount, to the customer of this order",
    rollback="charge the customer again, which takes their consent",
)
async def issue_refund(
    order_id: OrderId, amount: Amount, currency: Currency, ctx: ToolContext
) -> Refund:
    """Give a customer money back that they paid for an order. Call it once for each refund."""
    claim = Claim(order_id, amount, currency)
    return await asyncio.to_thread(refunds.pay, kept(), ctx.idempotency_key, ctx.draft_id, claim)


@tool(risk=Risk.WRITE_INTERNAL, timeout=30)
async def find_refund(
    order_id: OrderId,  # noqa: ARG001 -- it takes what issue_refund takes
    amount: Amount,  # noqa: ARG001
    currency: Currency,  # noqa: ARG001
    ctx: ToolContext,
) -> Reconciled:
    """
    Find out whether a call of issue_refund happened whose answer was lost.

    No money moves. A refund that isn't there is made impossible, so that "no" stays true.
    """
    found = await asyncio.to_thread(refunds.settle, kept(), ctx.idempotency_key)
    if found is None:
        return Reconciled(happened=False)
    return Reconciled(happened=True, result=found.model_dump(mode="json"))


@tool(risk=Risk.DRAFT_ONLY, timeout=30)
async def draft_answer(order_id: OrderId, text: Words, ctx: ToolContext) -> Answer:
    """Draft an answer to the customer of an order; nothing is sent."""
    return await asyncio.to_thread(answers.draft, kept(), ctx.idempotency_key, order_id, text)


@tool(
    risk=Risk.COMMUNICATION,
    timeout=30,
    draft="draft_answer",
    expected_result="one message to the customer of this order",
    rollback="none: what is sent is sent",
)
async def send_answer(
    order_id: OrderId,  # noqa: ARG001 -- the approved draft says what is sent to whom
    text: Words,  # noqa: ARG001
    ctx: ToolContext,
) -> Answer:
    """Answer the customer of an order in words. A person sees the draft before it goes out."""
    return await asyncio.to_thread(answers.send, kept(), ctx.idempotency_key, ctx.draft_id)
