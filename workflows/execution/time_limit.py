"""Watching the time of a run that takes much longer than expected, whatever it is doing."""

from temporalio import workflow

from holdfast.run import escalations
from holdfast.run.limits import budgets, triggers
from holdfast.workflows import run_context
from holdfast.workflows.run_context import RunContext


async def watch_time(run: RunContext) -> None:
    """Ask a person when the time comes, even if an activity is under way; runs for ever."""
    while (left := _seconds_until_slow(run)) is not None:
        await workflow.sleep(left, summary="from then on it takes longer than expected")
        await workflow.wait_condition(lambda: _is_at_work(run))
        state, agent = run.state, run.state.agent
        if state.is_ending:
            return
        trigger = triggers.find_trigger(
            agent.triggers,
            agent.budget,
            state.ledger,
            _worked_seconds(run),
            state.oversight.acknowledged,
        )
        if trigger is not None:
            run.state = escalations.pause(run.state, trigger, workflow.now())
            run_context.publish_status(run)
            await run.record("paused", f"{trigger.reason}: {trigger.detail}")
            await workflow.wait_condition(lambda: _is_at_work(run))


def _is_at_work(run: RunContext) -> bool:
    """Whether nobody is asked, and all the time that people took is in the ledger."""
    return not (run.resting or run.state.suspended or run.state.oversight.requests)


def _seconds_until_slow(run: RunContext) -> float | None:
    agent = run.state.agent
    if not agent.escalates or run.state.is_ending:
        return None
    return triggers.seconds_until_slow(
        agent.triggers, _worked_seconds(run), run.state.oversight.acknowledged
    )


def _worked_seconds(run: RunContext) -> float:
    return budgets.worked_seconds(run.state.ledger, run.elapsed_seconds())
