"""Every contract survives the way through JSON, as it goes through history."""

import importlib
import inspect
import pkgutil
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter

from holdfast import contracts
from holdfast.contracts.approvals import (
    ClosedRequest,
    ControlVerdict,
    JudgeInput,
    PendingPage,
    Proof,
    Question,
    Request,
    Requirement,
    Verdicts,
)
from holdfast.contracts.base import Contract
from holdfast.contracts.budget import Budget, BudgetStatus, Ledger, Limits
from holdfast.contracts.calls import (
    AnyCall,
    ArtifactRef,
    Draft,
    Grant,
    Reconciled,
    ToolCall,
    ToolResult,
)
from holdfast.contracts.control import Approach, RetryOf
from holdfast.contracts.decisions import (
    Allow,
    ApprovalRequired,
    AskUser,
    AuthorizeCalls,
    Caller,
    Decision,
    Deny,
    Ruling,
    Rulings,
    RunAsDraftOnly,
    RunInSandbox,
)
from holdfast.contracts.delegation.carryover import ReadEarlierRun
from holdfast.contracts.delegation.workers import FindWorker, OpenRun
from holdfast.contracts.journal import (
    AnswerWithheld,
    ApproachFailed,
    AuditEvent,
    Journal,
    MessageRefused,
    RequestClosed,
    RequestEscalated,
)
from holdfast.contracts.model import ModelSettings, Prefix, ToolSchema
from holdfast.contracts.run import RunInput, RunMetadata, RunResult, Waiting
from holdfast.contracts.signals import (
    ControlMessage,
    HeldSignal,
    MessageOutcome,
    RefusedMessage,
    SteerSignal,
    StopSignal,
    SuspensionSignal,
    UsedToken,
)
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.stops import Stop
from holdfast.contracts.switches import Switch, SwitchSignal, SwitchState
from holdfast.contracts.tools import HostedTool, ResourceScope, RetryRule
from holdfast.contracts.transcript import (
    Part,
    ToolTurn,
    TranscriptDigest,
    TranscriptItem,
    TranscriptPage,
    UserTurn,
)
from holdfast.contracts.usage import Attempts, CallUsage, LiveText, UsageMetrics
from holdfast.run import parts, requests, turns
from holdfast.workflows import views
from tests.builders import (
    EXECUTION,
    FIRST,
    LOOK,
    NOW,
    a_call,
    a_failure,
    a_malformed_call,
    a_question,
    a_record,
    a_reply,
    a_request,
    a_resolution,
    a_state,
    a_success,
    allowed,
    an_agent,
    an_answer,
    an_approval,
    an_escalation,
    an_invocation,
    asked_for,
    no,
    unknown,
    yes,
)
from tests.contracts import controls, recorded, talks

STATE = asked_for(a_call(place="attic"), a_malformed_call(call_id="c2"))
BUSY = (
    STATE.with_(
        calls=(
            CallState(call=a_call(), ruling=allowed(a_call()), approvals=(a_record(a_call()),)),
            CallState(call=a_malformed_call(call_id="c2"), result=a_failure(a_malformed_call())),
        )
    )
    .with_oversight(
        requests=(a_request(), a_question("req-2"), an_escalation("req-3")),
        closed=(ClosedRequest(request_id="req-0", outcome="expired", at=NOW),),
        relayed=1_200,
    )
    .with_conversation(steers=(UserTurn(text="be brief", origin="steer"),))
    .with_chain(provider_state={"anthropic": {"container_id": "x"}})
)
STOP = Stop(reason="max_steps (3) reached", detail="3 model calls", next_safe_action="split it")
REFUSED = RefusedMessage(signal="approval", request_id="req-1", sender="bob", reason="no", at=NOW)
PROOF = Proof(
    issuer="holdfast",
    subject="alice",
    methods=("swk",),
    authenticated_at=NOW,
    token_id="t-1",
    verified_at=NOW,
)
DRAFT = Draft(draft_id="run-1/c1/draft", call_id="c1", tool="prepare", summary="", data={"n": 1})
CONTROL = ControlMessage(signal="suspend", by="dana", digest="d" * 64, token="t")
CONTROL_VERDICT = ControlVerdict(
    accepted=True, request_id="", reason="accepted", signal="steer", digest="d" * 64
)
USED = UsedToken(issuer="holdfast", token_id="t", until=NOW)
SWITCH = Switch(kind="tool", name="send", by="dana", reason="incident 7", at=NOW)
PRICED = CallUsage(input_tokens=3, estimated_cost=Decimal("0.25"))
LIVE = LiveText(turn=1, attempt=2, seq=7, offset=90, text="Order 1044")

EXAMPLES: list[Contract] = [
    *controls.EXAMPLES,
    *recorded.EXAMPLES,
    *talks.EXAMPLES,
    a_call(place="attic", count=3, deep={"list": [1, 2.5, None, True, "ä"]}),
    a_malformed_call(),
    a_success(a_call(), {"rows": [1, 2]}),
    a_failure(a_call()),
    ArtifactRef(path="artifacts/run-1/c1.json", characters=30_000, digest="d" * 64),
    ResourceScope(kind="tenant", argument="tenant"),
    RetryRule(max_retries=2, backoff=0.5),
    LOOK,
    an_invocation(arguments={"place": "attic"}),
    PRICED,
    Attempts(failed=2, usage=PRICED, progress={"done": 3}, used_up=True),
    Attempts(live=LIVE),
    LIVE,
    UsageMetrics(estimated_cost=None),
    CallUsage(cache_write_tokens=1, reasoning_tokens=2, native={"other": {"x_tokens": 3}}),
    Part(kind="text", text="hm"),
    Part(kind="hosted_call", name="web_search", native={"id": "ws_1", "action": {"q": ["a"]}}),
    ModelSettings(reasoning="high", max_output_tokens=100, tool_choice="look"),
    ModelSettings(temperature=0.2, top_p=0.9, top_k=40, seed=7, stop_sequences=("END",)),
    Question(
        request_id="req-1",
        reason="the agent asks a person",
        requested_at=NOW,
        expires_at=NOW,
        call_id="c1",
        question="Right?",
        tool="confirm",
        arguments={"amount": 29.5},
        answer_schema={"type": "boolean"},
    ),
    HostedTool(name="web_search", options={"max_uses": 3}),
    Limits(max_steps=3, max_cost=Decimal("0.25")),
    Budget(max_steps=3, max_cost=Decimal("0.25"), max_wall_time=1.5),
    Ledger(steps=2, usage=PRICED, waited=3.5, recent_calls=("f",), recurrences=(1,)),
    BudgetStatus(
        limits=Limits(max_steps=3), ceiling=Budget(), ledger=Ledger(steps=2), started_at=NOW
    ),
    Allow(rule="risk:read_only", reason="it changes nothing"),
    ApprovalRequired(rule="risk:financial", reason="money is at stake", strength="strong"),
    AskUser(rule="ask-user", reason="the agent asks", question="Which one?"),
    Deny(rule="tenant-scope", reason="another tenant", next_valid_actions=("stay",)),
    allowed(a_call()),
    unknown(a_call()),
    AuthorizeCalls(
        execution=EXECUTION,
        run_id="run-1",
        agent="it",
        caller=Caller(tenant="acme", actor="alice", session="s-1"),
        metadata={"team": "billing"},
        calls=(a_call(), a_malformed_call(call_id="c2")),
        approvals=(a_record(a_call()),),
        drafts=(DRAFT,),
        unresolved=("f" * 64,),
        visible_tools=("look",),
        now=NOW,
    ),
    Rulings(rulings=(allowed(a_call()), unknown(a_call(call_id="c2"))), execution=EXECUTION),
    Caller(actor="alice", session="s-1", domain=" Payments", task_kind="refund"),
    an_approval(reason="fine", token="t"),
    an_answer(),
    a_resolution("extend", guidance="go on", budget={"max_steps": 30}),
    SteerSignal(text="be brief"),
    SuspensionSignal(),
    StopSignal(reason="wrong customer", by="dana"),
    HeldSignal(run_id="run-1.1-full"),
    a_request(),
    PendingPage(items=(a_request(),), total=2, next_offset=1),
    a_question(),
    an_escalation(),
    a_record(a_call(), "strong"),
    ClosedRequest(request_id="req-1", outcome="approved", at=NOW),
    JudgeInput(
        execution=EXECUTION,
        run_id="run-1",
        agent="it",
        requester="bob",
        controls=(CONTROL,),
        used=(USED,),
        messages=(an_approval(token="t"), an_answer(), a_resolution("abort")),
        requests=(a_request(), a_question("req-2"), an_escalation("req-3")),
        closed=(ClosedRequest(request_id="req-0", outcome="expired", at=NOW),),
        now=NOW,
    ),
    CONTROL,
    CONTROL_VERDICT,
    USED,
    Verdicts(verdicts=(), controls=(CONTROL_VERDICT,), execution=EXECUTION),
    PROOF,
    yes(groups=("finance",), proof=PROOF),
    Verdicts(verdicts=(yes(), no()), execution=EXECUTION),
    Requirement(strength="strong", groups=("finance",), count=2, escalate_after=60.0),
    Grant(commands=("git status",), hosts=("api.example.com",)),
    DRAFT,
    Reconciled(happened=True, result={"refund": 1}),
    RunInSandbox(rule="policy:ls", reason="listed", grant=Grant(commands=("ls",))),
    RunAsDraftOnly(rule="policy:drafts", reason="a trial", draft="prepare", then="result"),
    SwitchSignal(kind="tool", name="send", by="dana", reason="incident 7"),
    SwitchState(switches=(SWITCH,)),
    SWITCH,
    MessageOutcome(accepted=False, request_id="req-1", reason="no such request"),
    REFUSED,
    *STATE.conversation.items,
    ToolTurn(results=(a_success(a_call()), a_failure(a_call(call_id="c2")))),
    TranscriptDigest(length=3, digest="d" * 64),
    TranscriptPage(items=STATE.conversation.items, total=9, next_offset=2),
    ToolSchema(name="look", description="Look at it.", input_schema={"type": "object"}),
    Prefix(instructions="Do as you are told.", tools=()),
    Prefix(
        instructions="Search.",
        tools=(),
        hosted=(HostedTool(name="web_search"),),
        settings=ModelSettings(parallel_calls=False),
        output_schema={"type": "object"},
    ),
    turns.build_model_call(a_state(), "scripted:it"),
    a_reply(a_call(), usage=PRICED, provider_state={"thread_id": "t"}),
    a_reply(
        parts=(Part(kind="other", name="new"),),
        stop_detail="why",
        output=[1],
        objections=("no",),
        notes=("odd",),
        failed_usage=PRICED,
        first_token_ms=3,
    ),
    RunMetadata(agent="it", tenant="acme"),
    RunInput.model_validate({"agent": "it", "input": "go", "metadata": {"k": [1]}}),
    STOP,
    STOP.model_copy(update={"ended_by": "dana", "quotes": True}),
    RunResult(
        status="stopped",
        answer=None,
        stop=STOP,
        steps=3,
        usage=PRICED.summary,
        provider_state=None,
        confidence=None,
        model="scripted:it",
    ),
    an_agent(),
    OpenRun(run_id="run-1", agent="it"),
    RunInput.model_validate({"agent": "it", "retry_of": "run-0", "budget": {"max_steps": 3}}),
    RetryOf(run_id="run-0", first_execution_run_id=FIRST),
    ReadEarlierRun(run_id="run-1", agent="it", tenant="acme", retry_of=RetryOf(run_id="run-0")),
    parts.build_carryover(BUSY, BUSY.calls[:1], {"1-full": "hand"}, NOW),
    views.status(BUSY.with_oversight(refused=(REFUSED,))),
    views.usage(BUSY),
    Waiting(reason="anthropic:claude: overloaded: 529", until=NOW),
    FindWorker(run_id="run-1", app="desk", agent="it", tools=("add",), guardrails=("polite",)),
    AuditEvent(run_id="run-1", event="stopped", text="max_steps (3) reached"),
    requests.describe_opening(STATE, a_request()),
    RequestEscalated(request_id="req-1", groups=("leads",), at=NOW),
    RequestClosed(request_id="req-1", outcome="expired", at=NOW),
    AnswerWithheld(by="polite"),
    MessageRefused(signal="steer", digest="5d1f", reason="the run is over", code="over", count=2),
    ApproachFailed(
        approach=Approach(
            number=1, approach="guess", failure_reason="wrong", partial_progress="none"
        )
    ),
    Journal(events=(requests.describe_opening(STATE, a_question()),)),
    BUSY.calls[0],
    a_state(),
    BUSY,
]


def kinds() -> set[str]:
    """The names of all contracts that aren't only the beginning of others."""
    modules = [
        importlib.import_module(entry.name)
        for entry in pkgutil.walk_packages(contracts.__path__, f"{contracts.__name__}.")
    ]
    found = {
        thing
        for module in modules
        for _, thing in inspect.getmembers(module, inspect.isclass)
        if issubclass(thing, Contract) and not thing.__name__.startswith("_")
    }
    beginnings = {"Contract", "Digested", "Inbound", "AuthoredContract", "ControlSignal"}
    return {kind.__name__ for kind in found} - beginnings


def test_every_contract_has_an_example() -> None:
    """Whoever adds a contract adds an example of it, so that the test below sees it."""
    assert {type(example).__name__ for example in EXAMPLES} == kinds()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)
def test_a_contract_comes_back_as_it_went(example: Contract) -> None:
    """A value read from its own JSON is the same value."""
    assert type(example).model_validate_json(example.model_dump_json()) == example


DECISIONS = (Allow, RunInSandbox, RunAsDraftOnly, ApprovalRequired, AskUser, Deny)


@pytest.mark.parametrize(
    ("union", "members"),
    [
        pytest.param(
            TypeAdapter(Request), (a_request(), a_question(), an_escalation()), id="Request"
        ),
        pytest.param(TypeAdapter(Ruling), (allowed(a_call()), unknown(a_call())), id="Ruling"),
        pytest.param(
            TypeAdapter(Decision),
            tuple(example for example in EXAMPLES if isinstance(example, DECISIONS)),
            id="Decision",
        ),
        pytest.param(
            TypeAdapter(ToolResult), (a_success(a_call()), a_failure(a_call())), id="ToolResult"
        ),
        pytest.param(
            TypeAdapter(TranscriptItem),
            (*STATE.conversation.items, ToolTurn(results=())),
            id="TranscriptItem",
        ),
        pytest.param(TypeAdapter(AnyCall), (a_call(), a_malformed_call()), id="AnyCall"),
    ],
)
def test_a_member_of_a_union_stays_what_it_is(
    union: TypeAdapter[Contract], members: tuple[Contract, ...]
) -> None:
    """JSON says by itself which of several contracts it is."""
    assert members
    assert tuple(union.validate_json(union.dump_json(one)) for one in members) == members


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
        ),
    )
)
def test_arguments_come_back_as_they_went(arguments: dict[str, JsonValue]) -> None:
    """Whatever JSON object a model passes, the tool gets that one."""
    call = ToolCall(call_id="c1", name="look", arguments=arguments)

    assert ToolCall.model_validate_json(call.model_dump_json()) == call
