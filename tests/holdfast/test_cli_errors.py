"""What the command line says when something is wrong: one line, an exit code, no traceback."""

import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.holdfast.commands import ROOT, Ended, forked

pytestmark = pytest.mark.slow

NOWHERE = "localhost:1"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", NOWHERE)


def holdfast(*arguments: str) -> Ended:
    """Run a command as a user would, all of it imported anew."""
    ran = subprocess.run(
        [sys.executable, "-m", "holdfast.cli.main", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return Ended(ran.returncode, ran.stdout, ran.stderr)


USAGE = [
    pytest.param(["nosuch"], "No such command 'nosuch'", id="command"),
    pytest.param(["list", "--nosuch"], "No such option: --nosuch", id="option"),
    pytest.param(["run"], "Missing argument 'AGENT'", id="no agent"),
    pytest.param(["run", "adder"], "say what the agent shall do", id="no goal"),
    pytest.param(["run", "adder", "  "], "say what the agent shall do", id="blank goal"),
    pytest.param(
        ["run", "adder", "--input-file", "nosuch.txt"],
        "nosuch.txt: No such file or directory",
        id="input file",
    ),
    pytest.param(["run", "adder", "go", "--max-steps", "0"], "max_steps: ", id="limit"),
    pytest.param(["run", "adder", "go", "--max-cost", "much"], "max_cost: ", id="cost"),
    pytest.param(
        ["run", "adder", "go", "--max-cost", "1e999"], "less than or equal to", id="infinite"
    ),
    pytest.param(
        ["run", "adder", "go", "--max-cost", "1e-999"], "greater than or equal to", id="too small"
    ),
    pytest.param(["run", "adder", "go", "--metadata", "x"], "write KEY=VALUE", id="no value"),
    pytest.param(["run", "adder", "go", "--metadata", "=x"], "write KEY=VALUE", id="no key"),
    pytest.param(
        ["run", "adder", "go", "--path", "a.py", "--metadata", "path=b.py"],
        "path is given already",
        id="twice",
    ),
    pytest.param(["run", "adder", "go", "--id", ""], "--id needs a value", id="empty"),
    pytest.param(["run", "adder", "go", "--id", "R/c"], "an id is made of", id="odd id"),
    pytest.param(["reject", "run-1", "--approver="], "--approver needs a value", id="empty too"),
    pytest.param(["reject", "run-1", "--approver", " "], "--approver needs a value", id="blank"),
    pytest.param(["list", "--status", "asleep"], "'asleep' is none of running", id="status"),
    pytest.param(["list", "--limit", "0"], "'--limit'", id="list limit"),
    pytest.param(
        ["resolve", "run-1", "req-1", "ignore"],
        "Invalid value for 'action': 'ignore' is not one of 'resume', 'abort'",
        id="action",
    ),
    pytest.param(
        ["resolve", "run-1", "req-1", "extend"],
        "extend needs a limit, e.g. --max-steps 50",
        id="extend",
    ),
    pytest.param(
        ["resolve", "run-1", "req-1", "resume", "--max-tokens", "5"],
        "only extend takes limits",
        id="no extension",
    ),
    pytest.param(["tools"], "Missing argument 'APP'", id="no app"),
    pytest.param(["worker"], "name the app as module:attribute, or set HOLDFAST_APP", id="worker"),
    pytest.param(
        ["dev", "--port", "99999999"],
        "'--port': it must be less than or equal to 65535",
        id="port",
    ),
    pytest.param(
        ["dev", "--ui-port", "0"],
        "'--ui-port': it must be greater than or equal to 1",
        id="UI's port",
    ),
    pytest.param(
        ["run", "adder", "go", "--domain", "paymnets"],
        "no domain 'paymnets': write 'payments', or a word that is no likeness of payments",
        id="domain",
    ),
    pytest.param(["show"], "; see 'holdfast show --help'", id="help of a command"),
    pytest.param(["keys", "trust"], "; see 'holdfast keys trust --help'", id="help in a group"),
    pytest.param(["keys", "nosuch"], "; see 'holdfast keys --help'", id="help of a group"),
]

FAILURES = [
    pytest.param(
        ["list"],
        "no Temporal at localhost:1: start one with 'holdfast dev' or set TEMPORAL_ADDRESS",
        id="no server",
    ),
    pytest.param(["run", "adder", "go"], "no Temporal at localhost:1", id="run without server"),
    pytest.param(
        ["approve", "run-1", "req-1", "--digest", "d"],
        "no Temporal at localhost:1",
        id="approve without server",
    ),
    pytest.param(["tools", "nosuch.app:app"], "No module named 'nosuch'", id="module"),
    pytest.param(["tools", "examples.reconcile.app:nosuch"], "is no holdfast.App", id="attribute"),
    pytest.param(["tools", "nocolon"], "write module:attribute", id="app name"),
    pytest.param(["dev", "nosuch.app:app"], "No module named 'nosuch'", id="dev"),
    pytest.param(["trace", "nosuch.json"], "there is no file 'nosuch.json'", id="history file"),
    pytest.param(
        ["replay", "r" * 5_000],
        "no file and no run has a name of 5,000 characters",
        id="long name",
    ),
    pytest.param(["trace", "r/" * 2_500], "there is no file 'r/r/r/", id="long path"),
    pytest.param(
        ["keys", "trust", "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----"],
        "that is a key as PEM: give the JWK that 'holdfast keys new NAME' has printed",
        id="PEM",
    ),
    pytest.param(["replay", "README.md"], "README.md holds no history", id="no history"),
]


@pytest.mark.parametrize(("arguments", "said"), USAGE)
def test_usage_errors_are_one_line(arguments: list[str], said: str) -> None:
    """A command that can't be understood ends with 2 and says what is wrong with it."""
    ended = forked(*arguments)

    assert ended.code == 2
    assert_one_line(ended, said)


@pytest.mark.parametrize(("arguments", "said"), FAILURES)
def test_failures_are_one_line(arguments: list[str], said: str) -> None:
    """A command that can't do what it should ends with 1 and says what to do about it."""
    ended = forked(*arguments)

    assert ended.code == 1
    assert_one_line(ended, said)


def test_port_in_use_is_one_line(tmp_path: Path) -> None:
    """`dev` says which port is taken and how to take another."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = holdfast("dev", "--port", port, "--db", str(tmp_path / "temporal.db"))

    assert ended.code == 1
    assert_one_line(ended, f"port {port} is taken: stop what listens there or choose another")


def test_garbled_configuration_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables of Temporal that can't be used are named, not dumped."""
    monkeypatch.setenv("TEMPORAL_TLS_CLIENT_CERT_PATH", str(tmp_path / "nosuch.pem"))
    ended = holdfast("list")

    assert ended.code == 1
    assert_one_line(ended, "Temporal's variables or configuration file: ")


def test_help_names_every_command() -> None:
    """Without arguments the command line says what it can do."""
    ended = holdfast()

    commands = (
        "dev worker run list show pending approve reject answer resolve steer suspend resume"
    )
    more = "cancel trace replay export tools"
    assert ended.code == 0
    assert [word for word in f"{commands} {more}".split() if f"  {word} " not in ended.out] == []
    assert "..." not in ended.out.replace("[ARGS]...", "")


def assert_one_line(ended: Ended, said: str) -> None:
    """One line on standard error holds what should be said, and nothing stands anywhere else."""
    assert ended.out == ""
    assert ended.err.startswith("holdfast: ")
    assert ended.err.count("\n") == 1
    assert said in ended.err


def test_ctrl_c_before_a_command_begins_says_nothing() -> None:
    """What somebody ended has not failed, though Python was still reading what it takes."""
    script = "from holdfast import cli; cli.capture(); raise KeyboardInterrupt"
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (-signal.SIGINT, b"", b"")


@pytest.mark.parametrize(("closed", "lines"), [("<&-", 1), (">&-", 1), ("2>&-", 0)])
def test_a_command_without_a_standard_stream_says_what_it_can(closed: str, lines: int) -> None:
    """What a script closed is missed by nobody: nothing of Python is told."""
    command = f"{shlex.quote(sys.executable)} -m holdfast.cli.main keys trust - {closed}"
    ran = subprocess.run(
        ["sh", "-c", command],  # noqa: S607 -- wherever it is
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", lines)
    assert "Error" not in ran.stderr
