"""The runs of a namespace: starting them, finding them, and what waits in them for people."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterable
from datetime import timedelta
from typing import Literal, NamedTuple, Self, TypedDict, Unpack

from pydantic import JsonValue
from temporalio.client import Client
from temporalio.common import WorkflowIDReusePolicy
from temporalio.converter import PayloadCodec
from temporalio.exceptions import WorkflowAlreadyStartedError

from holdfast import connection
from holdfast.activities.runs import has_workers
from holdfast.client.listing import (
    ACTIVE,
    FAILED,
    STATUSES,
    MayWait,
    RunEntry,
    SessionEntry,
    Wanted,
    find_runs,
    find_sessions,
    find_waiting,
)
from holdfast.client.messages import build
from holdfast.client.rpc_errors import START_A_WORKER, describe_pause
from holdfast.client.run import Run
from holdfast.client.session import Session, SessionOptions, build_session
from holdfast.client.spans import read_spans
from holdfast.contracts.approvals import Request
from holdfast.contracts.budget import Budget
from holdfast.contracts.control import RetryOf
from holdfast.contracts.errors import HoldfastError, NoWorker
from holdfast.contracts.model import Strategy
from holdfast.contracts.patterns import RUN_ID_RULE, Pattern, is_run_id
from holdfast.contracts.run import TASK_QUEUE, WORKFLOW_TYPE, RunInput
from holdfast.contracts.texts import shorten
from holdfast.run.requests import is_for_group
from holdfast.run.summaries import summarise_run
from holdfast.trace.spans.values import SpanTree
from holdfast.trace.values import TraceStatus
from holdfast.workflows.execution.search_attributes import SUMMARY

TASK_TIMEOUT = timedelta(seconds=3)
"""
How long Temporal waits for a worker to answer a workflow task before it asks another one. It is
how long a run stands still when its worker is killed; the usual 10 seconds would be felt.
"""

MAX_CONCURRENT_QUERIES, MAX_CONCURRENT_OF_QUEUE = 100, 20
"""Open runs that are asked at the same time, in all and of one task queue."""

ANSWER_SECONDS = 10.0
"""Until one of them has told all that waits in it, for which it may be asked more than once."""

SILENCE_SECONDS = 9.0
"""How long is waited in all for runs that nobody answers for; no more are asked then."""

MAX_LISTED_RUNS = 10_000
"""Of one list; whoever wants more of them wants a filter."""

MAX_QUEUE_CHARS = 1000
"""What a server takes as the name of a task queue."""

_TRACE_ID = Pattern("[0-9a-fA-F]{32}")

# Without letters and digits that look alike.
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"


class StartOptions(TypedDict, total=False):
    """What else a run is started with; each is a field of its input (docs/plain_client.md)."""

    tenant: str | None
    actor: str | None
    session_id: str | None
    strategy: Strategy | None
    task_kind: str | None
    domain: str | None
    metadata: dict[str, JsonValue] | None
    budget: Budget | None
    stream: bool | None
    models: tuple[str, ...]
    mode: Literal["plan"] | None
    regulated: bool


class PendingRequest(NamedTuple):
    """A request that waits, and the run in which it does."""

    run: Run
    request: Request


class Holdfast:
    """The runs of one namespace, over a Temporal client, wherever that was made."""

    def __init__(self, client: Client) -> None:
        self.client = client

    @classmethod
    async def connect(cls, *, codec: PayloadCodec | None = None) -> Self:
        """
        Connect to the server that Temporal's own variables or configuration file name.

        A *codec* reads and writes what a server shall not; workers have the same. Raises
        HoldfastError when nothing answers.
        """
        return cls(await connection.connect(codec))

    def run(self, run_id: str) -> Run:
        """Return a run by its id, whether it exists or not."""
        return Run(self.client, run_id)

    def session(
        self,
        id: str | None = None,
        *,
        agent: str,
        queue: str = TASK_QUEUE,
        **options: Unpack[SessionOptions],
    ) -> Session:
        """
        Return a session by its id, open or not; without an *id* a new one.

        What is said opens it. Raises HoldfastError for an id or an option that no session has.
        """
        session_id = fresh_id("session") if id is None else id
        if not is_run_id(session_id):
            raise HoldfastError(f"{RUN_ID_RULE}: choose another id than {session_id!r}")
        return build_session(self.client, queue, session_id, agent, options)

    async def sessions(self, *, limit: int = 20) -> list[SessionEntry]:
        """Return the latest sessions, open and closed."""
        return await find_sessions(self.client, limit)

    async def start(
        self,
        agent: str,
        input: str,
        *,
        id: str | None = None,
        queue: str = TASK_QUEUE,
        **options: Unpack[StartOptions],
    ) -> Run:
        """
        Start a run on the task queue of its app; without an *id* it gets one.

        Raises HoldfastError if a run has this id, or the input can't be used.
        """
        run_id = fresh_id() if id is None else id
        if not is_run_id(run_id):
            raise HoldfastError(f"{RUN_ID_RULE}: choose another id than {run_id!r}")
        if not (_is_text(queue) and 0 < len(queue) <= MAX_QUEUE_CHARS):
            raise HoldfastError(f"a task queue has 1 to {MAX_QUEUE_CHARS} characters")
        brief = build(RunInput, agent=agent, input=input, **options)
        try:
            return await self.start_with(brief, run_id, queue)
        except WorkflowAlreadyStartedError:
            raise HoldfastError(f"there is a run {run_id!r} already: choose another id") from None

    async def start_with(self, brief: RunInput, run_id: str, queue: str) -> Run:
        """Start a run; raises WorkflowAlreadyStartedError where its id is taken."""
        has_codec = self.client.data_converter.payload_codec is not None
        if brief.regulated and not has_codec:
            raise HoldfastError(
                "a regulated run is started with its app's codec: Holdfast.connect(codec=...)"
            )
        goal = brief.input or _describe_earlier(brief.retry_of)
        # Whether the agent is regulated nobody knows here: the run says the rest of it by itself.
        summary = summarise_run(brief.agent, run_id if has_codec else goal)
        handle = await self.client.start_workflow(
            WORKFLOW_TYPE,
            # Limits that were not given must not be sent: those of the agent hold.
            brief.model_dump(mode="json", exclude_unset=True),
            id=run_id,
            task_queue=queue,
            task_timeout=TASK_TIMEOUT,
            # People look at a run, and decide about it, by its id: no second one may have it.
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            static_summary=summary,
            memo={SUMMARY: summary},
        )
        return Run(self.client, run_id, handle.result_run_id)

    async def runs(
        self,
        *,
        status: TraceStatus | frozenset[TraceStatus] | None = None,
        agent: str | None = None,
        tenant: str | None = None,
        waiting_for: str | None = None,
        trace_id: str | None = None,
        limit: int = 20,
    ) -> list[RunEntry]:
        """
        Return the latest runs of a status, an agent, a tenant, or that wait for something.

        *waiting_for* is a group, a kind of request or a tool. A *status* may be one of several:
        `ACTIVE` and `FAILED` of `holdfast.client` are the runs that are not over, and those that
        ended without an answer. A *trace_id* is of one run or session. Raises HoldfastError where
        the server lacks the search attributes by which they are found, and for what can't be asked
        for: a *limit* below 1, or a name that is no text.
        """
        _require_texts(agent=agent, tenant=tenant, waiting_for=waiting_for, trace_id=trace_id)
        if trace_id is not None and not _TRACE_ID.fits(trace_id):
            raise HoldfastError(
                f"a trace has 32 hexadecimal digits, and not {shorten(trace_id)!r}"
            )
        if not 1 <= limit <= MAX_LISTED_RUNS:
            raise HoldfastError(f"a list has 1 to {MAX_LISTED_RUNS:,} runs, and not {limit!r}")
        if status not in (None, ACTIVE, FAILED, *STATUSES):
            raise HoldfastError(f"{status!r} is none of {', '.join(STATUSES)}")
        wanted = Wanted(status, agent, tenant, waiting_for, trace_id)
        return await find_runs(self.client, wanted, limit)

    async def pending(
        self, *, group: str | None = None, tenant: str | None = None
    ) -> AsyncGenerator[PendingRequest]:
        """
        Yield what waits for people in open runs; of a *group*, what its members may decide.

        A server without search attributes is asked for every open run. Raises NoWorker at its end,
        which names the runs that nobody answered for, and those that are paused in Temporal.
        """
        _require_texts(group=group, tenant=tenant)
        silent: list[str] = []
        may_wait = await find_waiting(self.client, group, tenant)
        left = [one for one in may_wait if not one.is_paused]
        worked_for = await self._find_worked_for({one.queue for one in left})
        waited = 0.0
        while batch := _next_batch(one for one in left if one.queue in worked_for):
            if waited > SILENCE_SECONDS:
                break
            began = time.monotonic()
            answers = await asyncio.gather(*(self._ask(one, tenant) for one in batch))
            waited += time.monotonic() - began if None in answers else 0
            for one, found in zip(batch, answers, strict=True):
                if found is None:
                    silent.append(one.run_id)
                for request in found or ():
                    if not request.run_id and (group is None or is_for_group(request, group)):
                        yield PendingRequest(self.run(one.run_id), request)
            left = [one for one in left if one not in batch]
        silent += [one.run_id for one in left]
        lines = [describe_pause(one.run_id) for one in may_wait if one.is_paused]
        if silent:
            lines.append(f"no worker answers for {', '.join(silent)}: {START_A_WORKER}")
        if lines:
            raise NoWorker("; ".join(lines))

    async def trace(self, run_id: str, *, reasoning: bool = False) -> SpanTree:
        """
        Return the spans of a run, over or not, and of those that did a part of it, as one tree.

        With *reasoning* it has what models wrote to reason. No worker is needed. Raises
        HoldfastError where there is no such run.
        """
        return await read_spans(self.client, run_id, reasoning=reasoning)

    async def has_workers(self, queue: str) -> bool:
        """Whether a worker asks for work on a task queue, or the server doesn't say."""
        return await has_workers(self.client, queue)

    async def _find_worked_for(self, queues: Collection[str]) -> set[str]:
        """Return the task queues on which a worker asks for work."""
        found = await asyncio.gather(*map(self.has_workers, queues))
        return {queue for queue, is_worked_for in zip(queues, found, strict=True) if is_worked_for}

    async def _ask(self, one: MayWait, tenant: str | None) -> tuple[Request, ...] | None:
        """Ask an open run what waits in it: null if nobody answers, nothing if another's."""
        run = self.run(one.run_id)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                of_tenant = tenant is None or one.of_tenant
                if not of_tenant and (await run.status()).tenant != tenant:
                    return ()
                return await run.pending()
        except (NoWorker, TimeoutError):
            return None
        except HoldfastError:
            return ()  # it was deleted since it was listed


def _next_batch(waiting: Iterable[MayWait]) -> set[MayWait]:
    """Return who is asked next: some of each queue, so that none delays the others."""
    counts = Counter[str]()
    found = set[MayWait]()
    for one in waiting:
        if len(found) < MAX_CONCURRENT_QUERIES and counts[one.queue] < MAX_CONCURRENT_OF_QUEUE:
            counts[one.queue] += 1
            found.add(one)
    return found


def _require_texts(**named: object) -> None:
    """Raise HoldfastError unless each is a text, or null."""
    for name, value in named.items():
        if value is not None and not _is_text(value):
            raise HoldfastError(f"{name} is a text, and not {value!r}")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def fresh_id(kind: str = "run") -> str:
    """Return an id for a run that nobody has named, which can be read out aloud."""
    return f"{kind}-" + "".join(secrets.choice(_ALPHABET) for _ in range(7))


def _describe_earlier(retry_of: RetryOf | None) -> str:
    if retry_of is None or retry_of.turn is None:
        return f"{retry_of.run_id} once more" if retry_of else ""
    return f"{retry_of.run_id} from turn {retry_of.turn} on"
