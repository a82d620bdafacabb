"""What the demos share: a server with a worker, commands as a person types them, and patience."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
DEFAULT_UI_PORT = 8233
LOG = ".holdfast/worker.log"
PATIENCE = 60.0
"""Seconds until a demo gives up on a step."""


class DemoFailed(Exception):
    """A step of a demo didn't come about; the message says which."""


def perform(app: str, run: str, play: Callable[[], int]) -> int:
    """Play a demo beside an embedded server and a worker; say where its state stays."""
    port, ui_port = _port(7233), _port(DEFAULT_UI_PORT)
    os.environ["TEMPORAL_ADDRESS"] = f"127.0.0.1:{port}"
    try:
        with _served(app, port, ui_port):
            _show_places(run, ui_port)
            exit_code = play()
    except (DemoFailed, subprocess.SubprocessError) as error:
        sys.stderr.write(f"demo: {error}\n")
        return 1
    tell("The server has stopped; all of it is kept in .holdfast/. To look at it again:")
    print(f"  make dev APP={app}")
    print(f"  .venv/bin/holdfast show {run}    # or trace, in another terminal")
    print(f"  {_address(run, DEFAULT_UI_PORT)}")
    return exit_code


def _show_places(run: str, ui_port: int) -> None:
    """Say where to look while the demo goes on."""
    print(f"  run   {run}")
    print(f"  UI    {_address(run, ui_port)}")
    print(f"  log   {LOG}", flush=True)


def _address(run: str, ui_port: int) -> str:
    return f"http://localhost:{ui_port}/namespaces/default/workflows/{run}"


@contextmanager
def started(
    *command: str, out: int | None = None, **variables: str
) -> Generator[subprocess.Popen[bytes]]:
    """Start a command that goes on while the block lasts; nobody is asked at this terminal."""
    _show(command)
    with subprocess.Popen(
        [HOLDFAST, *command],
        stdin=subprocess.DEVNULL,
        stdout=out,
        env={**os.environ, **variables},
    ) as process:
        try:
            yield process
        finally:
            if sys.exc_info()[0] is not None:
                process.kill()


def call(*command: str) -> None:
    """Run a command to its end."""
    _show(command)
    _succeed(command)


def write(file: Path, *command: str) -> None:
    """Run a command to its end, with what it prints in a file."""
    _show(command, f" > {file}")
    with file.open("wb") as out:
        _succeed(command, out)


def await_request(run: str) -> tuple[str, str, str]:
    """Wait until a run waits for a person; return what names the request that `pending` shows."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        asked = subprocess.run(
            [HOLDFAST, "pending", run, "--json"], check=False, capture_output=True
        )
        if asked.returncode == 0 and (found := json.loads(asked.stdout)):
            return found[0]["request_id"], "--digest", found[0]["digest"]
        time.sleep(0.5)  # a command takes as long of a core, which the worker needs too
    raise DemoFailed(f"run {run} never asked for approval; see 'holdfast trace {run}'")


def tell(words: str) -> None:
    """Say what comes next."""
    print(f"\n{words}", flush=True)


def perform_with_key(app: str, run: str, play: Callable[[], int]) -> int:
    """Play a demo in which Fiona of finance signs, in books of its own."""
    # Of its own, so that there is something left to refund.
    os.environ["SUPPORT_BOOKS"] = f".holdfast/books/{run}.db"
    # A key of its own, and nobody else's signature counts: nothing of it stays.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HOLDFAST_KEYS"] = str(folder / "keys")
        os.environ["HOLDFAST_APPROVERS"] = str(folder / "approvers.json")

        def begin() -> int:
            tell("Fiona of finance makes a key, and the desk trusts its public part.")
            write(folder / "fiona.json", "keys", "new", "fiona", "--no-passphrase")
            call("keys", "trust", str(folder / "fiona.json"))
            return play()

        return perform(app, run, begin)


@contextmanager
def _served(app: str, port: int, ui_port: int) -> Generator[None]:
    """Have an embedded server with its UI, and a worker, while the block lasts."""
    command = ("dev", app, "--port", str(port), "--ui-port", str(ui_port))
    tell("A Temporal server with its UI starts, and a worker.")
    quiet = {"HOLDFAST_LOG": "info", "HOLDFAST_LOG_FILE": LOG}
    with started(*command, out=subprocess.DEVNULL, **quiet) as server:
        _await_server(server, port)
        try:
            yield
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(PATIENCE)


def _await_server(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise DemoFailed("the embedded Temporal server didn't start; its words are above")


def _succeed(command: tuple[str, ...], out: BinaryIO | None = None) -> None:
    done = subprocess.run(
        [HOLDFAST, *command],
        check=False,
        timeout=PATIENCE,
        # On a terminal the person at it would be asked.
        stdin=subprocess.DEVNULL,
        stdout=out,
    )
    if done.returncode:
        raise DemoFailed(f"'holdfast {shlex.join(command)}' failed")


def _show(command: tuple[str, ...], more: str = "") -> None:
    print(f"  $ holdfast {shlex.join(command)}{more}", flush=True)


def _port(wanted: int) -> int:
    """Return the port that is wanted, or any free one when somebody listens there."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", wanted)) != 0:
            return wanted
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
