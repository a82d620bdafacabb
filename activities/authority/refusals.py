"""What is ruled of calls that reach no engine: their arguments fail, or whoever reads them."""

import asyncio
import traceback
from types import TracebackType
from typing import Self

from holdfast.contracts.base import repair_surrogates
from holdfast.contracts.bounds import MAX_RULING_REASON_CHARS
from holdfast.contracts.calls import AnyCall
from holdfast.contracts.decisions import Refused
from holdfast.contracts.errors import ToolError
from holdfast.contracts.texts import clip_chars
from holdfast.event_log import log


class Refusal:
    """What is ruled of a call where ruling on it raises anything, be it no Exception."""

    def __init__(self, call: AnyCall) -> None:
        self._call = call
        self.ruling = Refused(
            call_id=call.call_id,
            tool=call.name,
            type="internal_error",
            reason="nobody can decide about this call",
            next_valid_actions=("go on without it", "tell the user what you would have done"),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        stack: TracebackType | None,
    ) -> bool:
        match error:
            case None | asyncio.CancelledError() | KeyboardInterrupt():
                return False
            case ToolError():
                self.ruling = refuse_arguments(self._call, error.reason)
            case _:
                frames = "".join(traceback.format_tb(stack))  # they quote no value
                name = type(error).__name__
                log.warning("call.undecided", tool=self._call.name, raised=name, stack=frames)
        return True


def refuse_arguments(call: AnyCall, reason: str) -> Refused:
    """Return what is ruled of a call whose arguments don't fit, and why."""
    return Refused(
        call_id=call.call_id,
        tool=call.name,
        type="invalid_arguments",
        reason=clip_chars(repair_surrogates(reason), MAX_RULING_REASON_CHARS),
        next_valid_actions=("correct the arguments and call again",),
    )
