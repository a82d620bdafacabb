"""Trying a policy on the calls that real runs have recorded."""

import asyncio
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import App, histories
from holdfast.contracts.base import JsonObject
from holdfast.contracts.decisions import Deny
from holdfast.policy.rules import NO_POLICY
from holdfast.policy_testing.diff import compare
from holdfast.trace.reader import read_trace
from tests.builders import a_call, decided
from tests.holdfast import shop
from tests.holdfast.commands import Ended
from tests.holdfast.own_work import Worked
from tests.holdfast.policy_commands import APP, POLICY, Holdfast, running, written
from tests.holdfast.written import read
from tests.running import Run, Runs


@pytest.fixture
def holdfast(capsys: pytest.CaptureFixture[str]) -> Holdfast:
    """Run one command in this process."""
    return running(capsys)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy for the shop."""
    return written(tmp_path / "policy.yaml", POLICY)


async def run_to_its_end(runs: Runs, app: App = shop.app, asks: int = 3) -> Run:
    """A run of the shop, in which nobody approves anything."""
    async with runs.working(app):
        run = await runs.start("support", tenant="acme", actor="alice")
        for _ in range(asks):
            request = (await run.asked())[0]
            no: JsonObject = {
                "request_id": request.request_id,
                "decision": "reject",
                "approver": "mona",
            }
            assert (await run.decide(no)).accepted
        await run.result()
    return run


async def test_a_policy_is_tried_on_past_runs(
    holdfast: Holdfast, policy: Path, tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`test --runs` shows which calls of past runs a policy would have decided differently."""
    run = await run_to_its_end(runs)
    run_id = run.handle.id
    file = tmp_path / "run.json"
    found = await histories.fetch(runs.client, run_id)
    file.write_text(histories.render_export(found), encoding="utf-8")
    monkeypatch.setenv("TEMPORAL_ADDRESS", runs.client.service_client.config.target_host)

    def command(*arguments: object) -> Ended:
        return holdfast("test", APP, "--runs", *arguments)

    by_id = await asyncio.to_thread(command, run_id, "--policy", policy)
    by_file = await asyncio.to_thread(command, file, "--policy", policy)
    said = await asyncio.to_thread(command, file, "--policy", policy, "--json")
    same = await asyncio.to_thread(command, file)
    latest = await asyncio.to_thread(command, "--limit", "1", "--json")

    assert by_id.out.splitlines() == [
        (
            f'{run_id} issue_refund(order_id=1, amount=15, currency="EUR"): '
            "approval_required (risk:financial) → "
            "allow (policy:small-refunds)"
        ),
        (
            f'{run_id} issue_refund(order_id=2, amount="29.00", currency="EUR"): '
            "approval_required (risk:financial) → approval_required (policy:refunds)"
        ),
        "2 calls decided differently, 3 as before, 1 left out that no policy decided",
    ]
    assert (by_id.code, by_id.err) == (0, "")
    assert by_file == by_id
    assert (
        same.out == "0 calls decided differently, 5 as before, 1 left out that no policy decided\n"
    )
    changed: JsonValue = said.json["changed"]
    assert isinstance(changed, list)
    assert (len(changed), said.json["unchanged"], said.json["left_out"]) == (2, 3, 1)
    assert set(latest.json) == {"changed", "unchanged", "left_out"}


async def test_a_changed_requirement_is_a_change(
    holdfast: Holdfast, tmp_path: Path, runs: Runs
) -> None:
    """Under the same rule too: what an approval takes is part of the decision."""
    rule = "version: 1\nrules:\n  - {id: r, effect: approve, match: {risks: [write_internal]}, "
    one = written(tmp_path / "one.yaml", rule + "approval: {count: 1}}\n")
    two = written(tmp_path / "two.yaml", rule + "approval: {count: 2, recovery: RB-1}}\n")
    used = App(agents=shop.app.agents, scripts=shop.app.scripts, policy=one)
    run = await run_to_its_end(runs, used)
    file = tmp_path / "run.json"
    found = await histories.fetch(runs.client, run.handle.id)
    file.write_text(histories.render_export(found), encoding="utf-8")

    same = await asyncio.to_thread(holdfast, "test", APP, "--runs", file, "--policy", one)
    said = await asyncio.to_thread(holdfast, "test", APP, "--runs", file, "--policy", two)

    assert same.out.startswith("0 calls decided differently, 5 as before")
    assert said.out.splitlines()[0] == (
        f'{run.handle.id} note_ticket(text="refunds"): approval_required (policy:r) → '
        "approval_required (policy:r): count 1 → 2, recovery none → RB-1"
    )


WARY = """\
version: 1
rules:
  - {id: read-before, effect: forbid, match: {tools: [note_ticket]}, when: trust == 'untrusted'}
  - {id: fresh, effect: forbid, match: {tools: [find_order]}, when: trust == 'trusted'}
"""


async def test_a_policy_is_tried_on_what_the_run_knew(
    holdfast: Holdfast, tmp_path: Path, runs: Runs
) -> None:
    """What the model had read by then is in history, so the run's own policy agrees."""
    # BY-24
    wary = written(tmp_path / "wary.yaml", WARY)
    used = App(agents=shop.app.agents, scripts=shop.app.scripts, policy=wary)
    run = await run_to_its_end(runs, used, asks=2)
    file = tmp_path / "run.json"
    found = await histories.fetch(runs.client, run.handle.id)
    file.write_text(histories.render_export(found), encoding="utf-8")

    same = await asyncio.to_thread(holdfast, "test", APP, "--runs", file, "--policy", wary)
    ruled = {
        call.call.name: str(one.decision.rule)
        for call in read_trace(list(found)).calls
        for one in call.rulings
        if one.decision is not None
    }

    assert ruled["find_order"] == "policy:fresh"
    assert ruled["note_ticket"] == "policy:read-before"
    assert same.out.startswith("0 calls decided differently, 5 as before")


@pytest.mark.parametrize(
    "rule",
    ["switch:tool:note_ticket", "unresolved-write", "done-already", "no-sandbox", "planning"],
)
def test_what_was_denied_for_how_things_stood_is_left_out(rule: str) -> None:
    """Another policy would have changed nothing about it."""
    call = a_call("note_ticket", text="refunds")
    denial = Deny(rule=rule, reason="so it was", next_valid_actions=("go on",))
    run = Worked()
    run.asked(call)
    run.ruled(decided(call, denial))

    found = compare(shop.app, NO_POLICY, [read(run)], "")

    assert (found.compared, found.left_out) == ([], 1)
