"""The floor: the same activities in a bare Temporal loop, with nothing around them."""

import json
from datetime import timedelta
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

if TYPE_CHECKING:
    from openai import AsyncOpenAI

TIMEOUT = timedelta(seconds=10)


def record(number: str | int) -> str:
    """Return a text of 1,000 characters, as our tools return it too."""
    return f"Record {number} of one thousand characters. ".ljust(1000, "x")


@activity.defn
async def model(turn: int) -> dict[str, str | int]:
    """Stand for a model: a small reply."""
    return {"tool": "read_record", "number": turn}


@activity.defn
async def read_record(number: str | int) -> dict[str, str]:
    """Stand for a tool: a result of 1 kB."""
    return {"text": record(number)}


@workflow.defn
class RawLoop:
    """As many steps as its argument says, and the last call of the model that ends a run."""

    @workflow.run
    async def run(self, steps: int) -> str:
        """Take the steps."""
        for turn in range(1, steps + 1):
            call = await workflow.execute_activity(model, turn, start_to_close_timeout=TIMEOUT)
            await workflow.execute_activity(
                read_record, call["number"], start_to_close_timeout=TIMEOUT
            )
        await workflow.execute_activity(model, steps + 1, start_to_close_timeout=TIMEOUT)
        return "ok"


RAW_OVER_HTTP = "RawOverHttp"


_READ_RECORD = {
    "type": "function",
    "name": "read_record",
    "description": "Read the record with this number. Returns its text.",
    "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}},
    "strict": False,
}


@cache
def _open_client() -> "AsyncOpenAI":
    from openai import AsyncOpenAI

    return AsyncOpenAI()


@activity.defn
async def ask_model(turn: int, steps: int) -> dict[str, str | int]:
    """
    Ask a model by OpenAI's SDK, streamed; it is sent what ours is.

    As JSON, and events are taken as they come: to build what the SDK has types for takes it twice
    as long as all the rest of a step.
    """
    from openai import AsyncStream

    said: list[object] = [{"role": "user", "content": str(steps)}]
    for number in range(1, turn):
        asked, arguments = f"call_{number}", json.dumps({"number": number})
        found = json.dumps({"text": record(number)})
        call = {"call_id": asked, "name": "read_record", "arguments": arguments}
        said += [
            {"type": "function_call", **call},
            {"type": "function_call_output", "call_id": asked, "output": found},
        ]
    body = {"model": "gpt-5.2", "input": said, "tools": [_READ_RECORD], "stream": True}
    stream = await _open_client().post(
        "/responses",
        cast_to=object,
        content=json.dumps(body).encode(),
        stream=True,
        stream_cls=AsyncStream[object],
    )
    async with stream:
        async for event in stream:
            sent = cast("dict[str, Any]", event)
            if sent["type"] == "response.completed":
                item = sent["response"]["output"][0]
                if "name" in item:
                    return {"tool": item["name"], **json.loads(item["arguments"])}
    return {}


@workflow.defn(name=RAW_OVER_HTTP)
class RawOverHttp:
    """The same loop, with a model behind a provider's SDK."""

    @workflow.run
    async def run(self, steps: int) -> str:
        """Take the steps, as many as the model asks for."""
        for turn in count(1):
            call = await workflow.execute_activity(
                ask_model, args=[turn, steps], start_to_close_timeout=TIMEOUT
            )
            if not call:
                break
            await workflow.execute_activity(
                read_record, call["number"], start_to_close_timeout=TIMEOUT
            )
        return "ok"


RAW_SESSION = "RawSession"


@workflow.defn(name=RAW_SESSION)
class RawSession:
    """As many messages as its argument says: each is heard, and a model is asked once."""

    def __init__(self) -> None:
        self._heard: list[str] = []
        self._answered: set[str] = set()

    @workflow.run
    async def run(self, messages: int) -> int:
        """Answer one after the other."""
        for place in range(messages):
            await workflow.wait_condition(lambda: len(self._heard) > place)  # noqa: B023 -- awaited at once
            await workflow.execute_activity(model, place, start_to_close_timeout=TIMEOUT)
            self._answered.add(self._heard[place])
        return messages

    @workflow.signal
    async def message(self, said: dict[str, str]) -> None:
        """Hear something."""
        self._heard.append(said["message_id"])

    @workflow.query
    def outcome(self, asked: dict[str, str]) -> dict[str, str]:
        """Say whether something was answered."""
        done = asked["message_id"] in self._answered
        return {"state": "done" if done else "working"}


RAW_WAITING = "RawWaiting"


@workflow.defn(name=RAW_WAITING)
class RawWaiting:
    """Asks a model, and does what that wants once a person has approved it."""

    def __init__(self) -> None:
        self._asked = self._approved = False

    @workflow.run
    async def run(self) -> str:
        """Wait for the person."""
        call = await workflow.execute_activity(model, 1, start_to_close_timeout=TIMEOUT)
        self._asked = True
        await workflow.wait_condition(lambda: self._approved)
        await workflow.execute_activity(
            read_record, call["number"], start_to_close_timeout=TIMEOUT
        )
        return "ok"

    @workflow.update
    async def decide(self, said: dict[str, str]) -> dict[str, str]:
        """Hear the person."""
        await workflow.wait_condition(lambda: self._asked)
        self._approved = True
        return said


@workflow.defn
class RawParent:
    """As many child workflows as its argument says, each of one step."""

    @workflow.run
    async def run(self, steps: int) -> str:
        """Take the steps."""
        for turn in range(1, steps + 1):
            await workflow.execute_activity(model, turn, start_to_close_timeout=TIMEOUT)
            await workflow.execute_child_workflow(RawLoop.run, 1)
        await workflow.execute_activity(model, steps + 1, start_to_close_timeout=TIMEOUT)
        return "ok"


def build_raw_worker(client: Client, task_queue: str) -> Worker:
    """Put the floor's worker together, with all that the SDK does by default."""
    return Worker(
        client,
        task_queue=task_queue,
        workflows=[RawLoop, RawOverHttp, RawParent, RawSession, RawWaiting],
        activities=[model, ask_model, read_record],
    )
