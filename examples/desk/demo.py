"""The demo: a talk of four messages, four agents, and two people who each decide about one."""

import asyncio
import sys
import time
import uuid
from collections.abc import Callable

from examples import stage
from examples.desk.tools import find_parcels
from examples.support.tools import kept
from holdfast.client import Holdfast

APP = "examples.desk.app:app"
CUSTOMER = "ada"


def main() -> int:
    """Run the demo; 0 when all was answered."""
    session = f"desk-{uuid.uuid4().hex[:6]}"
    exit_code = stage.perform_with_key(APP, session, lambda: _play(session))
    if exit_code == 0:
        print(f"  the books: {kept()}, the parcels: {find_parcels()}/")
        print(
            f"  holdfast chat triage --session {session} --actor {CUSTOMER}    # goes on with it"
        )
    return exit_code


def _play(session: str) -> int:
    stage.tell("Ada writes. Triage has a researcher answer two questions side by side.")
    _say(session, "Order 1044 came broken. What can I expect?")
    stage.tell("Shipping works in a run of its own; what it asks waits in the session too, ...")
    _say(session, "Then send me a new one, please.", lambda: _release_parcel(session))
    stage.tell("Triage hands over to billing, which goes on in its place and asks finance.")
    _say(session, "And I want the 29.00 back.", lambda: _release_refund(session))
    stage.tell("Billing answers from then on, and knows all that was said.")
    _say(session, "Thank you. What have you done for me?")
    stage.tell("The session, as whoever comes back to it finds it; it is closed, ...")
    stage.call("sessions", session)
    stage.call("close", session, "--reason", "all is done")
    stage.tell("... and what happened in it, from its history alone:")
    stage.call("trace", session)
    return 0


def _say(session: str, words: str, decide: Callable[[], None] = lambda: None) -> None:
    """Say something as the customer, have people decide what is asked, and show the answer."""
    print(f"  {CUSTOMER}: {words}", flush=True)
    print(f"  desk: {asyncio.run(_exchange(session, words, decide))}", flush=True)


async def _exchange(session: str, words: str, decide: Callable[[], None]) -> str:
    holdfast = await Holdfast.connect()
    talk = holdfast.session(session, agent="triage", actor=CUSTOMER)
    receipt = await talk.send(words)
    await asyncio.to_thread(decide)
    async with asyncio.timeout(stage.PATIENCE):
        result = await talk.wait_for(receipt.message_id)
    if result.answer is None:
        raise stage.DemoFailed(f"{words!r} is {result.status}; see 'holdfast trace {session}'")
    return result.answer


def _release_parcel(session: str) -> None:
    parcel = _await_request(session, of_part=True)
    stage.call("pending", session)
    stage.tell("... where Wes of the warehouse decides it.")
    stage.call("approve", session, *parcel, "--approver", "wes", "--reason", "in stock")


def _release_refund(session: str) -> None:
    refund = _await_request(session, of_part=False)
    stage.call("pending", session)
    words = ("--key", "fiona", "--reason", "photo of the shards seen")
    stage.call("approve", session, *refund, *words)


def _await_request(session: str, *, of_part: bool) -> tuple[str, str, str]:
    """Wait for a request of the session itself, or of a run that works for it."""
    deadline = time.monotonic() + stage.PATIENCE
    while time.monotonic() < deadline:
        request = stage.await_request(session)
        if ("/" in request[0]) is of_part:
            return request
        time.sleep(0.5)
    raise stage.DemoFailed(f"{session} never asked for it; see 'holdfast trace {session}'")


if __name__ == "__main__":
    sys.exit(main())
