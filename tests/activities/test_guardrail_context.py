"""What a guardrail is told of the run that it looks for, and who else has a turn meanwhile."""

import asyncio
from threading import get_ident

import pytest
from temporalio.exceptions import ApplicationError

from holdfast.activities.guardrails import GuardrailActivities
from holdfast.contracts.bounds import MAX_VERDICT_REASON_CHARS
from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.guardrails.definition import (
    GuardrailContext,
    guardrail,
    passed,
    tripped,
)
from holdfast.tools.redaction import Redactor
from tests.activities.looking import KnownHolders, activities, answer, asking, goal, looked
from tests.asking import in_run


async def test_it_knows_the_run() -> None:
    """The context is what the activity was asked with; holders are asked for this run."""
    seen: list[GuardrailContext] = []
    holders = KnownHolders(disk_1=("run-0",))

    @guardrail(layer="pre_execution")
    async def noting(_: Subject, ctx: GuardrailContext) -> GuardrailResult:
        seen.append(ctx)
        return passed(",".join(await ctx.holders("disk:1") or ()))

    verdict = await looked(
        noting, goal("x"), holders, tokens_left=7, cost_left=0.1, domain="d", task_kind="k"
    )

    assert (seen[0].agent, seen[0].tokens_left, str(seen[0].cost_left)) == ("it", 7, "0.1")
    assert (seen[0].domain, seen[0].task_kind) == ("d", "k")
    assert verdict.reason == "run-0"
    assert holders.asked == [("run-1", "acme", "disk:1")]


async def test_other_runs_have_their_turn_between_two_verdicts() -> None:
    """Of a long answer each verdict takes a third of a second on the loop of all runs."""
    turns, seen = [0], list[int]()

    async def take_turns() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    @guardrail(layer="output")
    async def looks(_subject: Subject, _: GuardrailContext) -> GuardrailResult:
        """Note who had a turn."""
        seen.append(turns[0])
        return passed()

    others = asyncio.create_task(take_turns())
    subjects = tuple(Subject(kind="answer", text=text) for text in "abc")
    await in_run("run-1").run(activities([looks]).run, asking(looks, subjects=subjects))
    others.cancel()

    assert len(set(seen)) == len(subjects)


class _Flaw(Exception):
    """Knows in which threads somebody wanted to know what it says."""

    threads: list[int]

    def __str__(self) -> str:
        self.threads.append(get_ident())
        return "no"


@pytest.mark.parametrize("length", [10, 20_000])
async def test_what_is_raised_of_a_long_answer_is_told_beside_the_loop(length: int) -> None:
    """It and its stack are held against all of it, as a reason is."""
    flaw = _Flaw()
    flaw.threads = []

    @guardrail(layer="output")
    async def failing(_subject: Subject, _: GuardrailContext) -> GuardrailResult:
        raise flaw

    asked = asking(failing, subjects=(answer("\\n" * length),), unreleased=["answer"])
    with pytest.raises(ApplicationError, match="can't decide"):
        await in_run("run-1").run(activities([failing]).run, asked)

    assert flaw.threads
    assert (get_ident() in flaw.threads) is (length == 10)


@pytest.mark.parametrize("length", [10, 20_000])
async def test_what_is_said_of_a_long_answer_is_told_beside_the_loop(length: int) -> None:
    """A reason is held against all of it; and of a long reason no more is looked at than told."""
    threads, lengths = list[int](), list[int]()

    class Watched(Redactor):
        def text(self, text: str) -> str:
            lengths.append(len(text))
            return super().text(text)

    def know() -> frozenset[str]:
        threads.append(get_ident())
        return frozenset()

    @guardrail(layer="output")
    async def quoting(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        return tripped(subject.text, subject.text)

    looking = GuardrailActivities([quoting], KnownHolders(), Redactor(know))
    asked = asking(quoting, subjects=(answer("\\n" * length),), unreleased=["answer"])
    found = await in_run("run-1").run(looking.run, asked)
    bounded = GuardrailActivities([quoting], KnownHolders(), Watched(frozenset[str]))
    await in_run("run-1").run(bounded.run, asked)

    assert len(found.verdicts[0].reason) == min(2 * length, MAX_VERDICT_REASON_CHARS)
    assert (get_ident() in threads) is (length == 10)
    assert max(lengths, default=0) < 2 * MAX_VERDICT_REASON_CHARS
