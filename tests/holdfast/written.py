"""Histories that are written event by event: what takes days, or floods, in a real run."""

import base64
from datetime import timedelta

from pydantic import BaseModel, JsonValue
from pydantic_core import to_json
from temporalio.client import WorkflowHistory

from holdfast.contracts.approvals import RequestKind, Requirement, Verdict, Verdicts
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import AnyCall, ToolResult
from holdfast.contracts.control import ProviderWait
from holdfast.contracts.decisions import ApprovalRequired, AskUser, Ruling, Rulings, decision_of
from holdfast.contracts.journal import Journal, JournalEvent, RequestOpened
from holdfast.contracts.model import ModelPurpose
from holdfast.contracts.run import AgentSnapshot, RunInput
from holdfast.contracts.sessions.messages import SessionInput
from holdfast.contracts.state.run import RunState
from holdfast.run import turns
from holdfast.run.summaries import provider_timer_line
from holdfast.trace.reader import read_trace
from holdfast.trace.transcript import lines
from holdfast.trace.values import Trace
from tests.builders import EXECUTION, NOW, a_reply, a_state, an_invocation

QUEUE = "holdfast"
POLICY = "5f2d8c1e90ab34cd"
HOUR = 3600.0


class Written:
    """One execution of a run; the clock stands still unless it is told how long something took."""

    def __init__(
        self, begun: RunInput | SessionInput | RunState | None = None, *, passed: float = 0
    ) -> None:
        self.now = NOW + timedelta(seconds=passed)
        self._events: list[JsonValue] = []
        self._requests = 0
        self._turns = 0
        self._add(
            "WORKFLOW_EXECUTION_STARTED",
            workflowType={"name": "AgentRun"},
            workflowId="run-1",
            firstExecutionRunId="first",
            input=payloads(begun or RunInput(agent="it", input="go", actor="ann")),
        )

    @property
    def history(self) -> WorkflowHistory:
        """What the server has of it."""
        return WorkflowHistory.from_json("run-1", {"events": self._events})

    def passes(self, **time: float) -> None:
        """Let time pass."""
        self.now += timedelta(**time)

    def opened(self, agent: AgentSnapshot) -> None:
        self._marker("open_run", agent)

    def asked(self, *calls: AnyCall) -> None:
        """Have the model ask for these calls."""
        self._turn()
        number = self._scheduled("call_model", {})
        self._completed(number, a_reply(*calls))

    def answered(self, text: str, *, purpose: ModelPurpose = "turn") -> None:
        """Have the model answer, plan or sum up."""
        asked = turns.build_model_call(a_state(), "scripted:it", purpose)
        number = self._scheduled("call_model", asked.model_copy(update={"turn": self._turn()}))
        self._completed(number, a_reply(text=text))

    def waits_for_provider(self, wait: ProviderWait) -> None:
        """Have the last model fail, and the run wait before it asks it again."""
        asked = turns.build_model_call(a_state(), wait.model, "turn")
        number = self._scheduled("call_model", asked.model_copy(update={"turn": self._turn()}))
        self._add(
            "ACTIVITY_TASK_FAILED",
            scheduledEventId=str(number),
            failure={"message": wait.error, "applicationFailureInfo": {"type": wait.kind}},
        )
        seconds = (wait.until - self.now).total_seconds()
        line = provider_timer_line(wait)
        self._add("TIMER_STARTED", summary=line, startToFireTimeout=f"{seconds:g}s")

    def _turn(self) -> int:
        """The number of the next turn."""
        self._turns += 1
        return self._turns

    def ruled(self, *rulings: Ruling, policy: str = POLICY) -> None:
        """Have calls decided; people are asked where that is decided."""
        self._marker("authorize", Rulings(rulings=rulings, policy=policy, execution=EXECUTION))
        for ruling in rulings:
            match decision_of(ruling):
                case ApprovalRequired() as asked:
                    required = Requirement.model_validate(asked.model_dump())
                    lasts = asked.expires_after or HOUR
                    self.asks("approval", asked.reason, ruling.call_id, required, lasts=lasts)
                case AskUser(question=question):
                    self.asks("question", question, ruling.call_id)
                case _:
                    continue

    def asks(
        self,
        kind: RequestKind,
        reason: str,
        call_id: str = "",
        required: Requirement | None = None,
        *,
        subject: str = "",
        lasts: float = HOUR,
        shows_answer: bool = False,
    ) -> None:
        """Have the run wait for people."""
        self._requests += 1
        opened = RequestOpened(
            request_id=f"req-{self._requests}",
            kind=kind,
            reason=reason,
            requested_at=self.now,
            expires_at=self.now + timedelta(seconds=lasts),
            call_id=call_id,
            subject=subject,
            required=required,
            shows_answer=shows_answer,
        )
        self.tells(opened)

    def tells(self, *events: JournalEvent) -> None:
        """Have the run write what happened into its journal."""
        summary = f"{events[0].type}: something"
        self._marker("record", Journal(events=events), summary=summary)

    def recorded(self, event: str, text: str) -> None:
        self._marker("record", None, summary=f"{event}: {text}")

    def said(self, signal: str, words: JsonValue) -> None:
        """Have somebody send a signal."""
        self._add(
            "WORKFLOW_EXECUTION_SIGNALED",
            signalName=signal,
            input=payloads(words),
            identity="client@somewhere",
        )

    def judged(self, *verdicts: Verdict) -> None:
        self._marker("judge", Verdicts(verdicts=verdicts, execution=EXECUTION))

    def looks_for(self, summary: str, seconds: int) -> None:
        """Have the run look for a worker that has what the one before lacked, for so long."""
        self._scheduled("find_worker", None, summary=summary, limit=f"{seconds}s")

    def runs(self, tool: str, result: ToolResult | None = None, **invocation: object) -> None:
        """Have a tool run; without a result it is cut off after four seconds."""
        given = an_invocation(run_id="run-1", **invocation)
        queue = f"{QUEUE}-sandbox" if given.grant is not None else QUEUE
        number = self._scheduled(tool, given, queue)
        self.passes(milliseconds=12 if result else 4000)
        if result is not None:
            self._completed(number, result)
            return
        timeout: JsonObject = {"timeoutType": "TIMEOUT_TYPE_HEARTBEAT"}
        self._add(
            "ACTIVITY_TASK_TIMED_OUT",
            scheduledEventId=str(number),
            failure={"message": "cut off", "timeoutFailureInfo": timeout},
        )

    def _scheduled(
        self, name: str, given: object, queue: str = QUEUE, summary: str = "", limit: str = "0s"
    ) -> int:
        number = self._add(
            "ACTIVITY_TASK_SCHEDULED",
            summary=summary,
            scheduleToCloseTimeout=limit,
            activityType={"name": name},
            taskQueue={"name": queue},
            input=payloads(given),
        )
        self._add("ACTIVITY_TASK_STARTED", scheduledEventId=str(number), attempt=1)
        return number

    def _completed(self, number: int, result: object) -> None:
        self._add("ACTIVITY_TASK_COMPLETED", scheduledEventId=str(number), result=payloads(result))

    def _marker(self, name: str, result: object, summary: str = "") -> None:
        seconds = self.now.timestamp()
        done: JsonObject = {
            "activity_type": name,
            "attempt": 1,
            "complete_time": {"seconds": int(seconds), "nanos": int(seconds % 1 * 1e9)},
        }
        self._add(
            "MARKER_RECORDED",
            summary=summary,
            markerName="core_local_activity",
            details={"data": payloads(done), "result": payloads(result)},
        )

    def _add(self, type_: str, *, summary: str = "", **attributes: JsonValue) -> int:
        first, *others = type_.lower().split("_")
        name = first + "".join(word.capitalize() for word in others)
        number = len(self._events) + 1
        event: JsonObject = {
            "eventId": str(number),
            "eventTime": self.now.isoformat().replace("+00:00", "Z"),
            "eventType": f"EVENT_TYPE_{type_}",
            f"{name}EventAttributes": attributes,
        }
        if summary:
            event["userMetadata"] = {"summary": payload(summary)}
        self._events.append(event)
        return number


def read(*executions: Written) -> Trace:
    """The trace of a run."""
    return read_trace([one.history for one in executions])


def told(trace: Trace) -> list[str]:
    """The lines below the calls: rules, drafts, waits, refusals and results."""
    found = list(map(str, lines(trace)))
    return [line for line in found if line.startswith("  ") and not line.startswith("  call")]


def payload(value: object) -> JsonObject:
    """A value as the server keeps it."""
    content = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return {
        "metadata": {"encoding": base64.b64encode(b"json/plain").decode()},
        "data": base64.b64encode(to_json(content)).decode(),
    }


def payloads(value: object) -> JsonObject:
    return {"payloads": [payload(value)]}
