"""An answer in a declared shape is one that its own model takes."""

from datetime import date

import pytest
from pydantic import BaseModel, field_validator

from holdfast import Agent, App
from holdfast.contracts.errors import AppError
from holdfast.testing import say
from tests.memory.runs import MemoryRuns


class Due(BaseModel):
    """When something is due."""

    due: date

    @field_validator("due")
    @classmethod
    def is_no_sunday(cls, due: date) -> date:
        if due.isoweekday() == 7:
            raise ValueError("nothing is due on a Sunday")
        return due


async def test_an_answer_that_its_own_model_refuses_goes_back(memory_runs: MemoryRuns) -> None:
    """Formats are asserted and validators run; the model hears why, and tries again."""
    # SV-06
    replies = [say(f'{{"due": "{due}"}}') for due in ("tomorrow", "2026-11-22", "2026-11-23")]
    agent = Agent(
        name="it", instructions="Say when it is due.", models=["scripted:it"], output=Due
    )
    async with memory_runs.working(App(agents=[agent], scripts={"it": replies})):
        run = await memory_runs.start("it")
        result = await run.result()
        said = (await run.transcript()).model_dump_json()

    assert (result.status, result.output) == ("completed", {"due": "2026-11-23"})
    assert "tomorrow" in said
    assert "due: Value error, nothing is due on a Sunday" in said


def test_shapes_that_no_schema_tells_apart() -> None:
    """Whose validators would run? Such an app doesn't start."""

    def another() -> type[BaseModel]:
        class Due(BaseModel):
            """When something is due."""

            due: date

        return Due

    agents = [
        Agent(name=name, instructions="Say it.", models=["scripted:it"], output=output)
        for name, output in (("first", Due), ("second", another()))
    ]

    with pytest.raises(AppError, match="'second': another agent's output 'Due' has the same"):
        App(agents=agents, scripts={"it": ()}).build_output_adapters()
