"""What is drawn: who works with whom under which rules, what models say, and what people do."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias

from holdfast.contracts.base import JsonObject
from tests.chaos.together.book import ASKING, FREE, NEVER, READS, UNDO

Says: TypeAlias = Literal["good", "secret", "wrong", "nothing"]
"""What an answer is: one that passes, or that an output guardrail or a check keeps back."""

AGENTS = (
    *("desk", "helper", "deep", "taker", "closer", "answerer"),
    *("front", "clerk", "planner", "hand", "critic"),
)

SENDERS = {"desk": ("helper", "taker", "answerer"), "helper": ("deep",), "taker": ("closer",)}
"""Who gives work to whom, or hands over."""


@dataclass(frozen=True)
class Traits:
    """What an agent is: which guardrails it has, and who is there when it fails."""

    withholds: Literal["", "retry", "block", "ask"] = ""
    asks: bool = False
    judged: bool = False
    estimates: bool = False
    looks_after: bool = False
    checks: bool = False
    backtracks: bool = False
    escalates: bool = False
    sums_up: bool = False
    rejections: int | None = None
    events: int = 15_000


@dataclass(frozen=True)
class Asked:
    """A call: of a thing that is this turn's own, or one of those that everybody asks for."""

    tool: str
    thing: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Turn:
    """A reply: calls, or words. `meanwhile` is what happens once while the model speaks."""

    calls: tuple[Asked, ...] = ()
    says: Says = "good"
    tokens: int = 10
    fails: bool = False
    meanwhile: str = ""


@dataclass(frozen=True)
class Move:
    """What somebody does when all has come to rest; about the request at this place, if any."""

    what: str
    about: int = 0


@dataclass(frozen=True)
class Again:
    """How what has ended goes on: tried again, or forked at a turn, or a session opens again."""

    turn: int = 0
    dry: bool = False
    moves: tuple[tuple[Move, ...], ...] = ()


@dataclass(frozen=True)
class Drama:
    """An example. `forgets`: after so many tasks a worker forgets its runs."""

    agent: str
    tiers: int
    traits: tuple[tuple[str, Traits], ...]
    turns: tuple[tuple[str, tuple[Turn, ...]], ...]
    budget: JsonObject
    session: JsonObject | None
    messages: int
    domain: str | None
    plans: bool
    moves: tuple[tuple[Move, ...], ...]
    agains: tuple[Again, ...]
    divides: bool
    forgets: int | None

    def traits_of(self, agent: str) -> Traits:
        """Return what an agent is."""
        return dict(self.traits).get(agent, Traits())

    def turns_of(self, agent: str) -> tuple[Turn, ...]:
        """Return what an agent says, in a circle."""
        return (*dict(self.turns).get(agent, ()), Turn())


def draw_traits(chance: Random, agent: str) -> Traits:
    """Draw what an agent is."""
    checks = agent != "front" and chance.random() < 0.25
    return Traits(
        withholds=chance.choice(("", "", "retry", "block", "ask")),
        asks=chance.random() < 0.25,
        judged=agent in {"desk", "clerk", "taker"} and chance.random() < 0.25,
        estimates=chance.random() < 0.4,
        looks_after=chance.random() < 0.5,
        checks=checks,
        backtracks=checks and chance.random() < 0.7,
        escalates=chance.random() < 0.5,
        sums_up=chance.random() < 0.2,
        rejections=chance.choice((None, None, 1)),
        events=chance.choice((15_000, 15_000, 15_000, 10, 25)),
    )


def draw_call(chance: Random, agent: str) -> Asked:
    """Draw a call of an agent: mostly writes, and work for others."""
    others = SENDERS.get(agent, ())
    if others and chance.random() < 0.4:
        other = chance.choice(others)
        hands_over = other in {"taker", "closer", "answerer"}
        tool = f"{'transfer_to' if hands_over else 'delegate_to'}_{other}"
    else:
        tool = chance.choice(CALLS)
    return Asked(tool, chance.choice(("", "", "x", "yy")), chance.choice(("", "!", "!", "?")))


UNDOABLE = ("write", "file")

CALLS = (
    *READS,
    *FREE,
    *ASKING,
    *ASKING,
    *(UNDOABLE * 4),
    "draft",
    *UNDO,
    *NEVER,
    "ask_user",
    "submit_plan",
)

WORDS: tuple[Says, ...] = ("good", "secret", "secret", "wrong", "nothing")

MEANWHILE = ("kill", "steer", "steer_now", "suspend", "off", "on", "stop")


def draw_turn(chance: Random, agent: str) -> Turn:
    """Draw a reply of an agent."""
    count = chance.choice((0, 0, 1, 1, 1, 2, 2, 3, 3, 12))
    return Turn(
        calls=tuple(draw_call(chance, agent) for _ in range(count)),
        says=chance.choice(WORDS),
        tokens=chance.choice((0, 10, 60)),
        fails=chance.random() < 0.08,
        meanwhile=chance.choice(MEANWHILE) if chance.random() < 0.15 else "",
    )


SAID = (
    *("approve", "approve", "approve", "approve", "second", "second", "reject", "anonymous"),
    *("answer", "go_on", "go_on", "extend", "guide", "abort", "suspend", "resume", "steer"),
    *("steer_now", "stop", "off", "on", "kill", "wait", "twice", "message", "message", "close"),
    "cancel",
)


def draw_moves(chance: Random) -> tuple[tuple[Move, ...], ...]:
    """Draw what people do."""
    return tuple(
        tuple(Move(chance.choice(SAID), chance.randrange(3)) for _ in range(chance.randint(1, 3)))
        for _ in range(chance.randint(0, 6))
    )


BUDGET: dict[str, tuple[int | float | None, ...]] = {
    "max_steps": (None, None, 3, 6),
    "max_tokens": (None, None, None, 150),
    "max_tool_calls": (None, None, 3, 6),
    "max_wall_time": (None, None, None, 5.0),
    "max_cost": (None, 0.5, 1.0, 1.5),
    "max_consecutive_failures": (None, 3),
    "loop_repeat_threshold": (None, 5),
}

SESSION: dict[str, tuple[int | float | None, ...]] = {
    "max_steps": (None, 4, 8),
    "max_tokens": (None, None, 150),
    "max_tool_calls": (None, 4, 8),
    "max_cost": (None, 0.5, 1.0, 1.5),
}


def draw_limits(chance: Random, known: Mapping[str, tuple[int | float | None, ...]]) -> JsonObject:
    """Draw limits, most of which aren't there."""
    drawn = {name: chance.choice(values) for name, values in known.items()}
    return {name: value for name, value in drawn.items() if value is not None}


def draw(seed: int) -> Drama:
    """Draw an example; the same seed brings the same."""
    chance = Random(seed)
    is_session = chance.random() < 0.35
    return Drama(
        agent=chance.choice(("desk", "desk", "front")),
        tiers=chance.randint(1, 3),
        traits=tuple((name, draw_traits(chance, name)) for name in AGENTS),
        turns=tuple(
            (name, tuple(draw_turn(chance, name) for _ in range(chance.choice((1, 2, 2, 3)))))
            for name in AGENTS
        ),
        budget=draw_limits(chance, BUDGET),
        session=draw_limits(chance, SESSION) if is_session else None,
        messages=chance.randint(1, 2),
        domain=None if is_session or chance.random() < 0.7 else "payments",
        plans=not is_session and chance.random() < 0.15,
        moves=draw_moves(chance),
        agains=tuple(
            Again(chance.randint(0, 3), chance.random() < 0.2, draw_moves(chance))
            for _ in range(chance.randint(0, 2))
        ),
        divides=chance.random() < 0.25,
        forgets=chance.choice((None, None, None, 1, 3)),
    )
