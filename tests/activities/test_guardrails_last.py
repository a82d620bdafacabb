"""Built-in guardrails of what was done: each trips, passes, or says who looks."""

import asyncio
from collections.abc import Callable

import pytest

from holdfast.contracts.errors import AppError
from holdfast.guardrails.builtin import (
    deployment_safety,
    judged_by,
    project_passes,
    review_approval,
    tests_pass,
)
from holdfast.guardrails.definition import Guardrail
from tests.activities.looking import a_call, answer, goal, looked, outcome


def test_tests_pass() -> None:
    """Tests are a command that the run itself has run, after the answer."""  # GR-26
    spec = tests_pass().spec

    assert (spec.name, spec.layer, spec.command) == (
        "test_validation",
        "post_action",
        ("pytest", "-q"),
    )
    assert tests_pass().function is None
    assert tests_pass(("make", "test"), "output").spec.layer == "output"
    with pytest.raises(AppError, match="give a command"):
        tests_pass(())


def test_project_passes() -> None:
    """What to run may be the project's own words."""
    spec = project_passes("build").spec

    assert (spec.name, spec.project_commands) == ("project_build", "build")


@pytest.mark.parametrize("make", [tests_pass, project_passes])
def test_a_command_may_run_as_long_as_the_tool_lets_it(make: Callable[..., Guardrail]) -> None:
    """What `run_command` wouldn't take is refused when it is written, not in every run."""
    assert make().spec.timeout == 110
    assert make(timeout=110.0).spec.timeout == 110
    with pytest.raises(AppError, match="may run for 110 s at most"):
        make(timeout=110.1)


def test_review_approval() -> None:
    """People look: so many, of these groups, and with a token where it takes one."""  # GR-27
    spec = review_approval(("leads",), 2, "strong").spec

    assert spec.review is not None
    assert (spec.review.groups, spec.review.count, spec.review.strength) == (
        ("leads",),
        2,
        "strong",
    )
    assert spec.layer == "post_action"
    with pytest.raises(AppError, match="count is 1 or more"):
        review_approval(count=0)


def test_judged_by() -> None:
    """Another agent looks; its name is one that an activity type can hold."""
    spec = judged_by("Code Critic-2", on_trip="ask").spec

    assert (spec.name, spec.agent, spec.on_trip) == (
        "judged_by_code_critic_2",
        "Code Critic-2",
        "ask",
    )
    with pytest.raises(AppError, match="name the agent"):
        judged_by(" ")


@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, "passed"), (204, "passed"), (299, "passed"), (302, "tripped"), (503, "tripped")],
)
async def test_deployment_safety_by_address(status: int, expected: str) -> None:
    """Anything but 2xx is ill; nobody there is ill too."""  # GR-28

    async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    server = await asyncio.start_server(answering, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    guardrail = deployment_safety(f"http://me:hush@127.0.0.1:{port}/health?t=1", ("deploy",))

    async with server:
        verdict = await looked(guardrail, a_call())
    assert outcome(verdict) == expected
    ill = await looked(guardrail, a_call())
    assert ill.reason == "the health check 127.0.0.1/health doesn't answer: ConnectError"


@pytest.mark.parametrize(("is_well", "expected"), [(True, "passed"), (False, "tripped")])
async def test_deployment_safety_by_function(*, is_well: bool, expected: str) -> None:
    """A function may say whether all is well, before the call or after it."""  # GR-28

    async def probe() -> bool:
        return is_well

    before = deployment_safety(probe, ("deploy",))
    after = deployment_safety(probe, layer="post_action")

    assert outcome(await looked(before, a_call())) == expected
    assert outcome(await looked(after, answer("done"))) == expected
    assert outcome(await looked(before, goal("x"))) == "not applicable"
    assert (before.spec.on_trip, before.spec.tools) == ("deny", ("deploy",))


def test_deployment_safety_must_know_what_deploys() -> None:
    """Before which calls it looks, and where, has to be said."""
    with pytest.raises(AppError, match="name the tools that deploy"):
        deployment_safety("https://example.com/health")
    with pytest.raises(AppError, match="no address of http or https"):
        deployment_safety("example.com/health", ("deploy",))
