"""Attack: tools give a secret away in every way they have, and history has it in no guise."""

import asyncio
import base64
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from google.protobuf.json_format import MessageToDict
from pydantic import JsonValue
from structlog.testing import capture_logs
from temporalio.client import WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from holdfast import Agent, App, Budget, Risk, ToolContext, tool
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.run import RunResult
from holdfast.histories import fetch
from holdfast.testing import Reply, call, say
from holdfast.tools.redaction import Redactor
from tests.attacks import leaking
from tests.attacks.leaking import (
    bury,
    encode,
    name_it,
    raise_from_afar,
    raise_it,
    refuse,
    report,
    report_and_wait,
    rotate,
    tell,
    tell_from_afar,
    tell_nearby,
)
from tests.attacks.raising import RAISED, raise_as, raise_as_from_afar
from tests.examples.approvers import trusted
from tests.leaving import leaving
from tests.running import Run, Runs

SECRET = "S3cr3t/\"pä+ss'w\\rd"


def app(*replies: Reply) -> App:
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=(
            *(tell, tell_nearby, encode, name_it, bury, raise_it, refuse, report, rotate),
            *(report_and_wait, tell_from_afar, raise_from_afar),
        ),
        budget=Budget(max_steps=50, max_consecutive_failures=50),
    )
    return App(agents=[agent], scripts={"it": (*replies, say("done"))})


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the secret, which the worker names."""
    made = tmp_path / "password"
    made.write_text(f"{SECRET}\n", encoding="utf-8")
    monkeypatch.setenv("HOLDFAST_SECRET_DB_FILE", str(made))
    return made


def guises(secret: str) -> Iterator[str]:
    """What would tell a reader the secret."""
    content = secret.encode()
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield json.dumps(json.dumps(secret))[3:-3]
    yield repr(secret)[1:-1]
    yield repr(content)[2:-1]
    yield quote(secret)
    yield quote(secret, safe="")
    yield content.hex()
    for write in (base64.b64encode, base64.urlsafe_b64encode):
        yield write(content)[: 4 * (len(content) // 3)].decode()
        yield write(b"a" + content + b"z")[2 : 4 * (len(content) // 3)].decode()
        yield write(b"ab" + content + b"z")[3 : 4 * (len(content) // 3)].decode()


def texts(value: JsonValue) -> Iterator[str]:
    """All texts of a value, those inside of texts too: base64, JSON, lines of base64."""
    match value:
        case str():
            yield value
            yield "".join(value.split())
            try:
                inner = base64.b64decode(value, validate=True).decode()
            except ValueError:
                inner = ""
            if inner:
                yield from texts(inner)
            if value[:1] in {"{", "[", '"'}:
                with contextlib.suppress(ValueError):
                    yield from texts(json.loads(value))
        case list():
            for entry in value:
                yield from texts(entry)
        case dict():
            for name, entry in value.items():
                yield from texts(name)
                yield from texts(entry)
        case _:
            pass


def leaks(value: JsonValue, secret: str = SECRET) -> list[str]:
    """The guises of a secret that stand anywhere in a value."""
    whole = "\n".join(texts(value))
    return [guise for guise in guises(secret) if guise in whole]


async def histories(runs: Runs, run: Run) -> list[JsonValue]:
    """Everything that the server keeps of a run, as the server keeps it."""
    return [history.to_json_dict() for history in await fetch(runs.client, run.handle.id)]


def kept(folder: Path) -> list[JsonValue]:
    """The text of each artifact."""
    return [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.*"))]


async def test_the_search_finds_what_a_tool_gives_away(file: Path) -> None:
    """The search that the next tests rely on does find each guise, deep in a history."""

    class Context:
        def secret(self, name: str) -> str:
            return SECRET

    leaked = await leaking.encode(Context())  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType] -- called as its own author would
    payload = base64.b64encode(json.dumps(leaked).encode()).decode()

    assert set(leaks({"events": [{"data": payload}, [SECRET]]})) == set(guises(SECRET))


async def test_no_guise_of_a_secret_reaches_history_or_artifacts(
    runs: Runs, file: Path, tmp_path: Path
) -> None:
    """Told, encoded, raised, refused, reported, buried: nothing of it leaves the worker."""
    # PP-04
    there = str(file)
    attacked = app(
        *(call("tell"), call("tell_nearby"), call("encode"), call("name_it"), call("bury")),
        *(call("raise_it"), call("refuse"), call("report")),
        *(call("tell_from_afar", file=there), call("raise_from_afar", file=there)),
    )
    with capture_logs() as logs:
        async with runs.working(attacked):
            run = await runs.start("it")
            assert (await run.result()).answer == "done"
            results = await run.results()
            history = await histories(runs, run)
    artifacts = kept(tmp_path / "home" / "artifacts")

    assert leaks(history) == []
    assert leaks(artifacts) == []
    assert leaks(json.loads(json.dumps(logs, default=str))) == []
    statuses = [result.status for result in results]
    assert statuses == ["ok"] * 5 + ["error"] * 3 + ["ok", "error"]
    # All of them had it, or this would prove nothing.
    shown = [result for result in results if result.name not in {"bury", "report"}]
    assert [result.name for result in shown if "[redacted]" not in result.model_dump_json()] == []
    assert len(artifacts) == 1
    assert "[redacted]" in str(artifacts)


@pytest.mark.parametrize("from_afar", [False, True], ids=["in the worker", "from afar"])
async def test_no_exception_takes_a_secret_out(
    runs: Runs,
    file: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    *,
    from_afar: bool,
) -> None:
    """Whatever is raised, and wherever it has the secret: the call failed, and nobody reads it."""
    # PP-04
    raised = raise_as_from_afar if from_afar else raise_as
    more = {"file": str(file)} if from_afar else {}
    calls = (call(raised.contract.name, kind=kind, **more) for kind in RAISED)
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=(raised,),
        budget=Budget(max_steps=50, max_consecutive_failures=50),
    )
    with capture_logs() as logs:
        async with runs.working(App(agents=[agent], scripts={"it": (*calls, say("done"))})):
            run = await runs.start("it")
            assert (await run.result()).answer == "done"
            results = await run.results()
            history = await histories(runs, run)

    assert leaks(history) == []
    assert leaks(json.loads(json.dumps(logs, default=str))) == []
    assert leaks([caplog.text, *capfd.readouterr()]) == []
    assert [result.status for result in results] == ["error"] * len(RAISED)


async def test_no_secret_in_the_progress_that_the_server_shows(
    runs: Runs, file: Path, tmp_path: Path
) -> None:
    """The server shows what a tool reports, and puts it into history when time runs out."""
    go = tmp_path / "go"
    async with runs.working(app(call("report_and_wait", go=str(go)))):
        run = await runs.start("it")
        while not (shown := await progress(run.handle)):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.01)
        go.touch()
        await run.result()

    assert leaks(shown) == []
    assert "[redacted]" in "".join(texts(shown))


async def progress(handle: WorkflowHandle[object, RunResult]) -> list[JsonValue]:
    """What the server knows of the progress of a run's activities."""
    description = (await handle.describe()).raw_description
    pending = [MessageToDict(one) for one in description.pending_activities]
    return [one["heartbeatDetails"] for one in pending if "heartbeatDetails" in one]


async def test_a_secret_that_a_tool_makes_reaches_nobody(runs: Runs, tmp_path: Path) -> None:
    """Of a call that rotates credentials no text is told, though nobody knew it before."""
    # RK-12
    made = "made-a-moment-ago"
    [alice] = trusted(tmp_path / "home", "alice")
    async with runs.working(app(call("rotate"))):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.signal("approval", alice.signed(run.handle.id, request))
        await run.result()
        result = await run.success()
        history = await histories(runs, run)

    assert result.data == {"password": "[withheld]", "length": "[withheld]", "expires": True}
    assert "withheld" in result.summary
    assert leaks(history, made) == []


@pytest.mark.parametrize("raising", [False, True], ids=["returned", "raised"])
async def test_a_secret_that_is_rotated_around_its_use_reaches_nobody(
    runs: Runs, file: Path, *, raising: bool
) -> None:
    """What the tool got was in the file neither when the call began nor when it ended."""
    values = ["first-4kd82hq1", "second-4kd82hq1", "third-4kd82hq1"]
    file.write_text(values[0], encoding="utf-8")

    @tool(risk=Risk.READ_ONLY, max_retries=0)
    async def outdated(ctx: ToolContext) -> str:
        """Return a secret that is only good for a moment."""
        file.write_text(values[1], encoding="utf-8")
        secret = ctx.secret("db")
        file.write_text(values[2], encoding="utf-8")
        if raising:
            raise ConnectionError(secret)
        return secret

    agent = Agent(name="it", instructions="Go.", models=["scripted:it"], tools=[outdated])
    async with runs.working(App(agents=[agent], scripts={"it": [call("outdated"), say("done")]})):
        run = await runs.start("it")
        await run.result()
        history = await run.handle.fetch_history()

    written = b"".join(event.SerializeToString() for event in history.events)
    assert [value for value in values if value.encode() in written] == []


async def test_an_exception_keeps_its_name(runs: Runs, file: Path) -> None:
    """What is redacted is the secret, not what the model needs to go on."""
    async with runs.working(app(call("raise_it"), call("refuse"), call("tell"))):
        run = await runs.start("it")
        await run.result()
        raised, refused, told = await run.results()

    assert isinstance(raised, ToolFailure)
    assert isinstance(refused, ToolFailure)
    assert isinstance(told, ToolSuccess)
    assert raised.reason == "ConnectionError: no way in with '[redacted]'"
    assert (refused.type, refused.reason) == ("auth_expired", "[redacted] is no good")
    assert told.data == "the password is [redacted], don't tell"


async def test_a_list_of_tokens_is_cut_within_none() -> None:
    """Where a long error is cut no half of a credential is told, in history or in the log."""
    tokens = [f"ghp_{number:036}" for number in range(2_000)]
    words = " ".join(tokens)

    for offset in range(45):
        text = f"{'.' * offset}{words}{'.' * offset}"

        async def work(text: str = text) -> None:
            raise RuntimeError(text)

        with capture_logs() as logs, pytest.raises(ApplicationError) as raised:
            await leaving(ActivityEnvironment(), Redactor(frozenset), work)

        told = raised.value.message
        assert "0000000000" not in told + str(logs)
        assert told.endswith(" characters left out)")
        assert int(told.split("… (")[1].split()[0].replace(",", "")) >= len(words) - 10_000
