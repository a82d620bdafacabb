"""Each line of `holdfast trace` says when it was known."""

import io
import os
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from holdfast.cli.render import show_timed_line
from holdfast.cli.screen import Screen
from holdfast.testing import call, calls, say
from holdfast.trace.reader import read_trace
from holdfast.trace.transcript import lines
from holdfast.trace.words import Line, offset
from tests.holdfast.traces import finished, pondering
from tests.running import Runs

BEGAN = datetime(2026, 11, 21, 11, 58, 34, tzinfo=UTC)


class Paper(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-1, "+0.0s"),
        (0.04, "+0.0s"),
        (12.34, "+12.3s"),
        (59.94, "+59.9s"),
        (59.96, "+1m00s"),
        (123, "+2m03s"),
        (3_600, "+1h00m"),
        (86_399, "+23h59m"),
        (86_400 * 3 + 3_600 * 4, "+3d04h"),
        (86_400 * 99, "+99d00h"),
    ],
)
def test_times_since_the_start_fit_their_column(seconds: float, said: str) -> None:
    """Seven columns hold a hundred days."""
    assert offset(timedelta(seconds=seconds)) == said
    assert len(said) <= len("+59m59s")


async def test_every_line_of_a_run_has_its_time(runs: Runs) -> None:
    """A turn when its reply came, a call when it had a result; the first two lines have none."""
    script = [calls(call("ponder", about="a"), call("ponder_here", about="b")), say("Fine.")]
    async with runs.working(pondering(script)):
        trace = read_trace(await finished(await runs.start("it")))
    told = list(lines(trace))
    (asked, answered), (slow, local) = trace.turns, trace.turns[0].calls

    assert [line.label for line in told if line.at is None] == ["run", "goal"]
    assert [line.at for line in told[2:]] == [
        asked.ended_at,
        *(slow.at, slow.ended_at),
        *(local.at, local.ended_at),
        answered.ended_at,
        trace.ended_at,
        trace.ended_at,
    ]


async def test_lines_of_a_wait_have_the_times_of_people(runs: Runs) -> None:
    """A decision of a policy has the time of its ruling, one of a person that of their words."""
    script = [call("announce", text="x"), say("Done.")]
    async with runs.working(pondering(script)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        trace = read_trace(await finished(run))
    told = {line.label: line.at for line in lines(trace)}
    (announced,) = trace.calls
    (asked,) = trace.requests.values()

    assert told["rule"] == announced.rulings[0].at
    assert told["wait"] == asked.closed_at
    assert told["result"] == announced.ended_at


@pytest.mark.parametrize(
    ("since", "columns", "written"),
    [
        pytest.param(BEGAN, 80, "  +1.5s  says    one two three four five six seven\n", id="wide"),
        pytest.param(
            BEGAN,
            31,
            "  +1.5s  says    one two three \n           four five six seven\n",
            id="narrow",
        ),
        pytest.param(
            None, 80, "11-21 11:58:35  says    one two three four five six seven\n", id="utc"
        ),
    ],
)
def test_times_on_terminals(
    monkeypatch: pytest.MonkeyPatch, since: datetime | None, columns: int, written: str
) -> None:
    """What is too long goes on beside the column of times, where no line begins."""
    paper = Paper()
    monkeypatch.setattr(os, "get_terminal_size", {0: os.terminal_size((columns, 24))}.__getitem__)
    screen = Screen(Console(file=paper, width=columns, force_terminal=True, color_system=None))
    line = Line("says", "one two three four five six seven", at=BEGAN + timedelta(seconds=1.5))

    show_timed_line(screen, line, since)

    assert paper.getvalue() == written
