"""The main path: the steps of a run, one after the other, until it is over."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from holdfast.contracts.calls import ToolResult
from holdfast.contracts.control import ProviderWait
from holdfast.contracts.decisions import Ruling
from holdfast.contracts.errors import PayloadTooLarge
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.run import (
    answers,
    authorization,
    compaction,
    disagreements,
    fallbacks,
    requests,
    steps,
    summaries,
    tool_calls,
    tool_results,
    turns,
)
from holdfast.run.disagreements import NotBegun
from holdfast.run.limits import plans
from holdfast.run.step import claims, drafts, goals
from holdfast.run.step.kinds import (
    Authorize,
    AwaitMessage,
    AwaitPeople,
    AwaitProvider,
    AwaitResume,
    CallModel,
    ContinueAsNew,
    EndMessage,
    Finish,
    Guard,
    Halt,
    Prune,
    Release,
    RollBack,
    RunTools,
    Step,
    TakeMessage,
)
from holdfast.run.transcript import build_continue_as_new_input, halt, prune
from holdfast.workflows import control, options, resets, run_context
from holdfast.workflows.authorizing import authorize
from holdfast.workflows.delegation.handoffs import commit_handoff
from holdfast.workflows.delegation.subagents import run_beside
from holdfast.workflows.execution.background import begin_beside
from holdfast.workflows.execution.patches import (
    DRAFTED_ONCE,
    DRAFTS_RELEASE_NOTHING,
    HURRIED_COUNTS,
    JUDGES_LATER,
    KNOWN_AS_DECIDED,
    PARTS_COUNT,
    choose_batch,
    choose_state,
    invalidate_rulings,
)
from holdfast.workflows.handing_back import Search
from holdfast.workflows.inbound.breaking_off import unless_broken_off
from holdfast.workflows.inbound.inbox import Inbox, hear_what_came, is_behind_local_activity
from holdfast.workflows.inbound.signals import hear_what_waits
from holdfast.workflows.log import log_event, log_start
from holdfast.workflows.model_calls import run_model_call
from holdfast.workflows.projects import take_back_before_stop
from holdfast.workflows.run_context import RunContext, at_rest, raise_on_cancellation
from holdfast.workflows.sessions import steps as session_steps
from holdfast.workflows.sessions.closing import (
    archive_conversation,
    archive_session,
    hear_last_words,
)
from holdfast.workflows.tool_call import run_tool


class StepLoop:
    """Takes the steps of one run. Everything that decides what happens next is in its state."""

    def __init__(self, run: RunContext, inbox: Inbox) -> None:
        self._run = run
        self._inbox = inbox
        self.archived = False
        self._recorded: set[str] = set()
        self._background: tuple[asyncio.Task[None], ...] = ()
        self._step: Step | None = None

    async def run(self) -> None:
        """Take steps until the run is over, which has its state by now."""
        log_start(self._run.state)
        if not (unheard := self._run.state.unheard):
            await self._inbox.open()
        run_context.publish_summary(self._run.state)
        run_context.publish_status(self._run)
        self._background = begin_beside(self._run, self._is_going_on)
        try:
            if unheard:
                self._run.state = self._run.state.with_(unheard=())
                await self._inbox.open(unheard)
            await self._run_steps()
        except (asyncio.CancelledError, FailureError) as error:
            cancelled = is_cancelled_exception(error)
            if cancelled:
                self._run.state = requests.withdraw_requests(self._run.state, workflow.now())
                run_context.publish_status(self._run)
            log_event("run.ended", self._run.state, status="cancelled" if cancelled else "failed")
            raise

    async def _run_steps(self) -> None:
        while True:
            self._step = None
            raise_on_cancellation()
            control.release_claims(self._run)
            if self._run.state.journal and not isinstance(self._next_step(), RollBack):
                await self._run.write_journal()
            await hear_what_came()
            self._step = step = self._choose_step()
            match step:
                case CallModel():
                    await run_model_call(self._run, step)
                case Authorize(calls):
                    await self._authorize(calls)
                case AwaitPeople(until):
                    await self._wait_for_people(until)
                case AwaitResume():
                    await self._wait_for_resume()
                case AwaitProvider(wait):
                    await self._wait_for_provider(wait)
                case RunTools(batch):
                    await self._run_tools(batch)
                case Prune(before):
                    await self._prune(before)
                case Release():
                    self._run.state = answers.release_if_clear(self._run.state)
                case ContinueAsNew():
                    await self._continue_as_new()
                case Halt(stop):
                    await self._run.record("stopped", stop.reason)
                    self._run.state = halt(self._run.state, stop, workflow.now())
                case TakeMessage() | AwaitMessage() | EndMessage():
                    await session_steps.execute_step(self._run, step, self._has_flood)
                case Finish():
                    if await self._finish():
                        return
                case _:
                    await control.execute_step(self._run, step)

    async def _finish(self) -> bool:
        """End, unless it is a session to which something was said while it was archived."""
        await hear_last_words(self._run, self._inbox)
        run_context.publish_status(self._run)
        if self._run.state.session is None:
            return True
        saved = await archive_session(self._run)
        self.archived = saved.kept
        # One whose history says nothing of it completed at once.
        while saved.hears_more and is_behind_local_activity():
            await hear_what_waits(self._run.state.run_id)
        await hear_last_words(self._run, self._inbox)
        if isinstance(self._next_step(), Finish):
            return True
        self._inbox.resume()
        return False

    async def _continue_as_new(self) -> None:
        """
        Go on in a new execution, unless what was heard last leads elsewhere.

        Nothing else happens then: were the state too large by now to be sent, the SDK would drop
        the run's only task without a word. What waits by then the new execution hears first.
        """
        if self._run.state.session is not None:
            await archive_conversation(self._run)
        await hear_what_waits(self._run.state.run_id)
        await self._inbox.leave_backlog()  # ends a timer, which behind a marker can't be replayed
        if isinstance(self._choose_step(), ContinueAsNew):
            fresh = build_continue_as_new_input(self._run.state)
            workflow.continue_as_new(fresh.with_(unheard=self._inbox.backlog))
        self._inbox.resume()

    def _is_going_on(self) -> bool:
        """Whether it is about to go on in a new execution, whatever fills this one."""
        waits = isinstance(self._step, AwaitPeople | AwaitResume | AwaitProvider)
        ready = waits or self._step is None or isinstance(self._step, ContinueAsNew)
        return ready and isinstance(self._next_step(), ContinueAsNew)

    def _next_step(self, *, advanced: bool = False) -> Step:
        return steps.next_step(
            self._run.state,
            workflow.now(),
            history_is_long=self._is_history_long(),
            flooded=self._has_flood(),
            advanced=advanced,
        )

    def _is_history_long(self) -> bool:
        return options.is_history_long(self._run.state.agent.max_history_events)

    def _has_flood(self) -> bool:
        return self._inbox.is_full(history_is_long=self._is_history_long())

    def _choose_step(self) -> Step:
        """
        Return the next step. What others did for the run counts as work of this execution.

        So do words for which its model was broken off: each time it is sent all that it reads.
        Where a flood has a run go on that is suspended, no agent judges. It would wait for
        `resume`, for which the flood leaves no room; in a run of an earlier release it does. In
        the new execution it judges what that begins with.
        """
        step, state = self._next_step(), self._run.state
        advanced = self._run.advanced or self._run.hurried
        if advanced and not steps.had_a_turn(state):
            counted = self._next_step(advanced=True)
            patch = PARTS_COUNT if self._run.advanced else HURRIED_COUNTS
            if type(counted) is not type(step) and workflow.patched(patch):
                return counted
        judges = isinstance(step, Guard) and any(one.spec.agent for one in step.checks)
        if judges and state.suspended and workflow.patched(JUDGES_LATER):
            return steps.go_on_in_a_new_execution(state)
        return step

    async def _authorize(self, calls: tuple[CallState, ...]) -> None:
        state = self._run.state
        visible = state.chain.sent_tools or tuple(tool.name for tool in state.agent.tools)
        asked = authorization.build_input(self._run.state, calls, visible, workflow.now())
        try:
            search = Search(
                lambda: isinstance(self._next_step(), Authorize), self._run.seconds_left
            )
            answer = await authorize(asked, search)
        except PayloadTooLarge as error:  # nothing is under way: all that was done is known
            stop = Stop.because(StopReason.DECISION_TOO_LARGE, str(error))
            await self._run.record("stopped", stop.reason)
            self._run.state = halt(self._run.state, stop, workflow.now())
            return
        if answer is None:
            return
        await resets.handle_reset(self._run, answer.execution)
        if self._run.state.planning and not asked.planning:
            return  # it was decided by a plan of before the reset: the next round decides anew
        now = workflow.now()
        ruled = tool_calls.after_rulings(self._run.state, answer, now)
        ruled = choose_state(DRAFTED_ONCE, drafts.take_made(ruled), ruled)
        self._run.state = turns.close_turn_if_complete(ruled, now)
        await self._record_rulings(answer.rulings)

    async def _record_rulings(self, rulings: tuple[Ruling, ...]) -> None:
        """
        Leave a line of each ruling that an auditor should find.

        What is decided anew because that took long doesn't wait for the same lines again.
        """
        for line in map(summaries.ruling_line, filter(tool_calls.is_notable, rulings)):
            if line not in self._recorded:
                await self._run.record("ruled", line)
                self._recorded.add(line)

    async def _wait_for_people(self, until: datetime) -> None:
        self._recorded.clear()
        waiting = self._run.state.oversight.requests
        with at_rest(self._run):
            await run_context.wait_for_people(
                self._run,
                until,
                lambda: (
                    self._run.state.oversight.requests != waiting
                    or not isinstance(self._next_step(), AwaitPeople)
                ),
            )

    async def _wait_for_provider(self, wait: ProviderWait) -> None:
        run_context.publish_status(self._run)
        pause, left = wait.until - workflow.now(), self._run.seconds_left()
        ends_first = left is not None and timedelta(seconds=left) < pause
        regulated = self._run.state.brief.regulated
        shown = wait.copy_with({"error": "see the call"}) if regulated else wait
        try:
            await workflow.wait_condition(
                lambda: not isinstance(self._next_step(), AwaitProvider),
                timeout=options.at_least(timedelta(seconds=left or 0) if ends_first else pause),
                timeout_summary=summaries.provider_timer_line(shown),
            )
        except TimeoutError:
            if not ends_first:
                self._run.state = fallbacks.end_wait(self._run.state)

    async def _wait_for_resume(self) -> None:
        with at_rest(self._run):
            await workflow.wait_condition(lambda: not isinstance(self._next_step(), AwaitResume))

    async def _run_tools(self, batch: tuple[CallState, ...]) -> None:
        if self._run.state.oversight.requests:
            run_context.publish_status(self._run)  # who is asked hears of it before these end
        now = workflow.now()
        fresh = tool_calls.drop_lapsed_approvals(self._run.state, batch, now)
        if fresh is not self._run.state:
            self._run.state = fresh
            return
        if not (recent := tool_calls.select_recent(batch, now)):
            await self._send_back(batch, [disagreements.TOO_OLD] * len(batch))
            self._run.state = invalidate_rulings(self._run.state)
            return
        self._recorded.clear()
        batch = choose_batch(plans.hold_tasks(self._run.state, recent), recent)
        left, state = self._run.seconds_left(), self._run.state
        found: list[ToolResult | NotBegun] = (
            [tool_results.build_no_room_denial(call.call) for call in batch]
            if tool_calls.is_over_result_limit(state)
            else await run_beside(self._run, batch, lambda call: self._run_tool(call, left))
        )
        ran = tuple(result for result in found if not isinstance(result, NotBegun))
        restored = turns.restore_rulings(self._run.state, batch, ran)
        before = choose_state(KNOWN_AS_DECIDED, restored, self._run.state)
        state = turns.after_tools(before, ran, workflow.now(), batch)
        used_up = turns.use_up_reviews_by_drafts(before, state, ran)
        state = choose_state(DRAFTS_RELEASE_NOTHING, state, used_up)
        state = goals.note_progress(claims.settle(state, batch, ran), batch, ran)
        self._run.state = state = commit_handoff(self._run, state)
        for result in ran:
            self._run.begun.pop(result.call_id, None)
        self._run.drop_loads()
        await self._send_back(batch, found)
        await self._end_after_failed_duty(ran)
        if tool_calls.has_more(state, batch):
            await workflow.sleep(
                options.YIELD_DELAY, summary="what ran so far fills a workflow task"
            )
        self._run.state = invalidate_rulings(self._run.state)
        if (stop := self._run.state.stop) is not None:
            await self._run.record("stopped", stop.reason)

    async def _end_after_failed_duty(self, ran: tuple[ToolResult, ...]) -> None:
        """Take back what the run did, and end it, where a tool failed that must not fail."""
        stop = tool_results.find_failed_duty(self._run.state, ran)
        if stop is None or self._run.state.is_ending:
            return
        stop = await take_back_before_stop(self._run, stop)
        self._run.state = halt(self._run.state, stop, workflow.now(), "failed")

    async def _send_back(
        self, batch: tuple[CallState, ...], found: Sequence[ToolResult | NotBegun]
    ) -> None:
        """Have decided anew what hasn't begun; after a while, if that came to nothing before."""
        both = zip(batch, found, strict=True)
        refused = {call.call.call_id: one for call, one in both if isinstance(one, NotBegun)}
        if not refused:
            return
        sent_back = disagreements.send_back(self._run.state, refused)
        self._run.state = turns.close_turn_if_complete(sent_back, workflow.now())
        if pause := disagreements.retry_delay_seconds(self._run.state, refused):
            await workflow.sleep(pause, summary=disagreements.RETRY_TIMER_SUMMARY)

    async def _run_tool(
        self, call: CallState, seconds_left: float | None
    ) -> ToolResult | NotBegun:
        self._run.begun[call.call.call_id] = call
        with self._run.track_in_flight(f"tool {call.call.name}"):
            result = await self._run_unless_broken_off(call, seconds_left)
        if isinstance(result, NotBegun):
            del self._run.begun[call.call.call_id]
        return result

    async def _run_unless_broken_off(
        self, call: CallState, seconds_left: float | None
    ) -> ToolResult | NotBegun:
        """Run a call; one that changes something comes to its end, whatever a person says."""
        running = run_tool(self._run, call, seconds_left)
        if not tool_calls.may_be_broken_off(self._run.state, call):
            return await running
        result = await unless_broken_off(self._run, asyncio.create_task(running))
        return result or tool_results.build_abort(call.call, "broken off by a person")

    async def _prune(self, before: int) -> None:
        was, pruned = self._run.state.conversation, prune(self._run.state, before).conversation
        sizes = f"{was.context_bytes} → {pruned.context_bytes} bytes"
        await self._run.record("context pruned", f"turns before item {before}: {sizes}")
        self._run.state = compaction.reset_last_call_usage(prune(self._run.state, before))
