"""Attacks by values that fit an argument's schema, and that nobody can write or read."""

from collections.abc import Callable, Iterable
from datetime import date
from functools import cache
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    JsonValue,
    Secret,
    SecretBytes,
    SecretStr,
    WithJsonSchema,
)

from holdfast import AppError, Budget, Risk, Tool, tool
from holdfast.activities.kill_switch.switches import KillSwitch, TemporalKillSwitch
from holdfast.activities.policy import PolicyActivities, PolicyEnvironment
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.decisions import (
    AuthorizeCalls,
    Caller,
    Decided,
    Refused,
    Rulings,
    find_effects,
)
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.switches import Switch
from holdfast.policy.rules import NO_POLICY
from holdfast.testing import call, calls
from holdfast.tools.registry import ToolRegistry
from tests.asking import in_run
from tests.attacks.argument_types import PICTURE, TYPES, Money, raising, taking
from tests.builders import EXECUTION, NOW, a_call
from tests.memory.runs import MemoryRuns
from tests.policy.test_rulings import NO_KEYS, Switches
from tests.running import Runs
from tests.sample import add, scripted, told

JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.sampled_from([PICTURE, "1.50", "NaN", "1e999", "2026-01-01", "P1D", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "size", "1", PICTURE]), inner, max_size=3)
    ),
    max_leaves=6,
)
WITH_PICTURE = [
    name
    for name, (_, values) in TYPES.items()
    if PICTURE in str(values[0]) and name != "base64 of a text"  # which a picture is none of
]
OWN = [
    name
    for name in TYPES
    if name.startswith("own, ") and name != "own, ValueError"  # whose words are for the model
]


@cache
def taker(name: str) -> Tool:
    """A tool with one argument of this type."""
    return taking(TYPES[name][0])


async def authorized(*asked: ToolCall, tools: Iterable[Tool], switches: KillSwitch) -> Rulings:
    environment = PolicyEnvironment(NO_POLICY, "", has_sandbox=False)
    known = ToolRegistry(tools)
    activities = PolicyActivities(known, environment, NO_KEYS, switches)
    question = AuthorizeCalls(
        run_id="run-1",
        execution=EXECUTION,
        agent="it",
        caller=Caller(tenant="acme", actor="bob"),
        calls=asked,
        visible_tools=tuple(tool.name for tool in known.contracts()),
        now=NOW,
    )
    return await in_run("run-1").run(activities.authorize, question)


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=25)
@given(data=st.data())
async def test_every_value_of_every_type_has_a_ruling(name: str, data: st.DataObject) -> None:
    """Whatever a model writes, and a type makes of it; the call beside it is decided too."""
    value = data.draw(st.sampled_from(TYPES[name][1]) | JSON)
    asked, other = a_call("take", data=value), a_call("add", "c2", a=1, b=2)

    rulings = await authorized(asked, other, tools=(taker(name), add), switches=Switches())

    first, second = rulings.rulings
    assert isinstance(first, Decided) or first.type in {"invalid_arguments", "internal_error"}
    assert isinstance(second, Decided)
    assert Rulings.model_validate_json(rulings.model_dump_json()).rulings


@pytest.mark.parametrize("name", WITH_PICTURE)
async def test_what_is_no_text_is_an_argument_like_any_other(name: str) -> None:
    """A picture, wherever it stands: decided, and told apart from another one."""
    take, value = taker(name), TYPES[name][1][0]

    rulings = await authorized(a_call("take", data=value), tools=(take,), switches=Switches())

    (ruling,) = rulings.rulings
    assert isinstance(ruling, Decided)
    filled: JsonObject = {"data": value, **ruling.filled}
    assert take.fill_defaults(filled) == filled
    assert take.values(filled) == take.values({"data": value})
    (effect,) = find_effects(ToolCall(call_id="c1", name="take", arguments=filled), ruling)
    assert take.effect(filled) == take.effect({"data": value}) == effect
    assert take.effect({**filled, "page": {"data": PICTURE}}) != effect


@pytest.mark.parametrize("name", OWN)
async def test_a_refusal_quotes_nothing(name: str) -> None:
    """What a type makes of a value, or raises about it, is no word for anybody."""
    rulings = await authorized(
        a_call("take", data="sesame"), tools=(taker(name),), switches=Switches()
    )

    (ruling,) = rulings.rulings
    if isinstance(ruling, Refused):
        assert "sesame" not in ruling.reason


class Broken(Tool):
    """A tool of which nobody can say what fits it."""

    def objections(self, arguments: JsonObject) -> tuple[str, ...]:
        raise KeyError(arguments["a"])


async def test_whatever_is_raised_denies_one_call() -> None:
    """A fault of ours, too: what can't be decided doesn't run, and the turn goes on."""
    broken = Broken(add.contract, add.function, add._signature)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- as `tool` makes one

    rulings = await authorized(
        a_call("add", a=5551, b=1),
        a_call("take", "c2", data="x"),
        tools=(broken, taker("bytes")),
        switches=Switches(),
    )

    first, second = rulings.rulings
    assert isinstance(first, Refused)
    assert first.type == "internal_error"
    assert "5551" not in first.reason
    assert first.next_valid_actions
    assert isinstance(second, Decided)


class Unreachable:
    """A kill switch that nobody can ask."""

    async def current(self) -> tuple[Switch, ...]:
        raise HoldfastError("the server has not answered yet")


async def test_an_outage_is_no_fault_of_a_call() -> None:
    """What holds for every call is asked again, and refuses none of them."""
    with pytest.raises(HoldfastError, match="has not answered"):
        await authorized(a_call("add", a=1, b=2), tools=(add,), switches=Unreachable())


@pytest.mark.parametrize("kind", [Iterable[int], list[Iterable[int]], Iterable[int] | None])
def test_what_is_read_later_is_no_argument(kind: object) -> None:
    """Nobody would know what it holds before the function goes through it, once."""
    with pytest.raises(AppError, match="use a list"):
        taking(kind)


class Vault(BaseModel):
    """A secret among other things."""

    metadata: SecretStr = SecretStr("")  # a name that schemas have a use for, too
    inner: "Vault | None" = None


class PinCode(Secret[int]):
    """A secret of a type of one's own."""


@pytest.mark.parametrize(
    "kind",
    [SecretStr, SecretBytes, Secret[str], Secret[date], PinCode, list[SecretStr | None], Vault],
)
def test_what_is_written_as_asterisks_is_no_argument(kind: object) -> None:
    """No condition and no guardrail would see what the function sees."""
    with pytest.raises(AppError, match="conditions and guardrails would read asterisks"):
        taking(kind)


def hide_bytes(value: str) -> SecretBytes:
    return SecretBytes(value.encode())


def hide_whole(value: str) -> Secret[str]:
    return Secret(value)


@pytest.mark.parametrize("hide", [SecretStr, hide_bytes, hide_whole])
async def test_what_a_validator_hides_is_decided_by_nobody(hide: Callable[[str], object]) -> None:
    """Where no type tells it as the tool is defined, each of its calls is refused."""
    hidden = taking(Annotated[str, AfterValidator(hide)])

    rulings = await authorized(a_call("take", data="sesame"), tools=(hidden,), switches=Switches())

    (ruling,) = rulings.rulings
    assert isinstance(ruling, Refused)
    assert ruling.type == "invalid_arguments"
    assert "sesame" not in ruling.reason


@tool(risk=Risk.READ_ONLY)
async def attach(data: Base64Bytes) -> int:
    """Attach a picture to a case."""
    return len(data)


@tool(risk=Risk.READ_ONLY)
async def raise_it(data: Annotated[str, AfterValidator(raising(KeyError))]) -> str:
    """Take something that can't be read."""
    return data


@tool(risk=Risk.READ_ONLY)
async def pay(
    amount: Annotated[object, BeforeValidator(Money), WithJsonSchema({"type": "string"})],
) -> str:
    """Pay an amount that can't be written."""
    return str(amount)


async def test_no_value_wedges_a_run(memory_runs: MemoryRuns) -> None:
    """Pictures are taken, call after call; of the others the model reads that they can't be."""
    first = calls(
        call("attach", data=PICTURE),
        call("attach", data="/w=="),
        call("raise_it", data="x"),
        call("pay", amount="1"),
    )
    async with memory_runs.working(scripted([first, told], tools=(attach, raise_it, pay))):
        run = await memory_runs.start("it")
        ended = await run.result()

    assert ended.answer == "attach ok; attach ok; raise_it error; pay error"


async def test_a_step_without_a_decision_ends_with_the_time_of_its_run(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody can decide, it is asked again, and no longer than the run may take."""

    async def current(_: TemporalKillSwitch) -> tuple[Switch, ...]:
        raise HoldfastError("the server has not answered yet")

    monkeypatch.setattr(TemporalKillSwitch, "current", current)
    app = scripted([call("add", a=1, b=2), told], budget=Budget(max_wall_time=2))
    async with runs.working(app):
        run = await runs.start("it")
        ended = await run.result()

    assert ended.stop is not None
    assert ended.stop.reason == "max_wall_time (2 s) reached"
