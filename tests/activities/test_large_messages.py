"""Large messages, of which a worker judges a few at once."""

import asyncio
from pathlib import Path

from temporalio.exceptions import ApplicationError

from holdfast.activities.authority.verdicts import judge_in_turn
from holdfast.contracts.approvals import JudgeInput
from holdfast.policy.trust import Trust
from holdfast.testing import call, say
from holdfast.tools.large_json import MAX_INLINE_BYTES
from tests.builders import a_request, an_answer
from tests.memory.runs import MemoryRuns
from tests.policy.hearings import a_hearing
from tests.sample import scripted
from tests.workflows.test_permissions import policy

RULE, SIGNED = "{id: any, effect: allow, match: {tools: [look]}}", "signals: {steer: {}}"

MANY = 30
"""More than the places that there are."""


def _large(tenant: str, run: int = 0) -> JudgeInput:
    answer = an_answer().model_copy(update={"text": "x" * MAX_INLINE_BYTES})
    return a_hearing([answer], [a_request()], tenant=tenant, run_id=f"run-{run}")


async def test_no_tenant_takes_the_places_of_others() -> None:
    """However many of one wait, those of another have theirs, and so have those of the default."""
    # T-17
    asked = [*(_large("acme", run) for run in range(MANY)), _large("other"), _large("")]

    found = await asyncio.gather(
        *(judge_in_turn(one, Trust(), one.execution) for one in asked), return_exceptions=True
    )

    refused = [isinstance(one, ApplicationError) for one in found]
    assert any(refused[:MANY])
    assert refused[MANY:] == [False, False]


async def test_who_judges_is_told_the_tenant(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """In both questions: about messages that a request waits for, and about the others."""
    # T-17
    script = [call("ask_user", question="Which one?"), say("done")]
    app = scripted(script, policy=policy(tmp_path, RULE, more=SIGNED))
    run = await memory_runs.start("it", tenant="acme")
    async with memory_runs.working(app):
        [asked] = await run.asked()
        await run.signal("steer", {"text": "quick"})
        await run.signal("answer", {"request_id": asked.request_id, "text": "this"})
        await run.result()
    told = await run.decided("judge")

    assert {bool(one["messages"]) for one in told} == {True, False}
    assert [one["tenant"] for one in told] == ["acme"] * len(told)
