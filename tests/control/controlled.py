"""Runs whose control the tests look at: chains of models, failures, and what history tells."""

from decimal import Decimal

from pydantic import JsonValue
from temporalio.client import WorkflowHistory

from holdfast import Agent, App
from holdfast.contracts.approvals import Escalation, Request, Review
from holdfast.contracts.errors import FailureKind, ModelError, ModelRejected, ModelUnavailable
from holdfast.contracts.run import RunResult
from holdfast.contracts.stops import Stop
from holdfast.contracts.usage import CallUsage
from holdfast.testing import Reply, Script, fail, using
from tests.histories import Story, noted
from tests.running import AnyRun, Run, Runs
from tests.sample import TOOLS

PASSING: frozenset[FailureKind] = frozenset(
    {"rate_limited", "overloaded", "unavailable", "timeout", "stalled", "cut_off", "unreadable"}
)
"""Failures that may be gone when the same model is asked again."""


def broken(kind: FailureKind, wait: float | None = 0.01, cost: str | None = None) -> Reply:
    """A call that fails; its provider asks to wait so many seconds."""
    used = None if cost is None else CallUsage(input_tokens=10, estimated_cost=Decimal(cost))
    error: ModelError = ModelRejected(f"the {kind} one", kind=kind, usage=used)
    if kind in PASSING:
        error = ModelUnavailable(f"the {kind} one", wait, kind=kind, usage=used)
    return fail(error)


def chained(*scripts: Script, **agent: object) -> App:
    """An app with one agent `it`, whose models `scripted:1`, `scripted:2`, ... speak these."""
    names = [str(number) for number, _ in enumerate(scripts, start=1)]
    settings: dict[str, object] = {
        "name": "it",
        "instructions": "Do as you are told.",
        "models": [f"scripted:{name}" for name in names],
        "tools": TOOLS,
        **agent,
    }
    return App(
        agents=[Agent(**settings)],  # pyright: ignore[reportArgumentType] -- whatever a test overrides
        scripts=dict(zip(names, scripts, strict=True)),
    )


def used(reply: Reply, input_tokens: int = 0, output_tokens: int = 0, cost: str = "0") -> Reply:
    """A reply that is billed with so much."""
    usage = CallUsage(
        input_tokens=input_tokens, output_tokens=output_tokens, estimated_cost=Decimal(cost)
    )
    return using(reply, usage)


async def asked(run: AnyRun, before: Request | None = None) -> Request:
    """Wait until the run asks people for one thing, which isn't *before*."""
    while not (found := await run.pending()) or before in found:
        status = await run.status()
        assert status.status in {"running", "waiting", "suspending", "suspended"}, status.stop
        await run.pause()
    (request,) = found
    return request


async def asked_to_resolve(run: AnyRun) -> Escalation:
    """Wait until the run asks a person how it goes on."""
    request = await asked(run)
    assert isinstance(request, Escalation), request
    return request


async def asked_to_review(run: AnyRun) -> Review:
    """Wait until the run asks people to approve it."""
    request = await asked(run)
    assert isinstance(request, Review), request
    return request


async def resolve(run: AnyRun, action: str = "resume", **more: JsonValue) -> None:
    """Say how the run goes on, to the one request that is open."""
    (request,) = await run.pending()
    await run.signal("resolution", {"request_id": request.request_id, "action": action, **more})


async def stopped(run: AnyRun) -> Stop:
    """Wait for the end of a run without an answer, and return why."""
    result = await run.result()
    assert result.answer is None
    return why(result)


def why(result: RunResult) -> Stop:
    """Why a run ended without an answer."""
    assert result.stop is not None
    return result.stop


def recorded(*stories: Story) -> list[str]:
    """The lines that a run left for people."""
    return [one.summary for story in stories for one in noted(story) if one.name == "record"]


def asked_models(*stories: Story) -> list[str]:
    """What each call of a model was for: its turn, the model, and the purpose."""
    return [one.summary for story in stories for one in noted(story) if one.name == "call_model"]


async def replayed(runs: Runs, run: Run) -> tuple[WorkflowHistory, ...]:
    """Return the histories of all executions of a run; each must replay."""
    return await runs.histories(run)
