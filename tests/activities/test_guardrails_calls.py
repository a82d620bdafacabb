"""Built-in guardrails right before a call: each trips, passes, and knows what isn't its."""

import asyncio
from decimal import Decimal

import pytest

from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import Subject
from holdfast.guardrails.builtin import (
    conflict_detection,
    cost_estimation,
    dependency_check,
)
from tests.activities.looking import KnownHolders, a_call, goal, looked, outcome


@pytest.mark.parametrize(
    ("left", "per_call", "expected"),
    [
        (0.5, None, "passed"),
        (0.49, None, "tripped"),
        (None, Decimal("0.50"), "passed"),
        (None, Decimal("0.49"), "tripped"),
        (9.0, Decimal("0.49"), "tripped"),
        (None, None, "not applicable"),
    ],
)
async def test_cost_estimation(
    left: float | None, per_call: Decimal | None, expected: str
) -> None:
    """A call may cost exactly what is left, or what one may cost, and no more."""  # GR-20
    guardrail = cost_estimation(lambda call: Decimal(str(call.data)), per_call=per_call)
    call = Subject(kind="call", data=0.5)

    assert outcome(await looked(guardrail, call, cost_left=left)) == expected
    fixed = cost_estimation(Decimal("0.5"), per_call=per_call)
    assert outcome(await looked(fixed, call, cost_left=left)) == expected
    assert outcome(await looked(guardrail, goal("x"), cost_left=left)) == "not applicable"


@pytest.mark.parametrize("cost", ["-1", "NaN", "Infinity"])
async def test_a_cost_that_is_none_decides_nothing(cost: str) -> None:
    """An estimate that can't be is a failure, not a pass."""
    with pytest.raises(Exception, match="must be 0 or more"):
        await looked(cost_estimation(Decimal(cost)), a_call(), cost_left=1.0)


async def test_dependency_check() -> None:
    """What is missing is named, all of it at once."""  # GR-21
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1")
    host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    there = dependency_check(commands=("sh",), modules=("json.decoder",), hosts=(host,))
    missing = dependency_check(
        commands=("sh", "no-such-command"), modules=("no_such_module",), hosts=(host,)
    )

    async with server:
        assert outcome(await looked(there, a_call())) == "passed"
        assert (await looked(missing, a_call())).reason == (
            "missing: command 'no-such-command', module 'no_such_module'"
        )
    assert (await looked(there, a_call())).reason == f"missing: host '{host}'"
    assert outcome(await looked(there, goal("x"))) == "not applicable"


def test_a_check_of_nothing_is_refused() -> None:
    """So is an address that is none."""
    with pytest.raises(AppError, match="it checks nothing"):
        dependency_check()
    with pytest.raises(AppError, match="'db:port' is no host; write 'name:port'"):
        dependency_check(hosts=("db:port",))


async def test_a_conflict_repeats_no_personal_data() -> None:
    """A resource may be named after somebody."""
    holders = KnownHolders(**{"order_john.doe@example.com": ("run-0",)})

    verdict = await looked(
        conflict_detection("order"), a_call(order="john.doe@example.com"), holders
    )

    assert verdict.reason == "run 'run-0' holds order:[e-mail address]; wait until it has ended"


async def test_conflict_detection() -> None:
    """Who holds the resource is named; a server that can't tell passes nothing."""  # GR-22
    guardrail = conflict_detection("order", tools=("deploy",))
    holders = KnownHolders(order_1=("run-0", "run-9"), order_2=())

    verdict = await looked(guardrail, a_call(order=1), holders)
    assert verdict.reason == "run 'run-0' holds order:1; wait until it has ended"
    assert outcome(await looked(guardrail, a_call(order=2), holders)) == "passed"
    assert outcome(await looked(guardrail, a_call(order=3), holders)) == "tripped"
    assert outcome(await looked(guardrail, a_call(other=1), holders)) == "not applicable"
    assert outcome(await looked(guardrail, goal("x"), holders)) == "not applicable"
