"""
Having the worker decide: whether calls may run, and what people's messages are good for.

It is asked until there is an answer: what can't be decided now neither counts nor ends the run.
Only a local activity decides: any client could complete another one by its id, with an answer of
its own. An attempt that Temporal repeats is given what the first one was. Here each is given its
own time, so that nothing which lapses meanwhile counts.
"""

from collections.abc import Generator
from datetime import timedelta
from typing import NamedTuple, TypeVar

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception
from temporalio.types import MethodAsyncSingleParam

from holdfast.activities.policy import PolicyActivities
from holdfast.contracts.approvals import JudgeInput, Verdicts
from holdfast.contracts.decisions import AuthorizeCalls, Rulings
from holdfast.contracts.delegation.workers import FindWorker
from holdfast.contracts.errors import PayloadTooLarge
from holdfast.run import authorization, summaries
from holdfast.workflows import failures, options
from holdfast.workflows.handing_back import UNTIL_FOUND, Search, on_capable_worker

InputT = TypeVar("InputT", AuthorizeCalls, JudgeInput)
Answer = TypeVar("Answer")


class _Wanted(NamedTuple):
    """Who is to decide, for how long one is looked for, and what history says of it."""

    summary: str
    worker: FindWorker
    search: Search


async def authorize(given: AuthorizeCalls, search: Search) -> Rulings | None:
    """
    Ask for rulings on calls; null if, before there are any, they aren't wanted any more.

    Tools that no worker has any more are refused like those that never were.
    Raises PayloadTooLarge where what belongs to one call can't be sent.
    """
    delays = _delays()
    while True:
        try:
            answer = await _rule_on_all(given, search)
        except FailureError as error:
            if not failures.is_handed_back(error):
                raise
            answer, given = None, given.with_(gone=True)
        if answer is not None:
            return answer
        if search.is_wanted():
            await _wait(delays)
        if not search.is_wanted():
            return None


async def _rule_on_all(given: AuthorizeCalls, search: Search) -> Rulings | None:
    """
    Ask about as many calls at once as can be sent; null where not all could be decided now.

    Each answer ends its workflow task: what ends in one is sent with its end, in one message.
    """
    answers, left = list[Rulings](), given
    while left.calls or left.reviews or not answers:
        if answers:
            await workflow.sleep(options.YIELD_DELAY, summary="more calls are to be decided")
        part = authorization.take_part(left)
        summary = summaries.calls_line(part.calls)
        tools = {call.name for call in part.calls} & set(part.visible_tools)
        wanted = FindWorker(run_id=part.run_id, app=part.app, tools=tuple(sorted(tools)))
        answer = await _attempt(PolicyActivities.authorize, part, _Wanted(summary, wanted, search))
        if answer is None:
            return None
        answers.append(answer)
        left = authorization.select_rest(left, part, answer)
    return authorization.merge(answers)


async def judge(hearing: JudgeInput) -> Verdicts:
    """Ask what messages are good for."""
    summary, delays = summaries.hearing_line(hearing), _delays()
    worker = FindWorker(run_id=hearing.run_id, app=hearing.app)
    wanted = _Wanted(summary, worker, UNTIL_FOUND)
    while (answer := await _attempt(PolicyActivities.judge, hearing, wanted)) is None:
        await _wait(delays)
    return answer


async def _attempt(
    activity: MethodAsyncSingleParam[PolicyActivities, InputT, Answer],
    given: InputT,
    wanted: _Wanted,
) -> Answer | None:
    """
    Ask on a worker that has what is wanted; null where there is no answer now.

    Each is asked at the time that it is: one may have been looked for as long as a token is good.
    """
    try:
        return await on_capable_worker(
            wanted.worker,
            lambda: workflow.execute_local_activity_method(
                activity, given.with_(now=workflow.now()), **options.ruling(wanted.summary)
            ),
            wanted.search,
        )
    except FailureError as error:  # a local activity's own, or that its time was over
        if isinstance(error, ApplicationError) and error.type == PayloadTooLarge.__name__:
            raise PayloadTooLarge(error.message) from error  # as where the question is
        if failures.is_handed_back(error) and not isinstance(given, AuthorizeCalls):
            return None
        if is_cancelled_exception(error) or _is_final(error):
            raise
        return None


def _delays() -> Generator[timedelta]:
    delay = options.INITIAL_DECISION_DELAY
    while True:
        yield delay
        delay = min(2 * delay, options.MAX_DECISION_DELAY)


async def _wait(delays: Generator[timedelta]) -> None:
    await workflow.sleep(next(delays), summary="nothing could be decided")


def _is_final(error: FailureError) -> bool:
    """Whether another attempt would come to the same."""
    return isinstance(error, ApplicationError) and error.non_retryable
