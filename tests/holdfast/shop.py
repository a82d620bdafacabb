"""A shop that policies are tried on: its tools, at the top of a module, and its app."""

from decimal import Decimal

from holdfast import Agent, App, ResourceScope, Risk, tool
from holdfast.testing import call, calls, say


@tool(risk=Risk.READ_ONLY)
async def find_order(order_id: int) -> str:
    """Find an order by its number."""
    return f"order {order_id}"


@tool(risk=Risk.DRAFT_ONLY)
async def prepare_refund(order_id: int, amount: Decimal, currency: str = "EUR") -> str:
    """Prepare a refund, so that a person can look at it."""
    return f"{amount} {currency} for {order_id}"


@tool(risk=Risk.FINANCIAL, draft="prepare_refund")
async def issue_refund(order_id: int, amount: Decimal, currency: str = "EUR") -> str:
    """Refund an order to its customer."""
    return f"refunded {amount} {currency} for {order_id}"


@tool(risk=Risk.WRITE_INTERNAL)
async def note_ticket(text: str) -> str:
    """Write a note into the ticket."""
    return f"noted {text}"


@tool(risk=Risk.DESTRUCTIVE)
async def drop_order(order_id: int) -> str:
    """Delete an order for good."""
    return f"dropped {order_id}"


@tool(risk=Risk.NETWORK_OPEN_WORLD, scope=ResourceScope(kind="host", argument="url"))
async def fetch(url: str) -> str:
    """Fetch a page from somewhere."""
    return url


SCRIPT = [
    call("find_order", order_id=1),
    calls(
        call("issue_refund", order_id=1, amount=15),
        call("issue_refund", order_id=2, amount="29.00"),
        call("note_ticket", text="refunds"),
        call("drop_order", order_id=3),
        call("find_order", order="x"),
    ),
    say("done"),
]

app = App(
    agents=[
        Agent(
            name="support",
            instructions="Help.",
            models=["scripted:support"],
            tools=[find_order, issue_refund, note_ticket, drop_order, fetch],
        ),
        Agent(
            name="reader", instructions="Read.", models=["scripted:support"], tools=[find_order]
        ),
    ],
    scripts={"support": SCRIPT},
)
