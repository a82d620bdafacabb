"""Guardrails that look at one subject, as their activity has them do it."""

from collections.abc import Sequence

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from holdfast.activities.guardrails import GuardrailActivities
from holdfast.contracts.guardrails import GuardrailVerdict, RunGuardrails, Subject
from holdfast.guardrails.definition import Guardrail
from holdfast.tools.redaction import Redactor
from tests.asking import in_run
from tests.leaving import leaving

SECRET = "hush-hush-hush"


class KnownHolders:
    """Holders of the resources that it was told; of nothing else anybody can tell."""

    def __init__(self, **held: tuple[str, ...] | None) -> None:
        self._held = held
        self.asked: list[tuple[str, str, str]] = []

    async def find_earlier_holders(
        self, run_id: str, tenant: str, resource: str
    ) -> tuple[str, ...] | None:
        self.asked.append((run_id, tenant, resource))
        return self._held.get(resource.replace(":", "_"))


def activities(
    guardrails: Sequence[Guardrail], holders: KnownHolders | None = None
) -> GuardrailActivities:
    return GuardrailActivities(guardrails, holders or KnownHolders(), _redactor())


async def looked(
    guardrail: Guardrail,
    subject: Subject,
    holders: KnownHolders | None = None,
    **asked: JsonValue,
) -> GuardrailVerdict:
    """Return the verdict of a guardrail about a subject."""
    given = asking(guardrail, subjects=(subject,), **asked)
    answer = await in_run("run-1").run(activities([guardrail], holders).run, given)
    return answer.verdicts[0]


async def left(guardrail: Guardrail, subject: Subject) -> ApplicationError:
    """Return the failure of a guardrail as it leaves its worker."""
    work, asked = activities([guardrail]).run, asking(guardrail, subjects=(subject,))
    with pytest.raises(ApplicationError) as raised:
        await leaving(in_run("run-1"), _redactor(), work, asked)
    return raised.value


def _redactor() -> Redactor:
    return Redactor(lambda: frozenset({SECRET}))


def asking(
    *guardrails: Guardrail, subjects: tuple[Subject, ...], **asked: JsonValue
) -> RunGuardrails:
    fields: dict[str, object] = {
        "run_id": "run-1",
        "agent": "it",
        "tenant": "acme",
        "actor": "alice",
        "layer": guardrails[0].spec.layer,
        "names": tuple(one.spec.name for one in guardrails),
        "subjects": subjects,
    }
    return RunGuardrails.model_validate({**fields, **asked})


def outcome(verdict: GuardrailVerdict) -> str:
    if not verdict.applicable:
        return "not applicable"
    return "tripped" if verdict.tripwire_triggered else "passed"


def goal(text: str) -> Subject:
    return Subject(kind="goal", text=text)


def answer(text: str = "", data: JsonValue = None) -> Subject:
    return Subject(kind="answer", text=text, data=data)


def a_call(tool: str = "deploy", /, **arguments: JsonValue) -> Subject:
    return Subject(kind="call", text=f"{tool}()", data=arguments, tool=tool, call_id="c1")
