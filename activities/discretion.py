"""What a tool says in any way is cleared of secrets before it leaves the worker."""

import asyncio
import traceback
from types import TracebackType

import structlog
from pydantic import JsonValue
from pydantic_core import from_json, to_json
from temporalio.exceptions import ApplicationError

from contracts.errors import ToolCrashed, ToolError, ToolTimeout
from contracts.tools import ToolSuccess
from tools.redaction import WITHHELD, Redactor, withheld

LARGE = 100_000
"""Bytes; clearing so many takes too long for the loop that all runs share."""

_WITHHELD_SUMMARY = "done; texts and numbers of the result are withheld, the tool delivers them"

log = structlog.get_logger()


class Discretion:
    """
    Keeps the secrets of one call: in its result, its reports, what it refuses and what it raises.

    With *withholds* no text and no number of the call's result, reports or refusals leaves at all,
    known or not: it may have made a secret just now.
    """

    def __init__(self, tool: str, redactor: Redactor, *, withholds: bool) -> None:
        self._tool = tool
        self._redactor = redactor
        self._withholds = withholds
        # A secret may be rotated while the tool still works with the old one.
        redactor.learn()

    async def cleared(self, content: bytes) -> bytes:
        """Return a result without secrets."""
        if len(content) > LARGE:
            return await asyncio.to_thread(self._cleared, content)
        return self._cleared(content)

    def summarized(self, result: ToolSuccess) -> ToolSuccess:
        """Say in the summary of a result what was withheld of it."""
        return (
            result.model_copy(update={"summary": _WITHHELD_SUMMARY}) if self._withholds else result
        )

    def report(self, progress: JsonValue) -> JsonValue:
        """Return what a tool reports, without secrets."""
        return from_json(self._cleared(to_json(progress)))

    def refusal(self, error: ToolError, *, by_tool: bool = True) -> ToolError:
        """Return what a tool refuses with, or its worker, without secrets; the model reads it."""
        if by_tool and self._withholds:
            error.reason, error.next_valid_actions = WITHHELD, ()
            return error
        error.reason = self._redactor.text(error.reason)
        error.next_valid_actions = tuple(map(self._redactor.text, error.next_valid_actions))
        return error

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        """Have whatever the tool raised leave without secrets, and without its stack."""
        if isinstance(error, Exception) and not isinstance(error, ToolError):
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> ApplicationError:
        match error:
            case ToolTimeout():
                return ApplicationError(str(error), type="ToolTimeout", non_retryable=True)
            case ToolCrashed():
                return ApplicationError(
                    self._text(str(error)), type=self._redactor.text(error.kind)
                )
            case ApplicationError():
                self._log(error)
                return ApplicationError(
                    self._text(error.message),
                    *(self.report(detail) for detail in error.details),
                    type=error.type,
                    non_retryable=error.non_retryable,
                    next_retry_delay=error.next_retry_delay,
                    category=error.category,
                )
            case _:
                self._log(error)
                return ApplicationError(self._text(str(error)), type=type(error).__name__)

    def _log(self, error: Exception) -> None:
        """History has no stack, which may quote anything; whoever wrote the tool needs one."""
        stack = "".join(traceback.format_exception(error))
        log.warning("tool.raised", tool=self._tool, stack=self._text(stack))

    def _text(self, text: str) -> str:
        return WITHHELD if self._withholds and text else self._redactor.text(text)

    def _cleared(self, content: bytes) -> bytes:
        return self._redactor.json(withheld(content) if self._withholds else content)
