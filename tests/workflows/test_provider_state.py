"""What providers want to see again: kept by their names, in every result, and nobody else's."""

import inspect
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from holdfast import Budget
from holdfast.activities.model import ModelActivities
from holdfast.activities.transcripts import Transcripts
from holdfast.adapters.scripted import ScriptedAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import AnyCall
from holdfast.contracts.model import ModelReply, Prefix
from holdfast.contracts.run import RunResult
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import TranscriptPage
from holdfast.contracts.usage import CallUsage
from holdfast.run import replies, steps, turns
from holdfast.run.transcript import halt
from holdfast.testing import Reply, Script
from holdfast.tools.redaction import Redactor
from holdfast.workflows import views
from tests.asking import in_run
from tests.builders import MODEL, NOW, a_call, a_reply, a_state
from tests.control.guarded import guarded, on_word
from tests.histories.stored import history_file, names, texts
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun

ROOT = Path(__file__).parents[2]


class ThisRun:
    """Answers for the run that the tests ask about."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    async def prefix(self) -> Prefix:
        return self._state.agent.prefix

    async def transcript_page(self, offset: int, limit: int, digest: str) -> TranscriptPage:
        items = self._state.conversation.items
        return TranscriptPage(items=items[offset:], total=len(items), next_offset=None)


class LatestOnly(ScriptedAdapter):
    """A provider that forgets everything but what it said last."""

    def merge_state(self, before: JsonObject, fresh: JsonObject) -> JsonObject:
        return fresh


async def kept(adapter: ScriptedAdapter, before: JsonObject) -> ModelReply:
    """Ask a model once, in a run that keeps *before* for its provider."""
    state = a_state().with_chain(provider_state={"scripted": before, "other": {"z": 1}})
    agent = state.agent.model_copy(update={"prefix_digest": state.agent.prefix.digest})
    state = state.model_copy(update={"agent": agent})
    activities = ModelActivities(
        {"scripted": adapter}, Transcripts(ThisRun(state)), {}, Redactor(frozenset[str])
    )
    return await in_run(state.run_id).run(
        activities.call_model, turns.build_model_call(state, "scripted:it")
    )


@pytest.mark.parametrize(
    ("adapter", "fresh", "after"),
    [
        pytest.param(ScriptedAdapter, {"b": 2}, {"a": 1, "b": 2}, id="added"),
        pytest.param(ScriptedAdapter, {"a": 3}, {"a": 3}, id="replaced"),
        pytest.param(ScriptedAdapter, None, None, id="nothing new"),
        pytest.param(LatestOnly, {"b": 2}, {"b": 2}, id="a provider's own way"),
    ],
)
async def test_the_provider_says_how_its_state_adds_up(
    adapter: type[ScriptedAdapter], fresh: JsonObject | None, after: JsonObject | None
) -> None:
    """After each reply the state of its provider, and no other's, is merged as it wants."""
    # PS-06 PS-07 PS-08
    script = [Reply(text="done", provider_state=fresh)]

    assert (await kept(adapter({"it": script}), {"a": 1})).provider_state == after


async def test_a_reply_carries_what_the_run_needs() -> None:
    """What it said, why it stopped, which model it was, what it used, what it wants back."""
    # PS-01
    script = [Reply(text="done", provider_state={"b": 2}, usage=CallUsage(input_tokens=7))]

    reply = await kept(ScriptedAdapter({"it": script}), {})

    assert (reply.text, reply.stop, reply.model) == ("done", "end_turn", "scripted:it")
    assert (reply.usage.input_tokens, reply.provider_state) == (7, {"b": 2})
    assert "raw" not in ModelReply.model_fields


def ended(*calls: AnyCall, **reply: object) -> RunState:
    state = a_reply(*calls, provider_state={"container_id": "x"}, **reply)
    return replies.after_model(a_state(budget={"max_steps": 1}), state, NOW)


def exits() -> Sequence[RunState]:
    """A run at each of its ends."""
    asked = ended(a_call())
    budget = steps.next_step(asked.model_copy(update={"calls": ()}), NOW)
    assert isinstance(budget, steps.Halt)
    return (
        ended(text="done"),
        ended(stop="refusal", text="no"),
        ended(stop="max_tokens", text="half"),
        halt(asked, budget.stop, NOW),
        ended(a_call(n=1), a_call(n=1, call_id="c2"), a_call(n=1, call_id="c3")),
    )


@pytest.mark.parametrize("state", exits(), ids=["answer", "refusal", "cut", "budget", "loop"])
def test_the_state_is_in_every_result(state: RunState) -> None:
    """However a run ends, what its provider asked to keep is in the result."""
    # PS-03 PS-10
    assert state.outcome is not None
    assert turns.build_result(state).provider_state == {"scripted": {"container_id": "x"}}


def test_a_run_begins_with_no_state() -> None:
    """Nothing is kept before a provider asks for it, and nothing is what the result says."""
    # PS-05 PS-09 PS-25
    assert turns.build_model_call(a_state(), MODEL).provider_state == {}
    assert turns.build_result(a_state()).provider_state is None


def test_where_a_run_stands_has_the_state() -> None:
    """Before the first turn it is empty; then it has what the provider wants back, and no more."""
    # PS-05
    kept: JsonObject = {"container_id": "x", "_seen": "y"}
    talked = replies.after_model(a_state(), a_reply(a_call(), provider_state=kept), NOW)

    assert views.status(a_state()).provider_state == {}
    assert views.status(talked).provider_state == {"scripted": {"container_id": "x"}}
    assert talked.chain.provider_state == {"scripted": kept}


def test_each_provider_has_a_state_of_its_own() -> None:
    """What one wants back stays where another one answers, and is merged with nothing of it."""
    # PS-06
    first = a_reply(a_call(), provider_state={"a": 1}, model="anthropic:m")
    second = a_reply(a_call(), provider_state={"a": 2}, model="openai:m")
    third = a_reply(model="openai:m")

    one = replies.after_model(a_state(), first, NOW)
    both = replies.after_model(one.with_(calls=()), second, NOW)
    end = replies.after_model(both.with_(calls=()), third, NOW)

    told = {"anthropic": {"a": 1}, "openai": {"a": 2}}
    assert (both.chain.provider_state, turns.build_result(end).provider_state) == (told, told)


def test_the_result_explains_the_pattern() -> None:
    """Whoever reads the result's documentation finds an example of each kind."""
    # PS-04
    explained = inspect.getdoc(RunResult) or ""

    assert "container_id" in explained
    assert "thread_id" in explained


THEIRS = ("container_id", "thread_id", "previous_response_id", "cache_creation")


def test_no_type_of_ours_has_a_providers_field() -> None:
    """What only one provider has is data in its state, never a field that everybody carries."""
    # PS-02 PS-26
    rooms = ("contracts", "workflows", "activities", "run", "policy", "guardrails")
    code = {path: path.read_text("utf-8") for one in rooms for path in (ROOT / one).rglob("*.py")}

    assert {path.parent.name for path in code} > {*rooms, "execution", "sessions"}
    assert [
        (str(path), field)
        for path, text in code.items()
        for field in THEIRS
        if f"{field}:" in text
    ] == []


@pytest.mark.parametrize("name", names())
def test_no_history_has_a_field_of_a_provider_that_took_no_part(name: str) -> None:
    """No payload of a run whose model is no provider's names what only one provider has."""
    # PS-02
    said = "\n".join(texts(history_file(name).read_bytes()))

    assert '"scripted:' in said
    assert [field for field in THEIRS if field in said] == []


STATE: JsonObject = {"container_id": "x"}
ASKS = Reply(calls=(("find", {"name": "y"}),), provider_state=STATE)


async def aborted(run: AnyRun) -> None:
    (request,) = await run.asked()
    await run.signal("resolution", {"request_id": request.request_id, "action": "abort"})


async def stopped(run: AnyRun) -> None:
    await run.asked()
    await run.signal("stop", {"reason": "enough", "by": "olga"})


async def left_alone(_: AnyRun) -> None:
    """Let it end by itself."""


@pytest.mark.parametrize(
    ("script", "then", "status"),
    [
        pytest.param(
            [Reply(text="fine", provider_state=STATE)], left_alone, "completed", id="answer"
        ),
        pytest.param(
            [Reply(text="bad", provider_state=STATE)], left_alone, "blocked", id="tripwire"
        ),
        pytest.param([ASKS, ASKS], aborted, "stopped", id="abort"),
        pytest.param([ASKS, ASKS], stopped, "stopped", id="stop"),
    ],
)
async def test_a_run_ends_with_its_providers_state(
    memory_runs: MemoryRuns,
    script: Script,
    then: Callable[[AnyRun], Awaitable[None]],
    status: str,
) -> None:
    """Whoever ended it: its model, a guardrail, a person who was asked, or one who wasn't."""
    # PS-10
    watched = guarded(
        script,
        on_word("decent", "bad", "output", on_trip="block"),
        escalates=True,
        budget=Budget(max_consecutive_failures=1),
    )
    async with memory_runs.working(watched):
        run = await memory_runs.start("it")
        await then(run)
        result = await run.result()

    assert (result.status, result.provider_state) == (status, {"scripted": STATE})


@pytest.mark.slow
def test_the_scripted_model_needs_no_sdk() -> None:
    """Without any provider's SDK a worker can be put together, and a scripted model answers."""
    # PS-26
    program = (
        "import asyncio, sys\n"
        "for name in ('openai', 'anthropic', 'httpx2', 'genai_prices'):\n"
        "    sys.modules[name] = None\n"
        "from holdfast.contracts.model import ModelRequest, Prefix\n"
        "from holdfast import Agent, App\nfrom holdfast.testing import say\n"
        "from holdfast.worker import adapters\n"
        "agent = Agent(name='it', instructions='Go.', models=['scripted:it'])\n"
        "app = App(agents=[agent], scripts={'it': [say('done')]})\n"
        "asked = ModelRequest('r', 1, 1, 'it', agent.snapshot().prefix, (), {})\n"
        "print(asyncio.run(adapters(app)['scripted'].respond(asked)).text)\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ran.stdout == "done\n"
