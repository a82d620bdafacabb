"""What the agents of the desk can do beside looking at the books: rules, parcels, a case."""

import asyncio
import json
import os
from hashlib import sha256
from pathlib import Path

from examples.support.tools import OrderId
from holdfast import HandoffData, Risk, ToolContext, tool

RULES = (
    "Who gets something broken has the money back, and a new one at our cost.",
    "We want to see a photo of the damage.",
)


def find_parcels() -> Path:
    """Return the folder of the parcels, one file each."""
    return Path(os.environ.get("HOLDFAST_HOME") or ".holdfast") / "parcels"


@tool(risk=Risk.READ_ONLY, timeout=10)
async def read_rules() -> list[str]:
    """Read what the shop promises its customers."""
    return list(RULES)


@tool(risk=Risk.READ_ONLY, timeout=10)
async def load_case(goal: str) -> HandoffData:  # noqa: ARG001 -- the rules are those of all cases
    """Load what billing has to know of a case."""
    return HandoffData(constraints=RULES)


@tool(
    risk=Risk.WRITE_INTERNAL,
    timeout=30,
    expected_result="one parcel to the customer of this order",
    rollback="call the carrier, who may bring it back",
)
async def send_parcel(order_id: OrderId, ctx: ToolContext) -> str:
    """Send the article of an order once more, at our cost. Call it once for each parcel."""
    return await asyncio.to_thread(_send, order_id, ctx.idempotency_key)


def _send(order_id: int, key: str) -> str:
    """Write a parcel down under the key of its call, so that it is sent once."""
    folder = find_parcels()
    folder.mkdir(parents=True, exist_ok=True)
    # Of the whole key: all calls of a run, and of runs of the same hours, have its beginning.
    number = f"P-{order_id}-{sha256(key.encode()).hexdigest()[:16]}"
    (folder / f"{number}.json").write_text(json.dumps({"order": order_id, "parcel": number}))
    return number
