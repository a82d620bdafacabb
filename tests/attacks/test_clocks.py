"""A worker whose clock is set while it decides."""

import dataclasses
from datetime import timedelta

from holdfast.contracts.decisions import Decided
from holdfast.contracts.state.calls import CallState
from holdfast.run import tool_calls
from tests.asking import in_run
from tests.attacks.test_old_approvals import about, deciding
from tests.builders import NOW, a_call, allowed


async def test_a_clock_that_is_set_while_a_decision_waits_makes_it_good_for_no_longer() -> None:
    """The worker's clock is set ahead by an hour between asking and beginning."""
    asking, environment = a_call("book", log="/dev/null"), in_run("run-1")
    environment.info = dataclasses.replace(
        environment.info,
        is_local=True,
        scheduled_time=NOW,
        started_time=NOW + timedelta(hours=1),
    )

    (ruling,) = (await environment.run(deciding().authorize, about(asking))).rulings

    assert isinstance(ruling, Decided)
    late = NOW + timedelta(minutes=50)
    assert tool_calls.select_recent((CallState(call=asking, ruling=ruling),), late) == ()


def test_a_ruling_that_is_dated_ahead_is_not_recent() -> None:
    """Somebody's clock was set: by another one it would be good for as long as that is ahead."""
    asking = a_call("book")
    ahead = allowed(asking).model_copy(update={"at": NOW + timedelta(minutes=1)})

    assert tool_calls.select_recent((CallState(call=asking, ruling=ahead),), NOW) == ()
