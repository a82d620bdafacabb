"""
Which of its tools a turn is sent, where an agent has more than fit.

By what is recorded of the run, so that a replay comes to the same: what its model looked for and
called last comes first, then what fits the words of whoever spoke last.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice

from holdfast.contracts.calls import ToolCall
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import ToolContract
from holdfast.contracts.transcript import AssistantTurn, UserTurn

FIND_TOOLS = "find_tools"
"""The tool by which a model looks for others."""

_MAX_SEARCHES = 20
"""So many of the latest searches of a model, and words of people, choose tools, however many."""

_MAX_SEARCH_CHARS = 10_000
_MIN_WORD_CHARS = 3
_NAME_WEIGHT = 3
"""A word in a name counts for so many in a description."""


def choose_tools(state: RunState) -> tuple[str, ...]:
    """Return the tools that the next turn is sent, in order of their names; none if it is all."""
    agent, most = state.agent, state.agent.tools_per_turn
    if most is None or len(agent.tools) <= most:
        return ()
    always = (FIND_TOOLS, agent.settings.tool_choice)
    known = {tool.name for tool in agent.tools}
    named = chain(always, _list_candidates(state), sorted(known))
    chosen: set[str] = set()
    for name in named:
        if len(chosen) == most:
            break
        if name in known:
            chosen.add(name)
    return tuple(sorted(chosen))


def _list_candidates(state: RunState) -> Iterator[str]:
    searches = 0
    for item in reversed(state.conversation.items):
        for call in item.calls if isinstance(item, AssistantTurn) else ():
            if call.name != FIND_TOOLS:
                yield call.name
            elif isinstance(call, ToolCall) and searches < _MAX_SEARCHES:
                searches += 1
                yield from rank_tools(state.agent.tools, str(call.arguments.get("words", "")))
    said = (one.text for one in reversed(state.conversation.items) if isinstance(one, UserTurn))
    for words in islice(said, _MAX_SEARCHES):
        yield from rank_tools(state.agent.tools, words)


def rank_tools(tools: Iterable[ToolContract], words: str) -> list[str]:
    """Return the tools that have any of the words, those first that have the most."""
    wanted = _split(words[:_MAX_SEARCH_CHARS])
    scores = {tool.name: _score(tool, wanted) for tool in tools}
    return sorted(
        (name for name in scores if scores[name]), key=lambda name: (-scores[name], name)
    )


def _score(tool: ToolContract, wanted: frozenset[str]) -> int:
    named, described = _split_tool(tool.name, tool.description)
    return _NAME_WEIGHT * len(wanted & named) + len(wanted & (described - named))


@lru_cache(maxsize=8192)
def _split_tool(name: str, description: str) -> tuple[frozenset[str], frozenset[str]]:
    return _split(name), _split(description)


def _split(text: str) -> frozenset[str]:
    """Return the words of a text as they are compared: small, and without a plural's s."""
    plain = "".join(one if one.isalnum() else " " for one in text.casefold())
    words = (word.removesuffix("s") for word in plain.split())
    return frozenset(word for word in words if len(word) >= _MIN_WORD_CHARS)
