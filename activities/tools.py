"""One dynamic activity runs every tool, so that each shows in history under its own name."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import NamedTuple

from pydantic import JsonValue
from structlog.contextvars import bind_contextvars
from temporalio import activity
from temporalio.common import RawValue

from holdfast.activities.authority.authorities import AuthorityFile
from holdfast.activities.authority.basis import Basis
from holdfast.activities.authority.late_calls import LateCalls
from holdfast.activities.callers import (
    build_hand_back,
    build_not_as_decided_error,
    require_app,
    require_run_caller,
    require_same_basis,
    require_same_execution,
)
from holdfast.activities.heartbeats import Heartbeater
from holdfast.activities.kill_switch.switches import KillSwitch
from holdfast.activities.secret_filter import SecretFilter
from holdfast.contracts.bounds import CLEARING_TIMEOUT
from holdfast.contracts.calls import ToolFailure, ToolInvocation, ToolResult, ToolSuccess
from holdfast.contracts.errors import HoldfastError, NotNow, ToolDenied, ToolError
from holdfast.contracts.tools import Risk
from holdfast.policy.switches import describe_switch, find_switch
from holdfast.tools.artifacts import ArtifactStore
from holdfast.tools.context import Admission, SpanLog
from holdfast.tools.execution import Executor, read_arguments
from holdfast.tools.fair_threads import TENANT, FairThreads
from holdfast.tools.large_json import look_through
from holdfast.tools.redaction import Redactor
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.results import (
    Results,
    failure,
    success_without_content,
    unknown_outcome,
    unreadable,
)
from holdfast.tools.sharing.room import RESULT_ROOM, NoRoom
from holdfast.tools.tool import Tool

# A disk may hang: nobody waits for it of whose result nothing is kept there.
_KEEPERS = FairThreads(4, "keep-result")


_UNTOLD = "it says why, and its worker was too busy to clear that of secrets"


class _NotAdmitted(ToolDenied):
    """A call didn't begin, as its worker says: these are no words of a tool."""


class _Outdated(ToolDenied):
    """A call didn't begin: what it was allowed by has changed while its place was made ready."""


class _Late(ToolDenied):
    """A call didn't begin, because it waited in its queue and may not begin any more."""


class BeginsBy(NamedTuple):
    """By what calls begin: what their worker decides by, what is off, and their runs, if late."""

    basis: Basis
    switches: KillSwitch
    late_calls: LateCalls


class ToolActivities:
    """Runs the tools of an app in one place: the worker, or its sandbox."""

    def __init__(
        self,
        registry: ToolRegistry,
        place: Executor,
        artifacts: ArtifactStore,
        redactor: Redactor,
        begins_by: BeginsBy,
    ) -> None:
        self._registry = registry
        self._place = place
        self._artifacts = artifacts
        self._redactor = redactor
        self._basis, self._switchboard, self._late_calls = begins_by
        self._authorities = AuthorityFile(self._basis.policy.authorities)

    @activity.defn(dynamic=True)
    async def run_tool(self, payloads: Sequence[RawValue]) -> ToolResult:
        """
        Run the tool whose name is the activity's type.

        What the tool refuses is a result. What it raises is a failure of the activity, which
        Temporal repeats if the tool changes nothing. A time-out is a failure that isn't repeated.
        What this worker has no code for it hands back.
        """
        name = activity.info().activity_type
        converter = activity.payload_converter()
        invocation = converter.from_payload(payloads[0].payload, ToolInvocation)
        require_run_caller(invocation.run_id)
        bind_contextvars(call_id=invocation.call_id)
        TENANT.set(invocation.tenant)
        if invocation.purpose != "reconcile":  # which begins nothing
            require_same_execution(invocation.allowed_in)
        require_app(invocation.app, self._basis.app)
        tool = self._registry.get(name)
        if tool is None:
            raise build_hand_back(f"this worker has no tool {name!r}")
        if unknown := await self._check_basis(tool, invocation):
            return unknown
        withholds = self._makes_secrets(tool, invocation)
        async with Heartbeater() as heartbeater:
            spans = SpanLog(withholds=withholds)
            secret_filter = SecretFilter(self._redactor, withholds=withholds)
            hear = partial(_hear, heartbeater, spans, secret_filter)
            admit = partial(self._admit, tool, invocation, heartbeater, monotonic())
            result = await self._result(tool, invocation, hear, secret_filter, admit)
            RESULT_ROOM.free()  # what goes on is small, and may wait
            told = await secret_filter.redact_spans(invocation.run_id, spans.kept)
            return result.with_(spans=told) if told else result

    async def _check_basis(self, tool: Tool, invocation: ToolInvocation) -> ToolFailure | None:
        """
        Let nothing begin that was allowed by something else than what this worker decides by.

        To take back what was allowed, and to find out what happened, stays allowed for good; but
        only to a tool of the same class. Where an earlier attempt went before, which another
        worker took for harmless, nobody knows what it has done.
        """
        present, risk = await self._find_basis(tool, invocation), tool.contract.risk
        if (
            invocation.basis != present
            and activity.info().attempt > 1
            and not risk.changes_nothing
        ):
            return unknown_outcome(invocation, tool.contract.name)
        require_same_basis(invocation.basis, present)
        return None

    async def _find_basis(
        self, tool: Tool, invocation: ToolInvocation, waited: float = 0.0
    ) -> str:
        """Return what a call has to be allowed by, as things stand when it has *waited*."""
        if invocation.purpose in {"undo", "reconcile"}:
            return tool.contract.risk
        now = activity.info().started_time + timedelta(seconds=waited)
        standing = await self._authorities.find_standing(now)
        basis = self._basis._replace(authorities=standing)
        return basis.digest(tool, for_another=invocation.purpose in {"draft", "prepare"})

    async def _result(
        self,
        tool: Tool,
        invocation: ToolInvocation,
        hear: Callable[[JsonValue], None],
        secret_filter: SecretFilter,
        admit: Admission,
    ) -> ToolResult:
        name = tool.contract.name
        try:
            with secret_filter:
                await admit()
                content = await self._place.run(tool, invocation, hear, admit)
        except NoRoom:
            return success_without_content(invocation, name)
        except _Outdated as error:
            unknown = await self._check_basis(tool, invocation)
            return unknown or failure(invocation, name, error)
        except _Late as error:
            # What is taken back was decided when it was done: it is tried until it may begin.
            again = build_hand_back if invocation.purpose == "undo" else build_not_as_decided_error
            raise again(error.reason) from None
        except ToolError as error:
            by_tool = not isinstance(error, _NotAdmitted | NotNow)
            return await self._refuse(invocation, name, secret_filter, error, by_tool=by_tool)
        try:
            async with asyncio.timeout(CLEARING_TIMEOUT.total_seconds()):
                return await self._tell(tool, invocation, content, secret_filter)
        except TimeoutError:
            return success_without_content(invocation, name)

    async def _refuse(
        self,
        invocation: ToolInvocation,
        name: str,
        secret_filter: SecretFilter,
        error: ToolError,
        *,
        by_tool: bool,
    ) -> ToolFailure:
        """Tell why a call did nothing, without secrets."""
        clearing = secret_filter.redact_refusal(invocation.run_id, error, by_tool=by_tool)
        try:
            async with asyncio.timeout(CLEARING_TIMEOUT.total_seconds()):
                return failure(invocation, name, await clearing)
        except TimeoutError:
            error.reason, error.next_valid_actions = _UNTOLD, ()
            return failure(invocation, name, error)

    async def _tell(
        self, tool: Tool, invocation: ToolInvocation, content: bytes, secret_filter: SecretFilter
    ) -> ToolSuccess:
        """Tell what a call returned that is done, without secrets."""
        cleared = await secret_filter.redact(invocation.run_id, content)
        if cleared is None:
            return unreadable(invocation, tool.contract.name)
        most = invocation.limit_chars(tool.contract.max_result_chars)
        contract = tool.contract.with_(max_result_chars=most)
        results = Results(invocation, contract, self._artifacts)
        run_id = invocation.run_id
        if not tool.is_two_part and await look_through(run_id, cleared, results.fits):
            result = await look_through(run_id, cleared, results.build)
        else:
            build = _choose_build(results, tool, invocation)
            result = await _KEEPERS.run(run_id, partial(build, cleared))
        return secret_filter.redact_summary(result)

    async def _admit(
        self, tool: Tool, invocation: ToolInvocation, heartbeater: Heartbeater, began: float
    ) -> None:
        """
        Let nothing begin that is switched off; who finds out what happened may, changing nothing.

        It is asked before anything is made ready, and again when that is: a sandbox takes seconds
        to start on a busy machine, and somebody may switch the tool off meanwhile.

        What a tool did that has been switched off since can be taken back: its undo is a tool with
        a switch of its own. An undo that is switched off itself, or whose agent is, doesn't run,
        nor one that fills in here what was never ruled on: a default of another release. Nor does
        who finds out: it would look for something else than was done.

        Nor does what changes something begin, or what is loaded for a handoff, that waited in its
        queue while what it was sent by came to an end.

        Nor does a write begin that the server may have given up: it may be known as not done by
        now, or done by another worker.

        A dry run has its calls answered before anybody rules on them; what comes as far as here
        begins all the same nothing.
        """
        if invocation.dry:
            raise _NotAdmitted("this run is dry: no tool runs")
        if invocation.purpose in {"undo", "reconcile"} and await read_arguments(
            invocation, partial(_leaves_out, tool, invocation)
        ):
            raise _NotAdmitted("it takes more here than what was ruled on with its call")
        if invocation.purpose == "reconcile" and tool.contract.risk.changes_nothing:
            return
        # Before the switches: the run may take its time to answer. Reads come by hundreds, which
        # would all ask, and keep each other waiting.
        asks = invocation.purpose != "call" or not tool.contract.risk.changes_nothing
        waited = monotonic() - began
        if asks and (objection := await self._late_calls.find_objection(invocation, waited)):
            raise _Late(objection)
        if await self._find_basis(tool, invocation, monotonic() - began) != invocation.basis:
            raise _Outdated("what allowed it stands no more", ("ask for it again",))
        try:
            switches = await self._switchboard.current()
        except HoldfastError as error:
            # Nothing has begun: the model may ask again, and nobody need wonder what happened.
            raise NotNow(str(error)) from error
        agents = (invocation.agent, *invocation.path)
        switch = find_switch(switches, tool.contract.name, agents, invocation.tenant)
        if switch is not None:
            raise _NotAdmitted(
                describe_switch(switch),
                ("go on without it", "tell the user what you would have done"),
            )
        # Last: whoever waited for the switches may have been given up meanwhile.
        if not tool.contract.risk.changes_nothing and await heartbeater.is_given_up():
            raise _NotAdmitted(
                "nobody may wait for it any more: its worker stood still or was cut off meanwhile",
                ("ask for it again later", "go on without it"),
            )

    def _makes_secrets(self, tool: Tool, invocation: ToolInvocation) -> bool:
        """Whether nothing that a call says may leave: it may have made a secret just now."""
        name = tool.contract.name
        return tool.contract.risk is Risk.IDENTITY_ACCESS or (
            invocation.purpose in {"reconcile", "undo"}
            and any(
                name in {other.reconcile, other.undo} and other.risk is Risk.IDENTITY_ACCESS
                for other in self._registry.contracts()
            )
        )


def _choose_build(
    results: Results, tool: Tool, invocation: ToolInvocation
) -> Callable[[bytes], ToolSuccess]:
    if invocation.purpose == "reconcile":
        return results.build_finding
    return results.build_two_parts if tool.is_two_part else results.build


def _leaves_out(tool: Tool, invocation: ToolInvocation) -> bool:
    return tool.fill_defaults(invocation.arguments) != invocation.arguments


def _hear(
    heartbeater: Heartbeater, spans: SpanLog, secret_filter: SecretFilter, report: JsonValue
) -> None:
    """Take what a tool reports: a span of its work, or what the next heartbeat tells."""
    if not spans.take(report):
        heartbeater.report(secret_filter.redact_report(report))
