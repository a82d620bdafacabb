"""What Anthropic's models take, by family: a model is of the first one that its name matches."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from holdfast.contracts.model import Effort
from holdfast.contracts.patterns import Pattern

_UP_TO_MAX: tuple[Effort, ...] = ("low", "medium", "high", "max")
_ALL: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")

_HOSTED: Mapping[str, str] = {
    "web_search": "web_search_20260318",
    "web_fetch": "web_fetch_20260318",
    "code_execution": "code_execution_20260521",
}
_FIRST_HOSTED: Mapping[str, str] = {
    "web_search": "web_search_20250305",
    "web_fetch": "web_fetch_20250910",
    "code_execution": "code_execution_20250825",
}
"""For models that can't yet filter with code of their own what a search finds."""


HOSTED_TOOLS: Mapping[str, str] = {name: name for name in _HOSTED}
"""Each is called on the wire what it is called here."""


class Family(NamedTuple):
    """
    What the models of one family take.

    `adaptive`: they decide themselves how much to think. `budgets`: they take a number of tokens
    to think with. `silence` is how they are kept from thinking: by saying nothing, by saying so,
    or not at all. `schemas`: they can be held to a JSON Schema, in calls and in answers. `hosted`
    are the types of the tools that run at Anthropic, by name.
    """

    names: Pattern
    adaptive: bool = True
    budgets: bool = False
    silence: Literal["unsaid", "said", "never"] = "unsaid"
    efforts: tuple[Effort, ...] = _ALL
    schemas: bool = True
    hosted: Mapping[str, str] = _HOSTED


_PLAIN = Family(
    Pattern(r"claude-(instant|[123])"),
    adaptive=False,
    efforts=(),
    schemas=False,
    hosted=_FIRST_HOSTED,
)
_BUDGETED = _PLAIN._replace(names=Pattern(r"-4(-[01])?([-@]20\d{6})?(-v\d.*)?$"), budgets=True)
_FAMILIES = (
    _BUDGETED._replace(names=Pattern("claude-3-7")),
    _PLAIN,
    _BUDGETED,
    _BUDGETED._replace(names=Pattern("opus-4-5"), schemas=True, efforts=("low", "medium", "high")),
    _BUDGETED._replace(names=Pattern("(sonnet|haiku)-4-5"), schemas=True),
    Family(Pattern("(opus|sonnet)-4-6"), budgets=True, efforts=_UP_TO_MAX),
    Family(Pattern("opus-4-[78]")),
    Family(Pattern("fable|mythos"), silence="never"),
)
_NEWEST = Family(Pattern(""), silence="said")


def family(model: str) -> Family:
    """Return what is known of a model; a name that is new here takes what the newest take."""
    return next((known for known in _FAMILIES if known.names.found_in(model)), _NEWEST)
