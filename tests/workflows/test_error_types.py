"""Whatever a call fails with: the model reads the word for it, and what it may do next."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from holdfast import Budget, Risk, ToolError, tool
from holdfast.adapters.wire import as_list, as_object, result_text
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ErrorType, ToolFailure
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.memory.runs import MemoryRuns
from tests.sample import TOOLS, scripted
from tests.workflows.test_permissions import policy

TYPES: tuple[ErrorType, ...] = get_args(ErrorType)


@tool(risk=Risk.READ_ONLY)
async def refuse(word: ErrorType) -> str:
    """Fail with a word of the vocabulary, and say no more."""
    raise ToolError(word, "not now")


def caused(log: str) -> Mapping[ErrorType, Reply]:
    """What fails with each word by what the runtime itself finds; by a tool's word the others."""
    return {
        "unknown_tool": call("invent", what="a tool"),
        "invalid_arguments": call("add", a="two"),
        "permission_denied": call("delete", record="all"),
        "approval_required": call("send", log=log, text="nobody decides"),
        "timeout": call("hang"),
        "internal_error": call("flaky", log=log, failures=9),
        "non_idempotent_retry_blocked": call("fail_outside", log=log),
        **{
            word: call("refuse", word=word)
            for word in TYPES
            if word in {"auth_expired", "not_found", "rate_limited", "conflict", "aborted"}
        },
        "subagent_failed": call("refuse", word="subagent_failed"),
    }


async def test_every_error_says_what_may_be_done_next(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """There is a case of each word, and each that a model is told has a next step."""
    # BY-06
    cases = caused(str(tmp_path / "log"))
    read: list[JsonObject] = []

    def script(turn: ScriptTurn) -> Reply:
        read.extend(
            as_object(json.loads(result_text(result)))
            for result in turn.results
            if isinstance(result, ToolFailure)
        )
        match turn.number:
            case 1:
                return cases["non_idempotent_retry_blocked"]
            case 2:
                return calls(*cases.values())
            case _:
                return say("done")

    rules = policy(
        tmp_path, "{id: out, effect: allow, reason: a test, match: {tools: [fail_outside]}}"
    )
    app = scripted(
        script,
        policy=rules,
        tools=(*TOOLS, refuse),
        budget=Budget(max_consecutive_failures=len(TYPES) + 2),
    )
    async with memory_runs.working(app):
        result = await (await memory_runs.start("it")).result()

    first, *told = read
    assert (result.stop, result.answer, first["status"]) == (None, "done", "outcome_unknown")
    assert set(cases) == set(TYPES)
    assert [one["type"] for one in told] == list(cases)
    assert [one for one in read if not as_list(one.get("next_valid_actions"))] == []
