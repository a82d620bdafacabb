"""What deciding costs: decisions per second, and what `authorize` adds to a turn."""

import dataclasses
import math
import time
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from temporalio.testing import ActivityEnvironment

from bench.goals import Tally
from holdfast.activities.policy import PolicyActivities, PolicyEnvironment
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.decisions import (
    AuthorizeCalls,
    Caller,
)
from holdfast.contracts.guardrails import RunGuardrails, Subject
from holdfast.contracts.run import WORKFLOW_TYPE
from holdfast.contracts.switches import Switch
from holdfast.contracts.tools import Risk
from holdfast.guardrails.builtin import (
    destructive_operations,
    injection_detection,
    pii_detection,
    secret_detection,
)
from holdfast.guardrails.definition import Guardrail, GuardrailContext
from holdfast.policy.case import DecisionFacts
from holdfast.policy.document import parse_policy
from holdfast.policy.engine import decide
from holdfast.policy.rules import NO_POLICY, Policy
from holdfast.policy.signatures import KeyClaim
from holdfast.policy.trust import TrustedIssuer
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.tool import tool

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

RULES = 500
CALLS = 4
"""Calls of a turn; models ask for one to four."""

MOST_MS = 2.0
"""What the design allows `authorize` to add to a turn."""

LONG = 100_000
"""Characters that a guardrail looks at."""

SECONDS, SLICES = 1.0, 20
"""Each figure is the best of so many slices of a second: others use the machine too."""


_ALICE = Caller(tenant="acme", actor="alice")


@tool(risk=Risk.WRITE_INTERNAL)
async def move_stock(order_id: int, amount: float, currency: str = "EUR", note: str = "") -> str:
    """Move stock from one shelf to another."""
    return f"{order_id} {amount} {currency} {note}"


class Scene(NamedTuple):
    """A policy, and what of it is worked through until a rule fits: always the last one."""

    name: str
    policy: Policy


def _scenes() -> tuple[Scene, ...]:
    last = "{id: last, effect: allow, match: {tools: [move_stock]}}"
    others = [
        f"{{id: r{number}, effect: {effect}, match: {{tools: [tool_{number}], "
        f"risks: [write_internal]}}, when: args.amount > {number}}}"
        for number, effect in _effects()
    ]
    conditions = [
        f"{{id: r{number}, effect: {effect}, match: {{tools: [move_stock]}}, when: "
        f"\"args.amount > {number + 1000} && args.currency == 'EUR'\"}}"
        for number, effect in _effects()
    ]
    return (
        Scene("no policy", NO_POLICY),
        Scene(f"{RULES} rules, of other tools", _policy([*others, last])),
        Scene(f"{RULES} rules, all conditions", _policy([*conditions, last])),
    )


def _effects() -> list[tuple[int, str]]:
    return [(number, ("forbid", "approve", "deny")[number % 3]) for number in range(RULES - 1)]


def _policy(rules: list[str]) -> Policy:
    return parse_policy("\n".join(["version: 1", "rules:", *(f"  - {rule}" for rule in rules)]))


def _call(number: int) -> ToolCall:
    arguments: JsonObject = {
        "order_id": 1044 + number,
        "amount": 15.5,
        "note": "as agreed on the phone",
    }
    return ToolCall(call_id=f"c{number}", name="move_stock", arguments=arguments)


def decisions(tally: Tally) -> None:
    """Print how many decisions a core makes in a second, and what a turn pays for them."""
    print(f"\nDecisions; a turn has {CALLS} calls, their arguments are checked too")
    print(f"{'':32}{'a second':>10}{'us each':>9}{'ms per turn':>13}  goals", flush=True)
    for scene in _scenes():
        call, contract = _call(0), move_stock.contract
        facts = DecisionFacts(_ALICE, "it", NOW, values=move_stock.values(call.arguments))
        each = _seconds(lambda: decide(call, contract, facts, scene.policy))  # noqa: B023 -- called at once
        turn = _turn(scene.policy) * 1000
        goal = tally.judge(f"authorize, {scene.name}: ms", turn, MOST_MS, " ms") or "kept"
        print(f"{scene.name:32}{1 / each:10,.0f}{each * 1e6:9.1f}{turn:13.3f}  {goal}", flush=True)


def looks() -> None:
    """Print how long quick guardrails take for a long text in which nothing is wrong."""
    made = (destructive_operations(), injection_detection(), pii_detection(), secret_detection())
    text = ("lorem ipsum dolor 12 sit amet, " * 10_000)[:LONG]
    print(f"\nGuardrails, {LONG // 1000} kB of text\n{'':32}{'ms':>10}", flush=True)
    for guardrail in made:
        took = ActivityEnvironment().run(_seconds, _look(guardrail, text))
        print(f"{guardrail.spec.name:32}{took * 1000:10.2f}", flush=True)


def _look(guardrail: Guardrail, text: str) -> Callable[[], object]:
    asked = RunGuardrails(
        run_id="run-1",
        agent="it",
        tenant="acme",
        actor="alice",
        layer=guardrail.spec.layer,
        names=(guardrail.spec.name,),
        subjects=(Subject(kind="goal", text=text),),
    )
    look, context = guardrail.function, GuardrailContext.of(asked, _Holders(), lambda _: None)
    if look is None:
        raise ValueError(f"{guardrail.spec.name} has no function")
    return lambda: _at_once(look(asked.subjects[0], context))


def _at_once(action: Awaitable[object]) -> None:
    """Take to its end what waits for nothing: one step is enough, without an event loop."""
    with suppress(StopIteration):
        next(iter(action.__await__()))


def _seconds(action: Callable[[], object]) -> float:
    action()
    best = math.inf
    for _ in range(SLICES):
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < SECONDS / SLICES:
            action()
            count += 1
        best = min(best, (time.perf_counter() - began) / count)
    return best


def _turn(policy: Policy) -> float:
    surroundings = PolicyEnvironment(policy, "production", has_sandbox=True)
    registry = ToolRegistry([move_stock])
    activities = PolicyActivities(registry, surroundings, _Keys(), _Switches())
    asked = AuthorizeCalls(
        execution="test-run",
        run_id="run-1",
        agent="it",
        caller=_ALICE,
        calls=tuple(_call(number) for number in range(CALLS)),
        visible_tools=("move_stock",),
        now=NOW,
    )

    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        environment.info, workflow_type=WORKFLOW_TYPE, workflow_id=asked.run_id
    )
    return environment.run(_seconds, lambda: _at_once(activities.authorize(asked)))


class _Keys:
    async def find_issuers(self, claims: AbstractSet[KeyClaim]) -> tuple[TrustedIssuer, ...]:
        if claims:
            raise NotImplementedError(claims)
        return ()


class _Holders:
    async def find_earlier_holders(
        self, run_id: str, tenant: str, resource: str
    ) -> tuple[str, ...]:
        raise NotImplementedError((run_id, tenant, resource))


class _Switches:
    async def current(self) -> tuple[Switch, ...]:
        return ()
