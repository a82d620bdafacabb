"""`scope_validation`: a task stays inside of its project."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.guardrails.builtin.making import InputOptions, build_guardrail, builtin
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    not_applicable,
    passed,
    tripped,
)
from holdfast.guardrails.detectors.scope import find_paths, leads_out


@builtin
def scope_validation(
    root: str | Path, *, allow: tuple[str, ...] = (), **wishes: Unpack[InputOptions]
) -> Guardrail:
    """
    Trip on paths that lead out of the folder *root*, also through symbolic links on this worker.

    Paths under one of *allow* may be named too, for example "/api" where a task speaks of routes.
    """
    folders = tuple(os.path.abspath(folder) for folder in (root, *allow))  # noqa: PTH100 -- resolve() follows links, and a task may name either end
    return build_guardrail(
        "scope_validation", "input", _Scope(folders), wishes, watches=("goal", "words")
    )


@dataclass(frozen=True)
class _Scope:
    """The project's folder, and others that may be named."""

    folders: tuple[str, ...]

    async def __call__(self, subject: Subject, _: GuardrailContext) -> GuardrailResult:
        if subject.kind not in ("goal", "words"):
            return not_applicable("only what people say is a task")
        if not await asyncio.to_thread(self._names_outside, subject.text):
            return passed()
        # The path itself may say anything of anybody.
        return tripped(
            "Task references paths outside project root",
            "name only paths inside the project",
        )

    def _names_outside(self, text: str) -> bool:
        for path in dict.fromkeys(find_paths(text)):
            # Only the project is what a path without a beginning is taken from.
            folders = self.folders if path.startswith("/") else self.folders[:1]
            if all(_leads_outside(path, folder) for folder in folders):
                return True
        return False


def _leads_outside(path: str, folder: str) -> bool:
    """Whether a path leads out of a folder, by its words or by the links on its way."""
    real = os.path.realpath(folder)
    if leads_out(path, folder) and leads_out(path, real):
        return True
    if not Path(real).is_dir():
        return False
    reached = os.path.realpath(Path(real) / path.removeprefix("file://").replace("\\", "/"))
    return not Path(reached).is_relative_to(real)
