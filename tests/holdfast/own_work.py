"""What a run does for itself is in its trace: guardrails, undoing, notices, projects, children."""

from pydantic import BaseModel

from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.guardrails import (
    GuardrailResult,
    GuardrailSpec,
    GuardrailVerdict,
    GuardrailVerdicts,
    RunGuardrails,
    Subject,
)
from holdfast.contracts.run import RunInput, RunResult
from holdfast.contracts.usage import UsageMetrics
from holdfast.trace.reader import TraceReader
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import Span
from holdfast.trace.transcript import Progress, lines
from holdfast.trace.values import Trace
from tests.builders import (
    an_agent,
)
from tests.holdfast.written import Written, payloads

GOAL = Subject(kind="goal", text="pay everybody")
PASSED = GuardrailResult()
TRIPPED = GuardrailResult(tripwire_triggered=True, reason="an address is in it")
SKIPPED = GuardrailResult(applicable=False, reason="there is no code")
SPECS = (
    GuardrailSpec(name="pii_detection", layer="input", on_trip="block", local=True),
    GuardrailSpec(name="scope", layer="input", on_trip="ask", local=True),
    GuardrailSpec(name="secrets", layer="output", on_trip="retry"),
    GuardrailSpec(name="tests_pass", layer="post_action", on_trip="retry", command=("pytest",)),
    GuardrailSpec.model_validate(
        {
            "name": "house_style",
            "layer": "post_action",
            "on_trip": "retry",
            "review": {"count": 2, "groups": ["leads"], "expires_after": 7200},
        }
    ),
)


def verdict(name: str, found: GuardrailResult, subject: Subject = GOAL) -> GuardrailVerdict:
    return GuardrailVerdict(
        **found.model_dump(), guardrail=name, subject=digest(subject.model_dump(mode="json"))
    )


def a_result(**changes: object) -> RunResult:
    fields: dict[str, object] = {
        "status": "completed",
        "answer": "done",
        "stop": None,
        "steps": 1,
        "usage": UsageMetrics(),
        "provider_state": None,
        "confidence": None,
        "model": "scripted:it",
    }
    return RunResult.model_validate({**fields, **changes})


class Worked(Written):
    """An execution of a run that does something for itself."""

    def __init__(self) -> None:
        super().__init__()
        self.opened(an_agent(guardrails=SPECS))

    def ran(self, name: str, given: BaseModel, result: BaseModel | None) -> None:
        """Have an activity run for 12 milliseconds, and end well."""
        number = self._scheduled(name, given)
        self.passes(milliseconds=12)
        self._completed(number, result)

    def broke(self, name: str, given: BaseModel, message: str, *, cancelled: bool = False) -> None:
        """Have an activity fail."""
        number = self._scheduled(name, given)
        self.passes(milliseconds=12)
        if cancelled:
            self._add("ACTIVITY_TASK_CANCELED", scheduledEventId=str(number))
            return
        info: JsonObject = {"applicationFailureInfo": {"type": "Broken"}}
        failure: JsonObject = {"message": message, **info}
        self._add("ACTIVITY_TASK_FAILED", scheduledEventId=str(number), failure=failure)

    def looked_here(self, name: str, *verdicts: GuardrailVerdict, layer: str = "input") -> None:
        """Have quick guardrails look, inside the workflow task."""
        found = GuardrailVerdicts(verdicts=verdicts)
        self._marker(f"guardrail:{name}", found, summary=f"{layer}: {name}")

    def looked(self, *verdicts: GuardrailVerdict) -> None:
        """Have a guardrail look at the answer, in an activity of its own."""
        name = verdicts[0].guardrail
        self.ran(f"guardrail:{name}", looking(name), GuardrailVerdicts(verdicts=verdicts))

    def begot(self, agent: str, goal: str, part: str) -> int:
        """Have a child run begin."""
        child: JsonObject = {"workflowId": f"run-1.{part}", "runId": "r"}
        number = self._add(
            "START_CHILD_WORKFLOW_EXECUTION_INITIATED",
            workflowId=f"run-1.{part}",
            workflowType={"name": "AgentRun"},
            input=payloads(RunInput(agent=agent, input=goal)),
        )
        self._add(
            "CHILD_WORKFLOW_EXECUTION_STARTED",
            initiatedEventId=str(number),
            workflowExecution=child,
        )
        return number

    def child(self, end: str, number: int, **attributes: JsonObject | str) -> None:
        """Have a child run end."""
        self.passes(seconds=3)
        self._add(end, summary="", initiatedEventId=str(number), **attributes)

    def garbled(self, name: str) -> None:
        """Have an activity run of which nothing can be read but that it did."""
        self._completed(self._scheduled(name, "?"), "?")


def looking(name: str) -> RunGuardrails:
    return RunGuardrails(
        run_id="run-1",
        agent="it",
        tenant="acme",
        actor="alice",
        layer="output",
        names=(name,),
        subjects=(Subject(kind="answer", text="done"),),
    )


def shown(trace: Trace) -> list[str]:
    """The transcript without its heading."""
    return [str(line) for line in lines(trace)][2:]


def watched(*executions: Written) -> list[str]:
    """What somebody reads who watches the run event by event."""
    reader, progress = TraceReader(), Progress()
    found: list[str] = []
    for execution in executions:
        for event in execution.history.events:
            reader.read(event)
            found += map(str, progress.fresh(reader.trace))
    return found[2:]


def spans(trace: Trace, kind: str) -> list[Span]:
    """Return the spans of one type, without those of guardrails that never looked."""
    found = (span for span in span_tree(trace).spans if span.type == kind)
    return [span for span in found if span.attributes.get("looked", True)]
