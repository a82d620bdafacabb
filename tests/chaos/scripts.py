"""Random scripts of a run: what its models say, what people say, when its worker goes."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hypothesis import strategies as st
from pydantic import JsonValue

from holdfast.contracts.base import JsonObject

LOG = "<log>"
"""Stands for the file that the tools of a run write their effects to."""

Where: TypeAlias = Literal["input", "results", "pre_execution", "output", "post_action"]

MARKS: dict[Where, str] = {
    "input": "TRIP-INPUT",
    "results": "TRIP-RESULT",
    "pre_execution": "TRIP-CALL",
    "output": "TRIP-ANSWER",
    "post_action": "TRIP-AFTER",
}
"""Words on which one of the guardrails of a guarded agent trips."""

SAID = (
    "approve reject anonymous twice stale answer resume_run abort extend "
    "steer steer_badly suspend resume stop steer_now"
)
GARBAGE = "not_json no_such_signal too_many wrong_type"


@dataclass(frozen=True)
class Asked:
    """A call as a model writes it; text instead of arguments is malformed."""

    tool: str
    arguments: JsonObject | str


Fails: TypeAlias = Literal["never", "once", "always"]


@dataclass(frozen=True)
class Turn:
    """
    A reply of the model: calls, or an answer, or nothing at all.

    It `fails` "once", and then comes when asked again; or "always", so that the next model is
    asked. With `restart` the worker is replaced while the model speaks.
    """

    calls: tuple[Asked, ...] = ()
    text: str = ""
    tokens: int = 0
    fails: Fails = "never"
    restart: bool = False


@dataclass(frozen=True)
class Message:
    """
    What a person says, about the request at this place among those that wait, if it is one.

    With "restart" nobody says anything: the worker is replaced.
    """

    what: str
    about: int = 0


@dataclass(frozen=True)
class Script:
    """
    A whole run. After its turns the model answers "done".

    `early` is said when it has begun, and one of `reactions` each time when it has come to rest.
    """

    agent: str
    goal: str
    turns: tuple[Turn, ...]
    budget: JsonObject
    early: tuple[Message, ...]
    reactions: tuple[tuple[Message, ...], ...]


def _effect(tool: str, **more: JsonValue) -> tuple[str, JsonObject]:
    return tool, {"log": LOG, **more}


READS: tuple[tuple[str, JsonObject], ...] = (
    ("add", {"a": 1, "b": 1}),
    ("look", {"place": "here"}),
    ("poll", {}),
    ("account", {"tenant": "default"}),
    ("look", {"place": MARKS["results"]}),
    ("flood", {"characters": 1200}),
    ("flaky", {"log": f"{LOG}.attempts", "failures": 1}),
)
FAILING: tuple[tuple[str, JsonObject | str], ...] = (
    ("find", {"name": "nobody"}),
    ("account", {"tenant": "others"}),
    ("delete", {"record": "r"}),
    ("refund", {"amount": 5}),
    ("nope", {}),
    ("add", {"a": "one", "b": 1}),
    ("add", "[1, 2"),
    ("hang", {}),
)
WRITES: tuple[tuple[str, JsonObject], ...] = (
    _effect("write", text="?"),
    _effect("place", text="?"),
    _effect("place", text="?"),
    _effect("spill", text="?"),
    _effect("send", text="?"),
    _effect("post", text="?"),
    _effect("pay_slowly", amount="?"),
    _effect("fail_outside", why="?"),
    _effect("write_slowly"),
    ("shout", {"text": "?"}),
    ("ask_user", {"question": "Which one?"}),
)
DELEGATING: tuple[tuple[str, JsonObject], ...] = (
    ("delegate_to_helper", {"topic": "?"}),
    ("delegate_to_helper", {"topic": "?", "depth": 2}),
    ("transfer_to_taker", {"goal": "go on"}),
    ("transfer_to_answerer", {"goal": "?"}),
)
"""Calls that agents have work for them by, and hand over by; others don't know them."""

RARE = st.sampled_from([False] * 7 + [True])


@st.composite
def asked(draw: st.DrawFn, token: int, *, delegating: bool = False) -> Asked:
    """One call; a write carries a token of its own, so that each effect can be told apart."""
    more = DELEGATING * 4 if delegating else ()
    tool, arguments = draw(st.sampled_from((*READS, *WRITES, *WRITES, *FAILING, *more)))
    if isinstance(arguments, str):
        return Asked(tool, arguments)
    mark = MARKS["pre_execution"] if draw(st.booleans()) else MARKS["post_action"]
    words = f"t{token} {mark}" if draw(RARE) else f"t{token}"
    told = {"topic": words, "goal": words}
    fresh: dict[str, JsonValue] = {"amount": token, "text": words, "why": words, **told}
    return Asked(
        tool, {name: fresh[name] if given == "?" else given for name, given in arguments.items()}
    )


@st.composite
def turns(draw: st.DrawFn, number: int, *, restarts: bool, delegating: bool = False) -> Turn:
    """One reply: mostly calls."""
    tokens = draw(st.sampled_from([0, 10, 60]))
    fails: Fails = draw(st.sampled_from(("once", "always"))) if draw(RARE) else "never"
    restart = restarts and draw(st.booleans())
    if draw(RARE):
        text = draw(st.sampled_from(["", "fine", *MARKS.values()]))
        return Turn(text=text, tokens=tokens, fails=fails, restart=restart)
    count = draw(st.integers(1, 4))
    tokens_of = range(number * 10 + 1, number * 10 + count + 1)
    calls = tuple(draw(asked(token, delegating=delegating)) for token in tokens_of)
    return Turn(calls=calls, tokens=tokens, fails=fails, restart=restart)


def messages(*more: str) -> st.SearchStrategy[Message]:
    """Return what people may say: mostly what means something."""
    said = [*SAID.split(), *(["approve", "answer", "resume_run"] * 4), *GARBAGE.split(), *more]
    return st.builds(Message, st.sampled_from(said), st.integers(0, 2))


LIMITS: dict[str, st.SearchStrategy[JsonValue]] = {
    "max_steps": st.integers(1, 6),
    "max_tokens": st.sampled_from([None, 50, 150]),
    "max_tool_calls": st.sampled_from([None, None, 3, 6]),
    "max_parallel_calls": st.sampled_from([None, None, None, 2]),
    "max_result_chars": st.sampled_from([None, None, 500]),
    "max_consecutive_failures": st.integers(1, 5),
    "loop_repeat_threshold": st.integers(1, 2),
}


@st.composite
def scripts(
    draw: st.DrawFn,
    agents: tuple[str, ...],
    *,
    people: bool = False,
    restarts: bool = False,
    marked: bool = False,
    delegating: bool = False,
) -> Script:
    """A run of at most four turns, whose people speak, worker goes, or goal is a bad one."""
    more = messages("restart", "restart", "restart") if restarts else messages()
    reactions = st.lists(st.lists(more, min_size=1, max_size=3).map(tuple), max_size=6)
    budget = {name: draw(limit) for name, limit in LIMITS.items()}
    goals = ["go"] * 5 + [MARKS["input"], MARKS["results"]] if marked else ["go"]
    length = draw(st.integers(1, 4))
    return Script(
        agent=draw(st.sampled_from(agents)),
        goal=draw(st.sampled_from(goals)),
        turns=tuple(
            draw(turns(number, restarts=restarts, delegating=delegating))
            for number in range(1, length + 1)
        ),
        budget={name: limit for name, limit in budget.items() if limit is not None},
        early=tuple(draw(st.lists(messages(), max_size=2))) if people else (),
        reactions=tuple(draw(reactions)) if people or restarts else (),
    )
