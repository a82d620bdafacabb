"""A tool that raises a secret in every way that Python has."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from temporalio.exceptions import ApplicationError, CancelledError

from holdfast import Risk, ToolContext, tool


class Unspeakable(Exception):
    """Raises the secret once more when it is asked for its words."""

    def __str__(self) -> str:
        raise SystemExit(self.args[0])


class _Nameless(type):
    """Has no name that could be told."""

    def __getattribute__(cls, name: str) -> Any:  # noqa: ANN401 -- as Python says it
        if name == "__name__":
            raise RuntimeError("it has no name")
        return super().__getattribute__(name)


class Nameless(Exception, metaclass=_Nameless):
    """Raises when it is asked for the name of its class."""


class Detail:
    """Shows the secret, and is no JSON."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return f"Detail({self._secret})"


def named(secret: str) -> BaseException:
    return type(secret, (Exception,), {})("it is in my name")


def caused(secret: str) -> BaseException:
    error = ValueError("look at my cause")
    error.__cause__ = SystemExit(secret)
    return error


def in_context(secret: str) -> BaseException:
    error = ValueError("look at my context")
    error.__context__ = BaseExceptionGroup(secret, [KeyboardInterrupt(secret)])
    return error


def noted(secret: str) -> BaseException:
    error = ValueError("look at my notes")
    error.add_note(secret)
    return error


RAISED: dict[str, Callable[[str], BaseException]] = {
    "SystemExit": SystemExit,
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "CancelledError": asyncio.CancelledError,
    "Temporal's CancelledError": lambda secret: CancelledError(secret, secret),
    "ExceptionGroup": lambda secret: ExceptionGroup(secret, [ValueError(secret)]),
    "BaseExceptionGroup": lambda secret: BaseExceptionGroup(secret, [SystemExit(secret)]),
    "name": named,
    "cause": caused,
    "context": in_context,
    "note": noted,
    "words": Unspeakable,
    "half a character": lambda secret: ValueError(f"\udce9 {secret}"),
    "a name that is none": Nameless,
    "details with half a character": lambda secret: ApplicationError("\udce9", [secret, "\udce9"]),
    "details": lambda secret: ApplicationError(secret, Detail(secret), [secret], type=secret),
}


@tool(risk=Risk.READ_ONLY, max_retries=0)
async def raise_as(kind: str, ctx: ToolContext) -> None:
    """Raise the secret."""
    raise RAISED[kind](ctx.secret("db"))


@tool(risk=Risk.READ_ONLY, max_retries=0)
def raise_as_from_afar(kind: str, file: str) -> None:
    """Raise the secret, from a process of its own."""
    raise RAISED[kind](Path(file).read_text(encoding="utf-8"))
