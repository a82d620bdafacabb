"""Where an error came from, for whoever wrote the code that raised it: for logs, not history."""

import contextlib
import traceback
from itertools import dropwhile
from pathlib import Path

from holdfast.contracts.bounds import MAX_TOOL_REASON_CHARS

_OURS = str(Path(__file__).parents[1])


def format_stack(error: BaseException, *, leading: tuple[str, ...] = ()) -> str:
    """
    Write the stack of an error, without the frames of ours that only lead to an app's own code.

    Nor those that lie in other *leading* folders. It may quote anything: clear it of secrets.
    """
    told = traceback.TracebackException.from_exception(error)
    ours = (_OURS, *leading)
    own = list(dropwhile(lambda frame: frame.filename.startswith(ours), told.stack))
    if own:
        told.stack = traceback.StackSummary.from_list(own)
    return "".join(told.format())


def format_short_stack(error: BaseException) -> str:
    """Write the end of a stack, as much as a message of a tool's process holds."""
    with contextlib.suppress(BaseException):  # an error may have forgotten how to say what it is
        return format_stack(error)[-MAX_TOOL_REASON_CHARS:]
    return ""
