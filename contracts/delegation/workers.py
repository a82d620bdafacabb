"""What a run asks workers for before it begins or goes on: its agent, and the code for it."""

from operator import not_

from pydantic import Field

from holdfast.contracts.base import Contract


class OpenRun(Contract):
    """
    Input of the activity `open_run`; one that has begun stays with its `app`, and regulated.

    `within_unregulated`: the run that it works for began as one that is about no such data.
    """

    run_id: str
    agent: str
    task_kind: str | None = None
    app: str | None = Field(default=None, exclude_if=lambda value: value is None)
    regulated: bool = Field(default=False, exclude_if=not_)
    within_unregulated: bool = Field(default=False, exclude_if=not_)


class FindWorker(Contract):
    """
    Input of the activity `find_worker`: what a worker needs that goes on with a run.

    `app` is null before the run has begun with one.
    """

    run_id: str
    app: str | None = Field(default=None, exclude_if=lambda value: value is None)
    agent: str | None = Field(default=None, exclude_if=not_)
    tools: tuple[str, ...] = Field(default=(), exclude_if=not_)
    guardrails: tuple[str, ...] = Field(default=(), exclude_if=not_)

    def __str__(self) -> str:
        """Say on one line what is wanted."""
        named = (
            *(f"agent {name!r}" for name in (self.agent,) if name is not None),
            *(f"tool {name!r}" for name in self.tools),
            *(f"guardrail {name!r}" for name in self.guardrails),
            *(f"app {name!r}" for name in (self.app,) if name),
        )
        return ", ".join(named)
