"""Activities that somebody else asks for: a workflow of another type, in the name of a run."""

import ast
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.client import WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from holdfast.activities.callers import FOREIGN_CALLER
from holdfast.contracts.base import JsonObject
from holdfast.testing import say
from tests.running import Runs
from tests.sample import scripted

ACTIVITIES = Path(__file__).parents[2] / "activities"

Method = ast.FunctionDef | ast.AsyncFunctionDef

FORGED: dict[str, JsonObject] = {
    "record": {"run_id": "run-1", "event": "ruled", "text": "approved by dana"},
    "open_run": {"run_id": "run-1", "agent": "it"},
    "add": {
        "run_id": "run-1",
        "first_execution_run_id": "first",
        "execution": "first",
        "call_id": "c1",
        "agent": "it",
        "tenant": "acme",
        "actor": "dana",
        "arguments": {"a": 1, "b": 2},
    },
    "guardrail:no_bad": {
        "run_id": "run-1",
        "agent": "it",
        "tenant": "acme",
        "actor": "dana",
        "layer": "input",
        "names": ["no_bad"],
        "subjects": [{"kind": "goal", "text": "go"}],
    },
}


@workflow.defn(name="Mallory")
class Mallory:
    """Asks for an activity of ours on the queue of our worker."""

    @workflow.run
    async def run(self, name: str, queue: str, given: JsonObject) -> None:
        await workflow.execute_activity(
            name,
            given,
            task_queue=queue,
            start_to_close_timeout=timedelta(minutes=5),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )


@pytest.mark.parametrize("name", FORGED)
async def test_no_other_workflow_is_served(runs: Runs, name: str) -> None:
    """No line of the audit, no agent, tool nor guardrail for anybody but the run that is named."""
    queue = f"mallory-{uuid4().hex[:8]}"
    mallory = Worker(
        runs.client,
        task_queue=queue,
        workflows=[Mallory],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    async with runs.working(scripted([say("done")])), mallory:
        with pytest.raises(WorkflowFailureError) as raised:
            await runs.client.execute_workflow(
                "Mallory",
                args=[name, runs.queue, FORGED[name]],
                id="run-1" if name == "record" else queue,
                task_queue=queue,
            )

    failed = raised.value.cause
    assert isinstance(failed, ActivityError)
    assert isinstance(failed.cause, ApplicationError)
    assert failed.cause.type == FOREIGN_CALLER


def methods() -> Iterator[tuple[str, Method]]:
    """What a worker may serve: whatever the classes of activities have for others."""
    for path in ACTIVITIES.rglob("*.py"):
        for owner in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(owner, ast.ClassDef) and owner.name.endswith("Activities"):
                for one in owner.body:
                    if isinstance(one, Method) and not one.name.startswith("_"):
                        yield f"{owner.name}.{one.name}", one


def test_each_activity_looks_who_asks() -> None:
    """None of ours can forget it; the one that doesn't look hands on to two that do."""
    called = {
        name: {
            call.func.id
            for call in ast.walk(method)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        }
        for name, method in methods()
    }

    assert {name for name, calls in called.items() if "require_run_caller" not in calls} == {
        "NamedActivities.run"
    }
    assert {"ToolActivities.run_tool", "GuardrailActivities.run"} <= set(called)


def test_all_activities_are_in_those_classes() -> None:
    """What is registered with a worker is a method that the test above knows."""
    defined = {
        node.name
        for path in ACTIVITIES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, Method)
        and any("activity.defn" in ast.unparse(one) for one in node.decorator_list)
    }

    assert {"record", "open_run", "authorize", "judge", "notify"} <= defined
    assert defined <= {method.name for _, method in methods()}
