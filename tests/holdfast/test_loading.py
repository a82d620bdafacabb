"""An app is found by its name; what keeps it from being imported is one line."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import AppError
from holdfast.app import load_app
from holdfast.cli import main
from holdfast.contracts.tools import ToolContract


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory; what is imported from it is forgotten."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def unloadable(name: str) -> str:
    with pytest.raises(AppError) as raised:
        load_app(name)
    message = str(raised.value)
    assert len(message.splitlines()) == 1
    return message


def test_an_app_is_found_by_module_and_attribute(here: Path) -> None:
    """`module:attribute` in the working directory is enough."""
    (here / "shop.py").write_text(
        "from holdfast import Agent, App\nfrom holdfast.testing import say\n"
        "app = App(agents=[Agent(name='it', instructions='x', models=['scripted:it'])],\n"
        "          scripts={'it': [say('done')]})\n",
        encoding="utf-8",
    )

    assert list(load_app("shop:app").snapshots()) == ["it"]


@pytest.mark.parametrize("name", ["shop", "shop:", ":app", "", ":"])
def test_a_name_that_is_none_is_explained(name: str) -> None:
    """An app is named by module and attribute; the message shows how."""
    assert unloadable(name) == (
        f"{name!r} names no app; write module:attribute, as in examples.reconcile.app:app"
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param(
            "app = 5", "app 'shop:app': 'app' in 'shop' is no holdfast.App", id="something else"
        ),
        pytest.param(
            "other = 5", "app 'shop:app': 'app' in 'shop' is no holdfast.App", id="nothing"
        ),
        pytest.param(
            "import nowhere",
            "app 'shop:app' can't be imported: ModuleNotFoundError: No module named 'nowhere'",
            id="missing library",
        ),
        pytest.param(
            "1 / 0",
            "app 'shop:app' can't be imported: ZeroDivisionError: division by zero (shop.py, line",
            id="error at import",
        ),
        pytest.param(
            "raise ValueError('a\\nb')",
            "app 'shop:app' can't be imported: ValueError: a b",
            id="error of two lines",
        ),
        pytest.param(
            "import sys; sys.exit(0)",
            "app 'shop:app' can't be imported: it ends the program (0): guard that by if __name__",
            id="it leaves",
        ),
        pytest.param("app = (", "app 'shop:app' can't be imported: SyntaxError", id="no Python"),
        pytest.param(
            "from holdfast import App\napp = App(agents=[], policy='p.yaml')",
            "p.yaml: No such file or directory",
            id="no such policy",
        ),
        pytest.param(
            "from holdfast import App\napp = App(agents=[], chat_servers={'s': None})",
            "app 'shop:app': chat server 's': write ChatServer(base_url=...) (shop.py, line 2)",
            id="error of the app",
        ),
        pytest.param(
            "from holdfast import ModelSettings\nModelSettings(resoning='high')",
            "app 'shop:app' can't be imported: ModelSettings: resoning: Extra inputs are not",
            id="a setting that isn't there",
        ),
        pytest.param(
            "from holdfast import ChatServer\nChatServer(base_url='http://x', api_key='k-1')",
            "app 'shop:app' can't be imported: ChatServer: api_key: Extra inputs are not",
            id="a key in the app",
        ),
    ],
)
def test_an_app_that_cant_be_used_is_explained(here: Path, code: str, message: str) -> None:
    """Whatever goes wrong with an app is one line that names the app."""
    (here / "shop.py").write_text(code, encoding="utf-8")

    said = unloadable("shop:app")

    assert said.startswith(message)
    assert "k-1" not in said


def test_an_app_that_isnt_there_is_explained(here: Path) -> None:
    """A module that doesn't exist is named."""
    assert here
    assert unloadable("nowhere_at_all:app") == (
        "app 'nowhere_at_all:app' can't be imported: "
        "ModuleNotFoundError: No module named 'nowhere_at_all'"
    )


def write_shop(folder: Path, risk: str, signature: str, does: str) -> None:
    """Write an app with one tool, which nobody calls here."""
    name, _, _ = signature.partition("(")
    (folder / "shop.py").write_text(
        "from holdfast import Agent, App, Risk, tool\n"
        f"@tool(risk=Risk.{risk})\n"
        f"async def {signature}:\n"
        f'    """{does}."""\n'
        "    raise NotImplementedError\n"
        "app = App(agents=[Agent(name='it', instructions='x', models=['openai:gpt-5.2'],\n"
        f"                        tools=[{name}])])\n",
        encoding="utf-8",
    )


def test_tools_that_ask_people_show_what_an_answer_is(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What such a tool returns is what a person answers, of that type and no other."""
    # TC-04 BY-01
    write_shop(
        here,
        "COMPUTE_ONLY, permission='ask_user'",
        "how_many(question: str) -> int",
        "Ask a person",
    )

    assert main.run(["tools", "shop:app"]) == 0
    shown = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert {line[0] for line in shown if line} >= {*ToolContract.model_fields} - {"name"}
    assert ["output_schema", '{"type": "integer"}'] in shown
    assert ["answer", "a whole number"] in shown


def test_a_tool_that_does_anything_is_warned_of(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is registered, and whoever looks at the app reads what is wrong with it."""
    # NR-10
    write_shop(here, "WRITE_EXTERNAL", "ask_database(sql: str) -> str", "Ask the database")
    told = "argument 'sql' takes any statement: say which with a scope or a type"

    assert main.run(["tools", "shop:app"]) == 0
    assert f"  warning: {told}" in capsys.readouterr().out.splitlines()
    assert main.run(["tools", "shop:app", "--json"]) == 0
    assert [one["warnings"] for one in json.loads(capsys.readouterr().out)] == [[told]]


def test_tools_are_listed_hosted_ones_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`holdfast tools` shows what runs at a provider as well, where nobody is asked before."""
    (here / "shop.py").write_text(
        "from holdfast import Agent, App, HostedTool\nfrom holdfast.tools import ask_user\n"
        "hosted = [HostedTool(name='web_search', options={'max_uses': 3})]\n"
        "app = App(agents=[Agent(name='it', instructions='x', models=['openai:gpt-5.2'],\n"
        "                        tools=[ask_user], hosted=hosted)])\n",
        encoding="utf-8",
    )

    assert main.run(["tools", "shop:app"]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert shown[0] == ["ask_user"]
    assert ["answer", "words"] in shown
    assert ["timeout", "30", "s"] in shown
    assert any(line[:2] == ["output_schema", '{"type":'] for line in shown)
    assert shown[-4:] == [
        ["web_search", "(hosted)"],
        ["risk", "search_only"],
        ["options", '{"max_uses":', "3}"],
        ["agent", "it"],
    ]
