"""The kill switch as an operator uses it, against a real server."""

import getpass
import json
from uuid import uuid4

import pytest
from pydantic import JsonValue

from tests.holdfast.commands import Ended, holdfast

pytestmark = pytest.mark.usefixtures("command_line")


@pytest.fixture
def name() -> str:
    """Something that nothing else is called."""
    return f"thing_{uuid4().hex[:8]}"


async def switch(*arguments: str) -> Ended:
    return await holdfast("switch", *arguments)


async def listed(name: str) -> list[dict[str, JsonValue]]:
    """What the list says of a thing, for programs."""
    found: list[dict[str, JsonValue]] = json.loads((await switch("list", "--json")).out)
    return [switch for switch in found if switch["name"] == name]


@pytest.mark.parametrize("kind", ["tool", "agent", "tenant"])
async def test_off_and_on(kind: str, name: str) -> None:
    """Both commands say what is off now, and need no worker."""
    # BY-31
    off = await switch("off", kind, name, "--reason", "sends to the wrong people")
    known = await listed(name)
    on = await switch("on", kind, name)

    assert (off.code, off.err) == (0, "")
    first, header, *rows = off.out.splitlines()
    assert first == f"{kind} {name} is off for all runs, from their next call on"
    assert header.split() == ["KIND", "NAME", "BY", "SINCE", "REASON"]
    [row] = [row for row in rows if name in row]
    assert row.split()[:3] == [kind, name, getpass.getuser()]
    assert row.endswith("sends to the wrong people")
    assert [(one["kind"], one["by"]) for one in known] == [(kind, getpass.getuser())]
    assert (on.code, on.out.splitlines()[0], on.err) == (0, f"{kind} {name} is on", "")
    assert await listed(name) == []


async def test_everything_off() -> None:
    """One word stops every call of every run, and one lets them go on."""
    off = await switch("off", "everything", "--reason", "incident 7")
    known = await listed("*")
    on = await switch("on", "everything")

    assert off.out.startswith("everything is off for all runs, from their next call on\n")
    assert [(one["kind"], one["reason"]) for one in known] == [("everything", "incident 7")]
    assert (on.code, on.out.splitlines()[0], on.err) == (0, "everything is on", "")
    assert await listed("*") == []


async def test_the_list_for_people(name: str) -> None:
    """The list shows what is off, who switched it off, and why."""
    await switch("off", "agent", name, "--reason", "it loops")
    shown = await switch("list")
    await switch("on", "agent", name)

    assert f"agent  {name}" in shown.out
    assert "it loops" in shown.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(
            ("off", "robot", "x", "--reason", "y"),
            2,
            "'tool', 'agent', 'tenant'",
            id="unknown kind",
        ),
        pytest.param(("off", "tool", "x"), 2, "--reason", id="no reason"),
        pytest.param(("off", "tool", "--reason", "y"), 1, "everything", id="no name"),
        pytest.param(("off", "tool", "", "--reason", "y"), 1, "name: ", id="empty name"),
        pytest.param(("off", "tool", "delete_*", "--reason", "y"), 1, "no pattern", id="star"),
        pytest.param(("on", "tool", "x" * 201), 1, "name: ", id="long name"),
        pytest.param(
            ("off", "tool", "x", "--reason", "y" * 2001), 1, "reason: ", id="long reason"
        ),
    ],
)
async def test_what_is_wrong_is_one_line(arguments: tuple[str, ...], code: int, said: str) -> None:
    """A command that can't be carried out says why on one line, and sends nothing."""
    ended = await switch(*arguments)

    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("holdfast: ")
    assert ended.err.count("\n") == 1
    assert said in ended.err


async def test_no_server_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a server nothing is confirmed."""
    monkeypatch.setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")

    ended = await switch("off", "tool", "x", "--reason", "y")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("holdfast: no Temporal at 127.0.0.1:1")
