"""The example in TypeScript does what it says, where node and its packages are."""

import asyncio
import json
import shlex
import shutil
import subprocess
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest
from temporalio.client import Client

from holdfast import Agent, App, worker
from holdfast.client import Holdfast
from holdfast.contracts.base import JsonObject
from holdfast.testing import call, say
from tests.adapters.provider_server import Break, ProviderServer
from tests.holdfast.test_client import asked
from tests.sample import TOOLS, told
from tests.shape.tree import ROOT
from tests.workflows.provider_words import CLAUDE, anthropic, text

pytestmark = pytest.mark.usefixtures("command_line")

FOLDER = ROOT / "examples" / "typescript"
WORDS = " ".join(f"word{number}." for number in range(200))

STOPPED = """
const { now } = Date;
Date.now = () => (new Error().stack.split("\\n")[2].includes("run.js") ? 0 : now());
"""
"""Stops the clock that the program itself looks at; its packages have theirs."""

SCRIPTS = {
    "sender": [call("send", log="/dev/null", text="hello"), told],
    "brief": [say("Hello.")],
}
APP = App(
    agents=[
        Agent(name="talker", instructions="Talk.", models=[CLAUDE]),
        *(
            Agent(name=name, instructions="Do it.", models=[f"scripted:{name}"], tools=TOOLS)
            for name in SCRIPTS
        ),
    ],
    scripts=SCRIPTS,
)


class Example:
    """The program of the example, compiled as its package says."""

    def __init__(self, program: Path) -> None:
        self._program = program

    async def begin(self, *words: str) -> Process:
        return await asyncio.create_subprocess_exec("node", self._program, *words, stdout=PIPE)

    async def run(self, *words: str) -> str:
        """Run a command of it to its end, which is a good one, and return what it wrote."""
        process = await self.begin(*words)
        out, _ = await process.communicate()
        assert process.returncode == 0
        return out.decode()

    async def follow(self, run: str, *cursor: str) -> list[JsonObject]:
        return [json.loads(line) for line in (await self.run("follow", run, *cursor)).splitlines()]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Example:
    packages = FOLDER / "node_modules"
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    if not (packages / "@temporalio" / "client").exists():
        pytest.skip("its packages aren't there: 'npm install' in examples/typescript gets them")
    build = json.loads((FOLDER / "package.json").read_text())["scripts"]["build"]
    compiler, *words = shlex.split(build)
    command = (packages / ".bin" / compiler, *words, "--outDir", tmp_path / "out")
    subprocess.run(command, cwd=FOLDER, check=True)
    monkeypatch.setenv("NODE_PATH", str(packages))
    return Example(tmp_path / "out" / "run.js")


async def test_a_run_is_started_followed_and_approved(
    client: Client, name: str, example: Example
) -> None:
    """Who comes back with a cursor reads what came behind it, and nothing twice."""
    run = Holdfast(client).run(name)
    async with worker.run_worker(client, APP):
        await example.run("start", name, "sender", "go")
        following = asyncio.create_task(example.follow(name))
        await asked(run)
        approved = await example.run("approve", name, "dana")
        whole = await following
        from_here = whole[2]
        rest = await example.follow(name, str(from_here["cursor"]))

    assert approved.startswith("approves: send(")
    assert '"accepted":true' in approved
    assert rest == whole[3:]
    *earlier, end = whole
    assert end["type"] == "result"
    assert isinstance(end["data"], dict)
    assert (end["data"]["status"], end["data"]["answer"]) == ("completed", "send ok")
    assert ("completed", "call_model", False) in [
        (one["type"], one.get("name"), one.get("data")) for one in earlier
    ]


async def test_a_run_is_steered_and_stopped(client: Client, name: str, example: Example) -> None:
    """It has what was said, and a result that says who ended it."""
    run = Holdfast(client).run(name)
    async with worker.run_worker(client, APP):
        await example.run("start", name, "sender", "go")
        await asked(run)
        await example.run("steer", name, "Leave out duplicates.")
        await example.run("stop", name, "not needed any more")
        result = await run.result()

    assert result.stop is not None
    assert (result.status, result.stop.ended_by) == ("stopped", "dana")


async def test_words_are_read_while_they_come(
    client: Client, name: str, example: Example, provider: ProviderServer
) -> None:
    """The first of them before the last is there, each once."""
    provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("pause", after=120))
    async with worker.run_worker(client, APP):
        await example.run("start", name, "talker", "go")
        reading = await example.begin("words", name)
        assert reading.stdout is not None
        early = (await reading.stdout.read(6)).decode()
        provider.going_on.set()
        rest, _ = await reading.communicate()
        await Holdfast(client).run(name).result()

    assert early == WORDS[:6]
    assert WORDS.startswith(early + rest.decode())


async def test_something_is_said_in_a_session(client: Client, name: str, example: Example) -> None:
    """Which opens, and answers."""
    async with worker.run_worker(client, APP):
        said = json.loads(await example.run("say", name, "brief", "Hi"))
        await Holdfast(client).session(name, agent="brief").close()
        await client.get_workflow_handle(name).result()

    assert (said["status"], said["answer"]) == ("completed", "Hello.")


async def test_what_is_said_in_one_moment_is_heard_each(
    client: Client, name: str, example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two programs whose clocks say the same are taken for no repetition of each other."""
    stopped = tmp_path / "stopped.js"
    stopped.write_text(STOPPED)
    monkeypatch.setenv("NODE_OPTIONS", f"--require {stopped}")
    async with worker.run_worker(client, APP):
        await example.run("say", name, "brief", "Hi")
        await example.run("say", name, "brief", "Hi again")
        await Holdfast(client).session(name, agent="brief").close()
        totals: JsonObject = await client.get_workflow_handle(name).result()

    assert totals["messages"] == 2
