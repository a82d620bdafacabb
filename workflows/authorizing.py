"""Having the worker decide: whether calls may run, and what people's messages are good for."""

from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception
from temporalio.types import MethodAsyncSingleParam

from holdfast.activities.policy import PolicyActivities
from holdfast.contracts.approvals import JudgeInput, Verdicts
from holdfast.contracts.decisions import AuthorizeCalls, Rulings
from holdfast.contracts.errors import PayloadTooLarge
from holdfast.run import summaries
from holdfast.workflows import options

InputT = TypeVar("InputT", AuthorizeCalls, JudgeInput)
Answer = TypeVar("Answer")


async def authorize(given: AuthorizeCalls) -> Rulings:
    """Ask for rulings on calls."""
    return await _execute_until_answer(
        PolicyActivities.authorize, given, summaries.calls_line(given.calls)
    )


async def judge(hearing: JudgeInput) -> Verdicts:
    """Ask what messages are good for."""
    return await _execute_until_answer(
        PolicyActivities.judge, hearing, summaries.messages_line(hearing.messages)
    )


async def _execute_until_answer(
    activity: MethodAsyncSingleParam[PolicyActivities, InputT, Answer], given: InputT, summary: str
) -> Answer:
    """
    Ask until there is an answer: what can't be decided now neither counts nor ends the run.

    Only a local activity decides: any client could complete another one by its id, with an answer
    of its own. An attempt that Temporal repeats is given what the first one was. Here each is
    given its own time, so that nothing which lapses meanwhile counts.
    """
    pause = options.INITIAL_DECISION_DELAY
    while True:
        try:
            return await workflow.execute_local_activity_method(
                activity, given, **options.ruling(summary)
            )
        except FailureError as error:  # a local activity's own, or that its time was over
            if _is_final(error) or is_cancelled_exception(error):
                raise
        await workflow.sleep(pause, summary="nothing could be decided")
        pause = min(2 * pause, options.MAX_RETRY_INTERVAL)
        given = given.model_copy(update={"now": workflow.now()})


def _is_final(error: FailureError) -> bool:
    """Whether another attempt would come to the same: also where the answer can't be sent."""
    if not isinstance(error, ApplicationError):
        return False
    return error.non_retryable or error.type == PayloadTooLarge.__name__
