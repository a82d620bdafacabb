"""Who keeps the conversation: we alone, or OpenAI too, as a chain or as an object."""

from dataclasses import replace

import pytest

from holdfast.adapters.openai import OpenAIAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelError, ModelRejected, ModelUnavailable
from holdfast.contracts.model import ModelReply, ModelRequest, Strategy
from holdfast.contracts.transcript import AssistantTurn, TranscriptItem, UserTurn
from tests.adapters import conversations as say
from tests.adapters.provider_server import Break, ProviderServer
from tests.adapters.rules.responses import ResponsesRules
from tests.adapters.samples.openai_items import (
    MODEL,
    ask,
    call,
    entries,
    found,
    message,
    response,
    said,
    thought,
    turn,
)

CHAIN: Strategy = "previous_response_id"
CONVERSATION: Strategy = "conversation"
GOAL: JsonObject = {"role": "user", "content": "Where are my orders?"}
RESULT: JsonObject = {
    "type": "function_call_output",
    "call_id": "call_1",
    "output": '{"status":"ok","summary":"sent","data":null}',
}
GO_ON = UserTurn(text="Go on.", origin="steer")


class Run:
    """A run in small: keeps transcript and state, and asks again and again."""

    def __init__(self, provider: ProviderServer, strategy: Strategy) -> None:
        self.provider = provider
        self.adapter = OpenAIAdapter()
        self.next = ask(strategy=strategy)

    async def step(self, *items: JsonObject, number: int = 1, **more: object) -> ModelReply:
        """Let the model put out *items*, and answer its calls."""
        self.provider.answer(response(*items, id=f"resp_{number}"))
        reply = await self.adapter.respond(replace(self.next, **more))
        answers = (found(reply),) if reply.calls else ()
        before = self.next.provider_state
        fresh = reply.provider_state
        self.next = replace(
            self.next,
            turn=self.next.turn + 1,
            transcript=(*self.next.transcript, turn(reply), *answers),
            provider_state=before if fresh is None else self.adapter.merge_state(before, fresh),
        )
        return reply

    def hear(self, *items: TranscriptItem) -> None:
        self.next = replace(self.next, transcript=(*self.next.transcript, *items))

    def change(self, **more: object) -> None:
        self.next = replace(self.next, **more)

    @property
    def sent(self) -> JsonObject:
        """The last request for a response."""
        return self.asked[-1]

    @property
    def asked(self) -> list[JsonObject]:
        received = self.provider.requests
        return [one.body for one in received if one.path.endswith("/responses")]


@pytest.fixture
def chain(provider: ProviderServer) -> Run:
    return Run(provider, CHAIN)


@pytest.fixture
def talk(provider: ProviderServer) -> Run:
    return Run(provider, CONVERSATION)


def is_whole(run: Run) -> bool:
    """Whether the last request held everything, and referred to no earlier response."""
    sent = entries(run.sent)
    return sent[0] == GOAL and len(sent) > 1 and "previous_response_id" not in run.sent


async def test_stateless_sends_everything_and_keeps_nothing(provider: ProviderServer) -> None:
    """Every request is complete; the provider has nothing to remember, nor have we."""
    # SS-01, PS-09
    run = Run(provider, "stateless")
    await run.step(thought(), call(1, "{}"))
    reply = await run.step(message("done"))

    assert reply.provider_state is None
    assert run.sent["store"] is False
    assert [entry.get("type") for entry in entries(run.sent)] == [
        None,
        "reasoning",
        "function_call",
        "function_call_output",
    ]


async def test_chain_sends_only_what_is_new(chain: Run) -> None:
    """Results go to the response that asked; instructions and tools go with them all the same."""
    # SS-02, AD-10, AD-22, T-22
    first = await chain.step(thought(), call(1, "{}"), number=1)
    await chain.step(call(2, "{}") | {"call_id": "call_2"}, number=2)
    chain.hear(GO_ON)
    await chain.step(message("done"), number=3)

    one, two, three = chain.asked
    assert first.provider_state == {
        "previous_response_id": "resp_1",
        "_pruned_before": 0,
        "_calls": ["call_1"],
    }
    assert "previous_response_id" not in one
    assert (two["previous_response_id"], two["input"]) == ("resp_1", [RESULT])
    assert three["previous_response_id"] == "resp_2"
    assert entries(three)[1:] == [{"role": "user", "content": "Go on."}]
    assert {"instructions", "tools"} <= two.keys() & three.keys()
    assert all(body["store"] is True for body in chain.asked)


async def test_chain_knows_what_kind_of_call_it_holds(chain: Run) -> None:
    """The call itself isn't sent again, yet its output is of the kind that it wants."""
    await chain.step(
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "x", "input": "y"}
    )

    await chain.step(message("done"), number=2)

    assert [entry["type"] for entry in entries(chain.sent)] == ["custom_tool_call_output"]


async def test_chain_goes_on_in_another_process(chain: Run) -> None:
    """What it takes is the state of the run and its transcript, nothing of the adapter's."""
    # PS-24, PS-25
    await chain.step(call(1, "{}"))
    chain.adapter = OpenAIAdapter()

    await chain.step(message("done"), number=2)

    assert (chain.sent["previous_response_id"], chain.sent["input"]) == ("resp_1", [RESULT])


async def test_retried_attempt_goes_on_from_the_completed_one(chain: Run) -> None:
    """An attempt whose reply was lost left a response that nobody ever refers to."""
    # T-24
    await chain.step(call(1, "{}"))
    chain.provider.answer(response(message("lost"), id="resp_lost"), breaks=Break("cut", 3))
    with pytest.raises(ModelUnavailable):
        await chain.adapter.respond(chain.next)

    await chain.step(message("done"), number=2, attempt=2)

    assert (chain.sent["previous_response_id"], chain.sent["input"]) == ("resp_1", [RESULT])


async def test_expired_chain_is_begun_anew(chain: Run) -> None:
    """Where the provider has forgotten, it is told everything, in the same attempt."""
    # SS-02
    await chain.step(thought(), call(1, "{}"))
    rules(chain).responses.clear()

    reply = await chain.step(message("done"), number=2)

    assert len(chain.asked) == 3
    assert is_whole(chain)
    assert reply.provider_state == {"previous_response_id": "resp_2", "_pruned_before": 0}
    assert "no longer has what came before (strategy previous_response_id)" in reply.notes[0]


async def test_chain_that_a_stream_denies_is_begun_anew(chain: Run) -> None:
    """Some servers say so only when the stream has begun."""
    await chain.step(call(1, "{}"))
    error = '{"type":"error","code":"previous_response_not_found","message":"gone"}'
    chain.provider.stream(f"data: {error}\n\n")

    await chain.step(message("done"), number=2)

    assert is_whole(chain)


async def test_unknown_model_isnt_asked_twice(chain: Run) -> None:
    """Only a lost chain is worth a second request."""
    await chain.step(call(1, "{}"))
    error: JsonObject = {"code": "model_not_found", "message": "no such model"}
    chain.provider.answer({"error": error}, 404)

    with pytest.raises(ModelRejected, match="no such model"):
        await chain.adapter.respond(chain.next)

    assert len(chain.asked) == 2


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"pruned_before": 1}, id="pruned"),
        pytest.param({"provider_state": {}}, id="no state"),
        pytest.param({"provider_state": {"conversation_id": "conv_1"}}, id="other state"),
    ],
)
@pytest.mark.parametrize("strategy", [CHAIN, CONVERSATION])
async def test_what_was_shown_otherwise_is_begun_anew(
    provider: ProviderServer, strategy: Strategy, change: dict[str, object]
) -> None:
    """The provider must never go on from more than the model is meant to see."""
    # T-23, PP-06
    run = Run(provider, strategy)
    await run.step(call(1, "{}"))
    run.change(**change)

    await run.step(message("done"), number=2)

    assert is_whole(run)


async def test_reply_of_another_provider_breaks_the_chain(chain: Run) -> None:
    """What OpenAI keeps doesn't hold what somebody else said since."""
    # T-25, AD-04
    await chain.step(call(1, "{}"))
    chain.hear(AssistantTurn(model="anthropic:claude-sonnet-5", text="Hm."), GO_ON)

    await chain.step(message("done"), number=2)

    assert is_whole(chain)


async def test_paused_model_is_sent_everything(chain: Run) -> None:
    """With nothing new to send there is nothing that a chain could go on with."""
    # BY-49
    await chain.step(message("Wait.", phase="commentary"))

    await chain.step(message("done", 2), number=2)

    assert is_whole(chain)


REFUSAL: JsonObject = {"type": "refusal", "refusal": "not this"}


@pytest.mark.parametrize(
    ("items", "status"),
    [
        pytest.param([message("So far")], "incomplete", id="cut in its words"),
        pytest.param([call(2, '{"or', "incomplete")], "incomplete", id="cut in a call"),
        pytest.param([said(REFUSAL), call(2, "{}")], "completed", id="refused beside a call"),
    ],
)
@pytest.mark.parametrize("strategy", [CHAIN, CONVERSATION])
async def test_some_replies_cant_be_gone_on_from(
    provider: ProviderServer, strategy: Strategy, items: list[JsonObject], status: str
) -> None:
    """What the provider keeps of them may hold a call that nobody will ever answer."""
    # SM-02
    run = Run(provider, strategy)
    await run.step(call(1, "{}"))
    provider.answer(response(*items, status=status))

    reply = await run.adapter.respond(run.next)

    assert reply.provider_state == {}
    assert run.adapter.merge_state(run.next.provider_state, {}) == {}


async def test_conversation_is_begun_once_and_appended_to(talk: Run) -> None:
    """Both turns go to the same conversation, each with only what is new."""
    # SS-03, T-22
    first = await talk.step(thought(), call(1, "{}"))
    await talk.step(message("done"), number=2)

    assert first.provider_state == {
        "conversation_id": "conv_1",
        "_pruned_before": 0,
        "_calls": ["call_1"],
        "_last_item": "fc_1",
        "_response": "resp_1",
    }
    one, two = talk.asked
    assert (one["conversation"], one["input"]) == ("conv_1", [GOAL])
    assert (two["conversation"], two["input"]) == ("conv_1", [RESULT])
    assert {"instructions", "tools"} <= two.keys()
    assert [received.path for received in talk.provider.requests] == [
        "/v1/conversations",
        "/v1/responses",
        "/v1/responses",
    ]
    assert len(rules(talk).conversations["conv_1"]) == 5


async def test_attempt_that_left_nothing_is_repeated(talk: Run) -> None:
    """A look at its last item shows that the conversation is as it was."""
    # SS-03
    await talk.step(call(1, "{}"))
    talk.provider.answer({"error": {"code": "server_error"}}, 500)
    with pytest.raises(ModelUnavailable):
        await talk.adapter.respond(talk.next)

    reply = await talk.step(message("done"), number=2, attempt=2)

    assert (talk.sent["conversation"], talk.sent["input"]) == ("conv_1", [RESULT])
    assert reply.notes == ()


async def test_ghost_of_an_attempt_is_left_behind(talk: Run) -> None:
    """What a lost attempt has appended can't be taken back, and is never appended to."""
    # SS-03, T-24
    await talk.step(thought(), call(1, "{}"))
    talk.provider.answer(response(message("lost", 7)), breaks=Break("cut", 3))
    with pytest.raises(ModelUnavailable):
        await talk.adapter.respond(talk.next)

    reply = await talk.step(message("done"), number=2, attempt=2)

    assert talk.sent["conversation"] == "conv_2"
    assert is_whole(talk)
    assert "a new conversation was begun" in reply.notes[0]
    held = rules(talk).conversations
    assert [item.get("id") for item in held["conv_1"]].count("msg_7") == 1
    assert [item.get("id") for item in held["conv_2"]].count("fc_1") == 1


@pytest.mark.parametrize("attempt", [1, 2])
async def test_lost_conversation_is_begun_anew(talk: Run, attempt: int) -> None:
    """It may be deleted, or belong to a project that this key isn't of."""
    # SS-03
    await talk.step(thought(), call(1, "{}"))
    del rules(talk).conversations["conv_1"]

    reply = await talk.step(message("done"), number=2, attempt=attempt)

    assert talk.sent["conversation"] == "conv_2"
    assert is_whole(talk)
    assert len(reply.notes) == 1
    assert (reply.provider_state or {})["conversation_id"] == "conv_2"


async def test_new_conversation_isnt_begun_twice(talk: Run) -> None:
    """Where a conversation is unknown that has just been begun, another one won't help."""
    talk.provider.answer({"error": {"message": "no such thing"}}, 404)

    with pytest.raises(ModelRejected, match="no such thing"):
        await talk.adapter.respond(talk.next)

    assert len(talk.asked) == 1


async def test_failure_to_begin_a_conversation_is_sorted(talk: Run) -> None:
    """The request that begins it fails like any other."""
    with pytest.raises(ModelError) as raised:
        await unreachable(talk.next)

    assert raised.value.kind == "unavailable"


async def unreachable(request: ModelRequest) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        await OpenAIAdapter().respond(request)


async def test_all_strategies_give_the_same_transcript(provider: ProviderServer) -> None:
    """The run's own record doesn't depend on who else keeps one."""
    # SS-04
    kept: list[tuple[TranscriptItem, ...]] = []
    for strategy in ("stateless", CHAIN, CONVERSATION):
        run = Run(provider, strategy)
        await run.step(thought(), message("Let me see."), call(1, "{}"))
        await run.step(message("done", 2), number=2)
        kept.append(run.next.transcript)

    assert kept[0] == kept[1] == kept[2]


def test_pure_rendering_needs_no_conversation() -> None:
    """What can be rendered without a request is rendered."""
    # AD-12
    body = OpenAIAdapter().build_request(ask(strategy=CONVERSATION))

    assert (body["store"], body["input"]) == (True, [GOAL])
    assert body["model"] == MODEL
    assert say.PREFIX.instructions == body["instructions"]


def rules(run: Run) -> ResponsesRules:
    found_rules = run.provider.rules["/responses"]
    assert isinstance(found_rules, ResponsesRules)
    return found_rules
