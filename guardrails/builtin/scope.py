"""`scope_validation`: a task stays inside of its project."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Unpack

from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.guardrails.builtin.making import (
    InputOptions,
    build_guardrail,
    builtin,
)
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    not_applicable,
    passed,
    tripped,
)
from holdfast.guardrails.detectors.scope import find_paths, leads_out
from holdfast.tools.fair_threads import FairThreads

LOOKUPS = FairThreads(2, "scope")
"""A disk may take its time, or never answer: those who only read texts don't wait for it."""

_MAX_FOLDERS = 256
"""As many as a path of a call may name; how long more take to look up is quadratic."""


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

    async def __call__(self, subject: Subject, context: GuardrailContext) -> GuardrailResult:
        if subject.kind not in ("goal", "words"):
            return not_applicable("only what people say is a task")
        if not await LOOKUPS.run(context.tenant, partial(self._names_outside, subject.text)):
            return passed()
        # The path itself may say anything of anybody.
        return tripped(
            "Task references paths outside project root",
            "name only paths inside the project",
        )

    def _names_outside(self, text: str) -> bool:
        places = [Place(folder) for folder in self.folders]
        for path in dict.fromkeys(find_paths(text)):
            # Only the project is what a path without a beginning is taken from.
            near = places if path.startswith("/") else places[:1]
            if all(place.is_left_by(path) for place in near):
                return True
        return False


class Place:
    """A folder as it is while a text is looked at, of which most words name nothing."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._real = os.path.realpath(folder)
        self._is_there = Path(self._real).is_dir()
        self._names = _list_names(self._real)

    def is_left_by(self, path: str) -> bool:
        """Whether a path leads out of the folder, by its words or by the links on its way."""
        if leads_out(path, self._folder) and leads_out(path, self._real):
            return True
        named = path.removeprefix("file://").replace("\\", "/")
        parts = [part for part in named.split("/") if part not in {"", "."}]
        if not self._is_there or self._names_nothing(named, parts):
            return False
        if len(parts) > _MAX_FOLDERS:
            return True
        reached = os.path.realpath(f"{self._real}/{named}" if named[:1] != "/" else named)
        return not Path(reached).is_relative_to(self._real)

    def _names_nothing(self, path: str, parts: list[str]) -> bool:
        """Whether a path begins with nothing that lies here: then no link is on its way."""
        if self._names is None or path.startswith("/") or ".." in parts:
            return False
        return not parts or parts[0].casefold() not in self._names


def _list_names(folder: str) -> frozenset[str] | None:
    """Return what lies in a folder, without capitals: some disks know none; null if closed."""
    try:
        return frozenset(name.casefold() for name in os.listdir(folder))  # noqa: PTH208 -- texts
    except OSError:
        return None
