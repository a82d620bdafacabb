"""
Having the worker decide: whether calls may run, and what people's messages are good for.

It is asked until there is an answer: what can't be decided now neither counts nor ends the run.
Only a local activity decides: any client could complete another one by its id, with an answer of
its own. An attempt that Temporal repeats is given what the first one was. Here each is given its
own time, so that nothing which lapses meanwhile counts.
"""

from collections.abc import Callable, Generator
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception
from temporalio.types import MethodAsyncSingleParam

from holdfast.activities.policy import PolicyActivities
from holdfast.contracts.approvals import JudgeInput, Verdicts
from holdfast.contracts.decisions import AuthorizeCalls, Rulings
from holdfast.contracts.errors import PayloadTooLarge
from holdfast.run import authorization, summaries
from holdfast.workflows import options

InputT = TypeVar("InputT", AuthorizeCalls, JudgeInput)
Answer = TypeVar("Answer")


async def authorize(given: AuthorizeCalls, is_wanted: Callable[[], bool]) -> Rulings | None:
    """
    Ask for rulings on calls; null if, before there are any, they aren't wanted any more.

    Raises PayloadTooLarge where what belongs to one call can't be sent.
    """
    delays = _delays()
    while (answer := await _rule_on_all(given)) is None:
        await _wait(delays)
        if not is_wanted():
            return None
        given = given.with_(now=workflow.now())
    return answer


async def _rule_on_all(given: AuthorizeCalls) -> Rulings | None:
    """
    Ask about as many calls at once as can be sent; null where not all could be decided now.

    Each answer ends its workflow task: what ends in one is sent with its end, in one message.
    """
    answers, left = list[Rulings](), given
    while left.calls or left.reviews or not answers:
        if answers:
            await workflow.sleep(options.YIELD_DELAY, summary="more calls are to be decided")
            left = left.with_(now=workflow.now())
        part = authorization.take_part(left)
        summary = summaries.calls_line(part.calls)
        answer = await _attempt(PolicyActivities.authorize, part, summary)
        if answer is None:
            return None
        answers.append(answer)
        left = authorization.select_rest(left, part, answer)
    return authorization.merge(answers)


async def judge(hearing: JudgeInput) -> Verdicts:
    """Ask what messages are good for."""
    summary, delays = summaries.messages_line(hearing.messages), _delays()
    while (answer := await _attempt(PolicyActivities.judge, hearing, summary)) is None:
        await _wait(delays)
        hearing = hearing.with_(now=workflow.now())
    return answer


async def _attempt(
    activity: MethodAsyncSingleParam[PolicyActivities, InputT, Answer], given: InputT, summary: str
) -> Answer | None:
    """Ask once; null where there is no answer now."""
    try:
        return await workflow.execute_local_activity_method(
            activity, given, **options.ruling(summary)
        )
    except FailureError as error:  # a local activity's own, or that its time was over
        if isinstance(error, ApplicationError) and error.type == PayloadTooLarge.__name__:
            raise PayloadTooLarge(error.message) from error  # as where the question is
        if is_cancelled_exception(error) or _is_final(error):
            raise
        return None


def _delays() -> Generator[timedelta]:
    delay = options.INITIAL_DECISION_DELAY
    while True:
        yield delay
        delay = min(2 * delay, options.MAX_RETRY_INTERVAL)


async def _wait(delays: Generator[timedelta]) -> None:
    await workflow.sleep(next(delays), summary="nothing could be decided")


def _is_final(error: FailureError) -> bool:
    """Whether another attempt would come to the same."""
    return isinstance(error, ApplicationError) and error.non_retryable
