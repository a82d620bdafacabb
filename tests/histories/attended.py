"""Scenarios in which people take part: they approve, answer, steer, stop and switch off."""

import json
from datetime import UTC, datetime
from pathlib import Path

from temporalio.common import WorkflowIDConflictPolicy

from holdfast import App, Budget, Triggers, approvers, signing
from holdfast.contracts.approvals import Approvable
from holdfast.contracts.switches import SwitchSignal
from holdfast.settings import Settings
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.control.controlled import resolve, used
from tests.control.guarded import decided, on_word, scheduled
from tests.histories.desk import (
    a_desk,
    delete,
    linger,
    look,
    pay,
    post,
    refund,
    reserve,
    send,
)
from tests.histories.playing import Scenario, Scene
from tests.sample import told

KILLED = "kill_switch"


async def approve_and_reject(scene: Scene) -> None:
    """A stranger approves what doesn't exist; alice approves one call and rejects another."""
    first, second = await scene.asked(2)
    await scene.run.approve("req-9", "mallory")
    await scene.refused()
    await scene.run.approve(first.request_id, "alice", reason="fine")
    await scene.until(lambda trace: len(trace.waiting) == 1)
    await decided(scene.run, second, "reject", "not this one")


async def approve(scene: Scene) -> None:
    """Approve what is asked for."""
    await decided(scene.run, (await scene.asked())[0], "approve")


async def approve_signed(scene: Scene) -> None:
    """Approve in words alone, which isn't enough, and then with a key that is trusted."""
    key = signing.make(scene.folder / "keys", "dana", None)
    approvers.trust(Settings.load().approvers, json.dumps(key.public))
    (request,) = await scene.asked()
    assert isinstance(request, Approvable)
    await decided(scene.run, request, "approve")
    token = signing.sign_decision(
        key, None, scene.run.handle.id, request, "approve", datetime.now(UTC)
    )
    await scene.run.decide(
        {
            "request_id": request.request_id,
            "decision": "approve",
            "approver": "dana",
            "token": token,
        }
    )


async def answer(scene: Scene) -> None:
    """Answer a question."""
    (question,) = await scene.asked()
    await scene.run.signal("answer", {"request_id": question.request_id, "text": "the blue one"})


async def give_guidance(scene: Scene) -> None:
    """Tell a run that fails again and again what to do."""
    await scene.asked()
    await resolve(scene.run, "resume", guidance="Give up.")


async def extend(scene: Scene) -> None:
    """Lower a limit, which is refused, and then raise it."""
    await scene.asked()
    await resolve(scene.run, "extend", budget={"max_tokens": 50})
    await scene.refused()
    await resolve(scene.run, "extend", budget={"max_tokens": 200})


async def steer_and_hold(scene: Scene) -> None:
    """Say something, suspend the run, have it go on, and approve what it waits for."""
    (request,) = await scene.asked()
    await scene.run.signal("steer", {"text": "Be brief."})
    await scene.rest()
    await scene.run.signal("suspend", {})
    await scene.until(lambda trace: trace.status == "suspended")
    await scene.run.signal("resume", {})
    await scene.until(lambda trace: trace.status == "waiting")
    await decided(scene.run, request, "approve")


async def talk(scene: Scene) -> None:
    """Say two things in a session, approve what the second one takes, and close it."""
    await scene.run.signal("message", {"message_id": "m-1", "text": "Good morning."})
    await scene.until(lambda trace: bool(trace.talk) and trace.status == "idle")
    await scene.run.signal("message", {"message_id": "m-2", "text": "Send it."})
    await approve(scene)
    await scene.until(lambda trace: trace.status == "idle")
    await scene.run.signal("close", {"reason": "done", "by": "dana"})


async def cancel(scene: Scene) -> None:
    """Cancel a run whose tool is under way."""
    await scheduled(scene.run, "linger")
    await scene.run.handle.cancel()


async def switch_off(scene: Scene) -> None:
    """Switch a tool off before its call is approved, and on again when the run is over."""
    (request,) = await scene.asked()
    await switch(scene, "off", "it reaches the wrong people")
    await decided(scene.run, request, "approve")
    await scene.run.result()
    await switch(scene, "on")
    await scene.runs.client.get_workflow_handle(scene.runs.switches).query("switches")


async def switch(scene: Scene, name: str, reason: str = "") -> None:
    """Switch `send`, as any Temporal client can."""
    await scene.runs.client.start_workflow(
        "HoldfastSwitches",
        id=scene.runs.switches,
        task_queue=scene.runs.switches,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        start_signal=name,
        start_signal_args=[SwitchSignal(kind="tool", name="send", by="dana", reason=reason)],
    )


async def approve_twice(scene: Scene) -> None:
    """Approve one call, and then another."""
    (first,) = await scene.asked()
    await decided(scene.run, first, "approve")
    await scene.until(lambda trace: len(trace.requests) > 1 and bool(trace.waiting))
    await approve(scene)


async def approve_in_pairs(scene: Scene) -> None:
    """Alice approves, and once more, which is refused; with bob there are two."""
    (request,) = await scene.asked()
    for name in ("alice", "alice", "bob"):
        await scene.run.decide(
            {"request_id": request.request_id, "decision": "approve", "approver": name}
        )


def in_pairs(folder: Path) -> App:
    """An app whose policy wants two people for what is sent."""
    policy = folder / "policy.yaml"
    rule = "{id: pairs, effect: approve, match: {tools: [send]}, approval: {count: 2}}"
    policy.write_text(f"version: 1\nrules:\n  - {rule}\n", encoding="utf-8")
    return a_desk(SENDING, policy=policy)


def failing(turn: ScriptTurn) -> Reply:
    """Ask for tools that don't exist until somebody says otherwise."""
    guided = any(item.kind == "user" and "Give up." in item.text for item in turn.transcript)
    return say("I give up.") if guided else call("invent", attempt=turn.number)


SENDING = [call("send", text="hello"), told]


def spending() -> App:
    """An app whose agent needs more tokens than it has."""
    script = [used(call("look", place="the till"), 90), used(say("done"), 5)]
    return a_desk(script, budget=Budget(max_tokens=100), escalates=True)


def reviewed() -> App:
    """An app whose answer a person has to see."""
    watch = on_word("no_promise", "promise", "output", on_trip="ask")
    return a_desk([say("I promise it.")], guardrails=[watch])


ATTENDED = (
    Scenario(
        "approvals",
        lambda _: a_desk(
            [
                calls(
                    call("send", text="hello"),
                    call("send", text="goodbye"),
                    call("delete", record="7"),
                ),
                told,
            ],
            look,
            send,
            delete,
        ),
        approve_and_reject,
    ),
    Scenario(
        "approvals_carried_on",
        lambda _: a_desk(
            [call("send", text="hello"), call("send", text="goodbye"), told],
            max_history_events=1,
        ),
        approve_twice,
    ),
    Scenario("two_approvers", in_pairs, approve_in_pairs),
    Scenario(
        "domain_review",
        lambda _: a_desk([call("reserve", seat="1"), told], reserve),
        approve,
        brief={"domain": "payments"},
    ),
    Scenario(
        "signed_approval",
        lambda _: a_desk([call("refund", amount=29), told], refund),
        approve_signed,
    ),
    Scenario("drafts", lambda _: a_desk([call("post", text="hello"), told], post), approve),
    Scenario("guardrails_ask", lambda _: reviewed(), approve),
    Scenario(
        "questions",
        lambda _: a_desk([call("ask_user", question="Which one?"), say("The blue one.")]),
        answer,
    ),
    Scenario("lookups", lambda _: a_desk([call("pay", amount=29), told], pay), approve),
    Scenario("steering", lambda _: a_desk(SENDING), steer_and_hold),
    Scenario(
        "escalation",
        lambda _: a_desk(
            failing,
            escalates=True,
            budget=Budget(max_steps=9, max_consecutive_failures=2),
            triggers=Triggers(max_retries=None),
        ),
        give_guidance,
    ),
    Scenario("budget_extension", lambda _: spending(), extend),
    Scenario("cancel", lambda _: a_desk([call("linger"), told], linger), cancel),
    Scenario(
        "session",
        lambda _: a_desk(
            [say("hello"), call("send", text="hi"), told], send, max_history_events=1
        ),
        talk,
        session=True,
    ),
    Scenario(KILLED, lambda _: a_desk(SENDING), switch_off, beside=[f"{KILLED}-switches"]),
)
