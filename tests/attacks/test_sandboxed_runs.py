"""Whole runs whose calls belong into the sandbox, on a real server."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.client import WorkflowHistory

from holdfast import App, Risk, tool, worker
from holdfast import tools as builtin
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.errors import HoldfastError
from holdfast.testing import call, calls, say
from holdfast.tools.tool import Tool, import_object
from tests.attacks import hostile
from tests.running import Runs
from tests.sample import scripted

TOOLS: Sequence[Tool] = (
    builtin.run_command,
    builtin.run_python,
    builtin.write_file,
    builtin.read_file,
    builtin.http_request,
    hostile.run_briefly,
)

POLICY = """
version: 1
rules:
  - id: programs
    effect: allow
    reason: harmless here
    match: {tools: [run_command], commands: ["ls", "cat", "sleep", "printenv", "rm"]}
  - {id: code, effect: allow, reason: harmless here, match: {tools: [run_python]}}
  - id: hosts
    effect: allow
    reason: they are ours
    match: {tools: [http_request], hosts: ["public.example"]}
"""


@pytest.fixture(autouse=True)
def _needs_a_sandbox(sandbox_home: Path) -> None:
    assert sandbox_home.exists()


def an_app(folder: Path, *script: object, policy: str = POLICY) -> App:
    rules = folder / "policy.yaml"
    rules.write_text(policy, encoding="utf-8")
    return scripted([*script, say("done")], policy=rules, tools=TOOLS)  # pyright: ignore[reportArgumentType] -- turns of a script


def scheduled(history: WorkflowHistory, name: str) -> tuple[str, bool]:
    """The task queue of a tool's activity, and whether it has a time limit."""
    for event in history.events:
        if event.HasField("activity_task_scheduled_event_attributes"):
            found = event.activity_task_scheduled_event_attributes
            if found.activity_type.name == name:
                return found.task_queue.name, found.start_to_close_timeout.ToSeconds() > 0
    raise AssertionError(f"{name} was never scheduled")


async def test_a_listed_command_runs_in_the_sandbox(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listed command runs on the sandbox's queue with a time limit, and sees no secret."""
    # RK-13 RK-15 RK-16 PF-12
    monkeypatch.setenv("HOLDFAST_SECRET_BANK", "hunter2-of-the-worker")
    app = an_app(
        tmp_path,
        call("write_file", path="note.txt", content="kept for the run"),
        calls(
            call("run_command", command=["cat", "note.txt"]),
            call("run_command", command=["printenv"]),
        ),
    )
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        _, shown, environment = await run.results()
        history = await run.handle.fetch_history()

    assert result.status == "completed"
    assert (shown.status, environment.status) == ("ok", "ok")
    assert "kept for the run" in str(shown.model_dump())
    assert "hunter2" not in str(environment.model_dump())
    assert scheduled(history, "run_command") == (f"{runs.queue}-sandbox", True)
    assert scheduled(history, "write_file") == (f"{runs.queue}-sandbox", True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("run_command", {"command": ["wget", "http://public.example/"]}),
        ("http_request", {"url": "http://other.example/"}),
        ("http_request", {"url": "http://public.example@10.0.0.1/"}),
    ],
)
async def test_what_is_not_listed_is_denied_with_next_steps(
    runs: Runs, tmp_path: Path, name: str, arguments: dict[str, JsonValue]
) -> None:
    """A command or host off the list is denied before anything runs, and told what to do."""
    # RK-14 RK-16
    async with runs.working(an_app(tmp_path, call(name, **arguments))):
        run = await runs.start("it")
        result = await run.result()
        failure = await run.failure()
        history = await run.handle.fetch_history()

    assert result.status == "completed"
    assert (failure.status, failure.type) == ("denied", "permission_denied")
    assert failure.next_valid_actions
    with pytest.raises(AssertionError, match="was never scheduled"):
        scheduled(history, name)


REACHING = """
import socket
for host in ("127.0.0.1", "localhost", "::1"):
    try:
        socket.create_connection((host, {port}), timeout=1).close()
        print("reached", host)
    except OSError as error:
        print("nobody at", host)
"""


async def test_what_runs_in_the_sandbox_reaches_no_server_of_its_run(
    runs: Runs, tmp_path: Path
) -> None:
    """Code of a model that knows where the server is can't approve, signal or read anything."""
    # T-18
    host, _, port = runs.client.service_client.config.target_host.rpartition(":")
    app = an_app(
        tmp_path,
        call("run_python", code=REACHING.replace("{port}", port)),
        call("http_request", url=f"http://{host}:{port}/api/v1/namespaces"),
        policy=POLICY.replace("public.example", host),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        code, asked = await run.results()

    assert isinstance(code, ToolSuccess)
    assert str(code.data).count("nobody at") == 3
    assert "reached" not in str(code.data)
    assert asked.status != "ok"


async def test_a_risky_command_waits_for_a_person(runs: Runs, tmp_path: Path) -> None:
    """`rm` pauses for approval although it is listed."""  # RK-18
    app = an_app(tmp_path, call("run_command", command=["rm", "-rf", "old"]))
    async with runs.working(app):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        result = await run.result()
        done = await run.success()

    assert "rm" in request.reason
    assert result.status == "completed"
    assert isinstance(done.data, dict)
    assert done.data["exit_code"] == 0


async def test_a_command_past_its_limit_is_a_result(runs: Runs, tmp_path: Path) -> None:
    """`sleep 600` with a limit of a second has a result within seconds."""  # RK-17
    app = an_app(
        tmp_path,
        call("run_command", command=["sleep", "600"], seconds=1),
        call("run_briefly", code="import time; time.sleep(600)"),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        command, code = await run.results()

    assert command.status == "ok"
    assert '"exit_code":null' in command.model_dump_json()
    assert isinstance(code, ToolFailure)
    assert code.type == "timeout"


@pytest.mark.parametrize("place", ["none", "local"])
async def test_without_a_sandbox_nothing_runs(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Where a worker has no sandbox, calls that need one are denied, and the run goes on."""
    # RK-13
    monkeypatch.setenv("HOLDFAST_SANDBOX", place)
    if place == "local":
        monkeypatch.setenv("PATH", str(tmp_path))
    async with runs.working(an_app(tmp_path, call("run_python", code="1"))):
        run = await runs.start("it")
        result = await run.result()
        failure = await run.failure()
        history = await run.handle.fetch_history()

    assert result.status == "completed"
    assert failure.status == "denied"
    assert "sandbox" in failure.reason
    with pytest.raises(AssertionError, match="was never scheduled"):
        scheduled(history, "run_python")


async def test_sandbox_workers_can_be_apart(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker decides and another, which serves nothing else, runs what needs the sandbox."""
    app = an_app(tmp_path, call("run_python", code="print('far away')"))
    monkeypatch.setenv("HOLDFAST_SANDBOX", "only")
    async with runs.working(app, client=await runs.another_client()):
        monkeypatch.setenv("HOLDFAST_SANDBOX", "elsewhere")
        async with runs.working(app):
            run = await runs.start("it")
            await run.result()
            done = await run.success()

    assert "far away" in str(done.data)


async def test_a_sandbox_worker_without_sandbox_does_not_start(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is there for the sandbox alone says at once that it has none."""
    app = an_app(tmp_path)
    monkeypatch.setenv("HOLDFAST_SANDBOX", "only")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(HoldfastError, match=r"HOLDFAST_SANDBOX is only, .*bubblewrap is missing"):
        async with worker.run_worker(runs.client, app, task_queue=runs.queue):
            pass


async def test_what_a_rule_sends_into_the_sandbox_runs_there(runs: Runs, tmp_path: Path) -> None:
    """A rule may send any tool into the sandbox."""
    rules = """
version: 1
rules:
  - {id: shut-in, effect: sandbox, reason: to be sure, match: {tools: [add]}}
"""
    app = an_app(tmp_path, call("add", a=1, b=2), policy=rules)
    plain = scripted([call("add", a=1, b=2), say("done")], policy=tmp_path / "policy.yaml")
    assert app.policy.rules == plain.policy.rules
    async with runs.working(plain):
        run = await runs.start("it")
        await run.result()
        done = await run.success()
        history = await run.handle.fetch_history()

    assert done.data == 3
    assert scheduled(history, "add")[0] == f"{runs.queue}-sandbox"


BOXED = "version: 1\nrules: [{id: box, effect: sandbox, match: {tools: [enter]}}]\n"


async def test_a_tool_that_the_sandbox_lacks_has_done_nothing(runs: Runs, tmp_path: Path) -> None:
    """One inside a function isn't found by another process, to which a rule may send any tool."""

    @tool(risk=Risk.WRITE_INTERNAL)
    async def enter(name: str) -> str:
        """Enter a name into the book."""
        return f"{name} is entered"

    rules = tmp_path / "policy.yaml"
    rules.write_text(BOXED)
    script = [call("enter", name="ada"), say("done")]
    async with runs.working(scripted(script, policy=rules, tools=[enter])):
        run = await runs.start("it")
        await run.result()
        failure = await run.failure()

    assert (failure.status, failure.type) == ("denied", "permission_denied")
    assert "the sandbox lacks enter" in failure.reason


async def test_a_tool_that_cant_be_loaded_there_has_done_nothing(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose module wants a variable of its worker when it is imported."""
    monkeypatch.setenv("CHOOSY_BOOK", "the book")
    found = import_object("tests.attacks.choosy", "enter")
    assert isinstance(found, Tool)
    rules = tmp_path / "policy.yaml"
    rules.write_text(BOXED)
    script = [call("enter", name="ada"), say("done")]
    async with runs.working(scripted(script, policy=rules, tools=[found])):
        run = await runs.start("it")
        await run.result()
        failure = await run.failure()

    assert failure.status == "error"
    assert "enter can't be loaded in the sandbox: KeyError: 'CHOOSY_BOOK'" in failure.reason
