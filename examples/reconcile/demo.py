"""The demo: a server, a worker, a run, and a person who approves, each a process of its own."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

APP = "examples.reconcile.app:app"
GOAL = "Reconcile orders.csv against payments.csv and send the report to finance@example.com"
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
PATIENCE = 60.0
"""Seconds until the demo gives up on a step."""


class DemoFailed(Exception):
    """A step of the demo didn't come about; the message says which."""


def main() -> int:
    """Run the demo; 0 when the run completed."""
    port, ui_port = _port(7233), _port(8233)
    os.environ["TEMPORAL_ADDRESS"] = f"127.0.0.1:{port}"
    run = f"demo-{uuid.uuid4().hex[:6]}"
    try:
        with _served(port, ui_port):
            _tell("An agent reconciles orders.csv against payments.csv.")
            with _started("run", "reconciler", GOAL, "--id", run) as live:
                _tell("The run waits for a person. Somebody else looks at what it wants, ...")
                _await_request(run)
                _call("pending", run)
                _tell("... and approves it, from a terminal of their own.")
                _call("approve", run, "--approver", "dana", "--reason", "figures checked")
                exit_code = live.wait(PATIENCE)
            _tell("What happened, from the run's history alone:")
            _call("trace", run)
    except (DemoFailed, subprocess.SubprocessError) as error:
        sys.stderr.write(f"demo: {error}\n")
        return 1
    _farewell(run, ui_port)
    return exit_code


@contextmanager
def _served(port: int, ui_port: int) -> Generator[None]:
    """Have an embedded server with its UI, and a worker, while the block lasts."""
    command = ("dev", APP, "--port", str(port), "--ui-port", str(ui_port))
    with _started(*command) as server:
        _await_server(server, port)
        try:
            yield
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(PATIENCE)


@contextmanager
def _started(*command: str) -> Generator[subprocess.Popen[bytes]]:
    _show(command)
    with subprocess.Popen([HOLDFAST, *command]) as process:
        try:
            yield process
        finally:
            if sys.exc_info()[0] is not None:
                process.kill()


def _call(*command: str) -> None:
    _show(command)
    if subprocess.run([HOLDFAST, *command], check=False, timeout=PATIENCE).returncode:
        raise DemoFailed(f"'holdfast {shlex.join(command)}' failed")


def _await_server(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise DemoFailed("the embedded Temporal server didn't start; its words are above")


def _await_request(run: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        asked = subprocess.run(
            [HOLDFAST, "pending", run, "--json"], check=False, capture_output=True
        )
        if asked.returncode == 0 and json.loads(asked.stdout):
            return
    raise DemoFailed(f"run {run} never asked for approval; see 'holdfast trace {run}'")


def _farewell(run: str, ui_port: int) -> None:
    _tell("Look at it in the Temporal UI: its state is kept in .holdfast/.")
    print(f"  make dev APP={APP}")
    print(f"  http://localhost:{ui_port}/namespaces/default/workflows/{run}")
    print("  the report: .holdfast/reports/, what was sent: .holdfast/outbox.jsonl")


def _tell(words: str) -> None:
    print(f"\n{words}", flush=True)


def _show(command: tuple[str, ...]) -> None:
    print(f"  $ holdfast {shlex.join(command)}", flush=True)


def _port(wanted: int) -> int:
    """Return the port that is wanted, or any free one when somebody listens there."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", wanted)) != 0:
            return wanted
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
