"""Another agent goes on with a run: in one transition, within what bound the sender."""

from collections.abc import Sequence
from pathlib import Path

from holdfast import Agent, App, Budget, Handoff, HandoffData, Risk, Tool, ToolError, tool
from holdfast.client import Run as WatchedRun
from holdfast.client.event_data import HandoffMade
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.transcript import UserTurn
from holdfast.guardrails import Guardrail
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import IMPATIENT, TOOLS, add, lines, send
from tests.workflows.delegating import create
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import recorded

COMMITS = tuple(f"commit {number}" for number in range(15, 0, -1))


@tool(risk=Risk.READ_ONLY)
async def load_context(goal: str) -> HandoffData:
    """Load what billing needs to know."""
    return HandoffData(
        files={"prices.md": f"the prices for: {goal}"},
        architecture="one ledger",
        recent_changes=COMMITS,
        constraints=("in euros",),
    )


@tool(risk=Risk.READ_ONLY)
async def load_nothing(goal: str) -> HandoffData:
    """Fail to load anything at all."""
    raise ToolError("not_found", f"nothing is known of {goal}", ("go on",))


@tool(risk=Risk.READ_ONLY, max_result_chars=2_000)
async def load_much(goal: str) -> HandoffData:
    """Load more than anybody reads."""
    return HandoffData(architecture="x" * MUCH)


MUCH = 3_000_000
"""Characters: more than one payload of Temporal's may have in bytes."""

TRANSFER = call("transfer_to_billing", goal="charge order 7")


def bureau(
    triage: Script,
    billing: Script,
    *,
    prepare: Tool | None = None,
    tools: Sequence[Tool] = TOOLS,
    theirs: Sequence[Tool] = TOOLS,
    back: bool = False,
    budget: Budget | None = None,
    guardrails: Sequence[Guardrail] = (),
    rules: Path | None = None,
) -> App:
    """An app whose agent `triage` may hand over to `billing`."""
    return App(
        agents=[
            Agent(
                name="triage",
                instructions="Find out who can help.",
                models=["scripted:triage"],
                settings=IMPATIENT,
                tools=tools,
                handoffs=[
                    Handoff("billing", when="money questions", prepare=prepare),
                    Handoff("shipping", when="parcels"),
                ],
                budget=budget or Budget(max_steps=20),
                guardrails=guardrails,
            ),
            Agent(
                name="billing",
                instructions="Answer what is about money.",
                models=["scripted:billing"],
                settings=IMPATIENT,
                tools=theirs,
                handoffs=[Handoff("triage", when="all else")] if back else [],
            ),
            Agent(name="shipping", instructions="Send parcels.", models=["scripted:billing"]),
        ],
        scripts={"triage": triage, "billing": billing},
        policy=rules,
    )


def later(*replies: Reply) -> Script:
    """What is said from the second turn on, by whoever goes on then."""
    return (say("never said"), *replies)


async def test_another_agent_goes_on(memory_runs: MemoryRuns) -> None:
    """The receiver answers in the same run, with its own words, tools and models."""
    # HO-09 HO-07
    async with memory_runs.working(bureau([TRANSFER], later(say("It is charged.")))):
        run = await memory_runs.start("triage", "charge me")
        result = await run.result()
        status, found = await run.status(), await run.results()
        items = (await run.transcript()).items
        parts = await run.parts()
        await run.story()

    assert (result.status, result.answer, result.steps) == ("completed", "It is charged.", 2)
    assert (status.agent, parts) == ("billing", [])
    [success] = found
    assert isinstance(success, ToolSuccess)
    told = items[-2]
    assert isinstance(told, UserTurn)
    assert "What is to be done: charge order 7" in told.text


async def test_the_receiver_reads_what_was_prepared(memory_runs: MemoryRuns) -> None:
    """Files, architecture, ten changes with the newest first, and constraints come to it."""
    # HO-01 HO-02 HO-03 HO-04 HO-05 HO-07
    app = bureau([TRANSFER], later(say("It is charged.")), prepare=load_context)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        await run.result()
        told = (await run.transcript()).items[-2]

    assert isinstance(told, UserTurn)
    for text in ("the prices for: charge order 7", "one ledger", "in euros"):
        assert text in told.text
    changes = [line for line in told.text.splitlines() if line.startswith("- commit")]
    assert changes == [f"- commit {number}" for number in range(15, 5, -1)]


async def test_nothing_is_prepared_for_whom_nothing_is_registered(runs: Runs) -> None:
    """Who has a tool that prepares has it run, by its name; the others have none."""
    # HO-01 HO-06 TR-06
    app = bureau([TRANSFER], later(say("It is charged.")), prepare=load_context)
    plain = bureau([call("transfer_to_shipping", goal="send it")], later(say("It is sent.")))
    async with runs.working(app):
        run = await runs.start("triage", "charge me")
        await run.result()
        story = await run.story()
        trace = read_trace(await runs.histories(run))
        events = [event async for event in WatchedRun(runs.client, run.handle.id).events()]
    async with runs.working(plain):
        other = await runs.start("triage", "send it")
        await other.result()
        none = await other.story()

    assert [line for line in recorded(story) if line.startswith("handoff")] == [
        "handoff: triage → billing: charge order 7"
    ]
    assert "load_context" in str(story)
    assert "load_context" not in str(none)
    [told] = [event.data for event in events if isinstance(event.data, HandoffMade)]
    assert (told.from_agent, told.to_agent, told.goal) == ("triage", "billing", "charge order 7")
    place = next(at for at, one in enumerate(events) if isinstance(one.data, HandoffMade))
    assert {one.agent for one in events[: place + 1]} == {"triage"}
    assert {one.path for one in events[place + 1 :]} == {("billing",)}
    [span] = [one for one in span_tree(trace).spans if one.type == "handoff"]
    assert (span.attributes["from_agent"], span.attributes["to_agent"]) == ("triage", "billing")
    assert span.attributes["context_passed"] == [
        *("goal", "transcript", "files", "architecture", "recent_changes", "constraints")
    ]


async def test_what_is_too_large_comes_by_reference(runs: Runs) -> None:
    """The receiver reads how it begins, and where the whole is: all of it, in a file."""
    # HO-08
    app = bureau([TRANSFER], later(say("It is charged.")), prepare=load_much)
    async with runs.working(app):
        run = await runs.start("triage", "charge me")
        result = await run.result()
        told = (await run.transcript()).items[-2]

    assert (result.status, result.answer) == ("completed", "It is charged.")
    assert isinstance(told, UserTurn)
    assert len(told.text) < 3_000
    _, _, kept = told.text.partition("the whole is in ")
    whole = HandoffData.model_validate_json(Path(kept.partition(":\n")[0]).read_bytes())
    assert whole.architecture == "x" * MUCH


async def test_a_failed_handoff_leaves_the_sender_where_it_was(memory_runs: MemoryRuns) -> None:
    """Where nothing could be prepared the sender goes on, and knows why."""
    app = bureau([TRANSFER, say("Nobody can help.")], (), prepare=load_nothing)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        result = await run.result()
        failure, status = await run.failure(), await run.status()
        await run.story()

    assert (result.answer, status.agent) == ("Nobody can help.", "triage")
    assert failure.name == "transfer_to_billing"
    assert "nothing is known of charge order 7" in failure.reason


async def test_the_other_calls_of_the_turn_come_first(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Each call of the turn has its result; only then another agent goes on."""
    log = str(tmp_path / "log")
    turn = calls(TRANSFER, call("add", a=1, b=2), call("send", log=log, text="hello"))
    rules = policy(tmp_path, "{id: ok, effect: allow, match: {tools: [send]}}")
    app = bureau([turn], later(say("It is charged.")), rules=rules)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        result = await run.result()
        found = await run.results()

    assert result.answer == "It is charged."
    assert [one.status for one in found] == ["ok", "ok", "ok"]
    assert [one.name for one in found] == ["transfer_to_billing", "add", "send"]
    assert len(lines(log)) == 1


async def test_one_agent_goes_on(memory_runs: MemoryRuns) -> None:
    """Of two handoffs of a turn the first counts, and the other is denied."""
    turn = calls(TRANSFER, call("transfer_to_shipping", goal="send it"))
    async with memory_runs.working(bureau([turn], later(say("It is charged.")))):
        run = await memory_runs.start("triage", "charge me")
        await run.result()
        first, second = await run.results()
        status = await run.status()

    assert (first.status, second.status, status.agent) == ("ok", "denied", "billing")


async def test_an_approval_comes_before_the_handoff(memory_runs: MemoryRuns) -> None:
    """A call of the turn that people have to approve is settled by the sender."""
    turn = calls(TRANSFER, call("refund", amount=3))
    async with memory_runs.working(bureau([turn], later(say("It is charged.")))):
        run = await memory_runs.start("triage", "charge me")
        request = await run.asked_for_approval()
        waiting = (await run.status()).agent
        await run.signal(
            "approval",
            {"request_id": request.request_id, "decision": "reject", "approver": "alice"},
        )
        result = await run.result()
        found = await run.results()

    assert (waiting, result.answer) == ("triage", "It is charged.")
    assert [one.status for one in found] == ["ok", "denied"]


async def test_the_receiver_has_its_own_tools_and_no_others(memory_runs: MemoryRuns) -> None:
    """What the sender may call the receiver doesn't know."""
    app = bureau(
        [TRANSFER],
        later(call("look", place="here"), call("add", a=1, b=2), say("Done.")),
        theirs=(add,),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        await run.result()
        _, unknown, known = await run.results()

    assert isinstance(unknown, ToolFailure)
    assert (unknown.type, known.status) == ("unknown_tool", "ok")


async def test_no_handoff_raises_a_limit(memory_runs: MemoryRuns) -> None:
    """One ledger, and of each limit the lower one."""
    endless = later(*(call("add", a=number, b=1) for number in range(9)))
    app = bureau([TRANSFER], endless, budget=Budget(max_steps=4))
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        result = await run.result()
        usage = await run.query("usage", UsageReport)

    assert (result.status, result.steps, usage.budget.max_steps) == ("stopped", 4, 4)


async def test_guardrails_of_the_sender_look_on(memory_runs: MemoryRuns) -> None:
    """An answer that the sender couldn't give goes out by nobody else."""
    app = bureau(
        [TRANSFER],
        later(say("bad")),
        guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        result = await run.result()

    assert (result.status, result.answer) == ("blocked", None)


async def test_a_constraint_of_the_sender_reaches_the_receiver(memory_runs: MemoryRuns) -> None:
    """What a guardrail had the sender keep to binds who goes on: its model reads it, too."""
    # HO-05
    read = list[str]()

    def billing(turn: ScriptTurn) -> Reply:
        read.extend(one.text for one in turn.transcript if isinstance(one, UserTurn))
        return say("It is charged.")

    never = on_word("no_bad", "bad", "output")
    async with memory_runs.working(bureau([say("bad"), TRANSFER], billing, guardrails=[never])):
        run = await memory_runs.start("triage", "charge me")
        result = await run.result()

    assert result.answer == "It is charged."
    assert any("it says bad; never say bad" in text for text in read)


async def test_what_the_sender_did_can_still_be_undone(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Where the answer of the receiver is blocked, effects of both are taken back."""
    log = tmp_path / "log"
    app = bureau(
        [call("create", log=str(log), record="7"), TRANSFER],
        (say("never said"), say("never said"), say("bad")),
        tools=(*TOOLS, create),
        guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
        rules=policy(tmp_path, "{id: ok, effect: allow, match: {tools: [create, scrap]}}"),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        result = await run.result()

    assert result.status == "blocked"
    assert lines(log) == ["created 7", "scrapped 7"]


async def test_agents_that_send_each_other_away_end_as_a_loop(memory_runs: MemoryRuns) -> None:
    """The same two handoffs in turn are the same calls in a row."""
    home = call("transfer_to_triage", goal="not ours")
    app = bureau([TRANSFER] * 20, [home] * 20, back=True)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        result = await run.result()
        await run.story()

    assert result.status == "stopped"
    assert result.stop is not None
    assert "same 2 calls" in result.stop.detail


async def test_a_policy_rules_on_handoffs(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """What a rule forbids nobody hands over."""
    rules = policy(tmp_path, "{id: no, effect: forbid, match: {tools: [transfer_to_billing]}}")
    app = bureau([TRANSFER, say("Nobody can help.")], (), rules=rules)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        await run.result()
        denied, status = await run.failure(), await run.status()

    assert (denied.status, status.agent) == ("denied", "triage")


async def test_rules_for_the_receiver_hold_for_the_receiver(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What the sender was allowed the receiver may be denied, and the other way round."""
    log = str(tmp_path / "log")
    rules = policy(
        tmp_path,
        "{id: ours, effect: allow, match: {tools: [send], agents: [triage]}}",
        "{id: theirs, effect: deny, match: {tools: [send], agents: [billing]}}",
        "{id: closed, effect: deny, match: {tools: [refund], agents: [triage]}}",
    )
    app = bureau(
        [calls(call("send", log=log, text="one"), call("refund", amount=1)), TRANSFER],
        (
            *(say("never said"), say("never said")),
            *(call("send", log=log, text="two"), say("Done.")),
        ),
        tools=(*TOOLS,),
        rules=rules,
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        await run.result()
        sent, refunded, _, again = await run.results()

    assert (sent.status, refunded.status, again.status) == ("ok", "denied", "denied")
    assert send.contract.name == again.name
