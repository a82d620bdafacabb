"""Speaks for the models of an example."""

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelUnavailable
from holdfast.contracts.usage import UsageMetrics
from holdfast.testing import Reply, ScriptTurn, fail
from tests.chaos.together.office import MODEL_COST, SECRET, WRONG
from tests.chaos.together.scene import SECRETS, Scene, Spoken
from tests.chaos.together.scripts import Asked, Turn


class Cast:
    """All agents of an example, each with its own turns."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._happened: set[tuple[str, int]] = set()

    def speak(self, agent: str, turn: ScriptTurn) -> Reply:
        """Speak for an agent."""
        said = self._scene.drama.turns_of(agent)
        chosen = said[(turn.number - 1) % len(said)]
        once = (turn.run_id, turn.number)
        if chosen.meanwhile and once not in self._happened:
            self._happened.add(once)
            self._happen(chosen.meanwhile, turn.number)
        if chosen.fails and turn.attempt == 1:
            return fail(ModelUnavailable("busy", retry_after=0.01))
        reply = self._reply(agent, turn, chosen)
        read = frozenset(SECRETS.findall(str(turn.transcript)))
        place = self._scene.seen.book.tick()
        self._scene.seen.began.setdefault(turn.run_id, place)
        self._scene.seen.spoken.append(
            Spoken(place, agent, turn.run_id, turn.number, reply, read, turn.without_tools)
        )
        return reply

    def _happen(self, what: str, which: int) -> None:
        self._scene.seen.said[f"meanwhile {what}"] += 1
        match what:
            case "kill":
                self._scene.runs.kill_soon()
            case "off" | "on":
                self._scene.switch(which if what == "off" else None)
            case _:
                self._scene.runs.tell_soon(self._scene.root, *build_control(what))

    def _reply(self, agent: str, turn: ScriptTurn, chosen: Turn) -> Reply:
        own = f"{turn.run_id}-{turn.number}"
        usage = UsageMetrics(input_tokens=chosen.tokens, estimated_cost=MODEL_COST)
        secret = f"{SECRET}-{own}" if self._scene.drama.traits_of(agent).withholds else "fine"
        if turn.without_tools:
            return Reply(text=f"a plan, {secret}", usage=usage)
        words = {"good": "good", "secret": secret, "wrong": f"{WRONG} {own}", "nothing": ""}
        text = words[chosen.says]
        if chosen.calls:
            calls = tuple(
                _build_call(asked, f"{own}.{place}") for place, asked in enumerate(chosen.calls)
            )
            return Reply(text=secret, calls=calls, usage=usage)
        if agent == "planner":
            return Reply(text='{"subtasks": ["one", "two"]}', usage=usage)
        if agent == "critic":
            verdict = {"good": '{"reason": ""}', "wrong": '{"tripwire_triggered": true}'}
            return Reply(text=verdict.get(chosen.says, text), usage=usage)
        if agent in {"helper", "deep"}:
            return Reply(text=f'{{"facts": ["{text}"]}}', usage=usage)
        return Reply(text=text, usage=usage)


def build_control(what: str) -> tuple[str, JsonValue]:
    """Return the signal, with its argument, by which somebody says this."""
    said: dict[str, tuple[str, JsonValue]] = {
        "suspend": ("suspend", {}),
        "resume": ("resume", {}),
        "steer": ("steer", {"text": "mind the gap"}),
        "steer_now": ("steer", {"text": "mind the step", "now": True}),
        "stop": ("stop", {"reason": "enough", "by": "dana"}),
    }
    return said[what]


def _build_call(asked: Asked, own: str) -> tuple[str, JsonObject]:
    thing = f"{asked.thing or own}{asked.mark}"
    match asked.tool:
        case "ask_user":
            return asked.tool, {"question": f"Which of {thing}?"}
        case "submit_plan":
            tools: list[JsonValue] = ["write", "file", "delegate_to_helper"]
            return asked.tool, {"goal": "go", "steps": ["write it"], "tools": tools}
        case name if name.startswith("transfer_to"):
            return asked.tool, {"goal": f"go on with {thing}"}
        case _:
            return asked.tool, {"thing": thing}
