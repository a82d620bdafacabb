"""Who asks for an activity, for tests that call one without a server."""

import dataclasses
from datetime import datetime, timedelta

from temporalio.activity import Info
from temporalio.testing import ActivityEnvironment

from holdfast.activities.authority.late_calls import LateCalls
from holdfast.contracts.decisions import AuthorizeCalls, Rulings
from holdfast.contracts.run import WORKFLOW_TYPE
from holdfast.contracts.state.late_calls import LateCall, Whole


def asked_by_run(run_id: str, queued: timedelta = timedelta(0)) -> Info:
    """What an activity knows of its caller when that is a run, and how long it was *queued*."""
    info = ActivityEnvironment.default_info()
    return dataclasses.replace(
        info,
        workflow_type=WORKFLOW_TYPE,
        workflow_id=run_id,
        scheduled_time=info.started_time - queued,
    )


def in_run(run_id: str) -> ActivityEnvironment:
    """Surroundings of an activity that a run has asked for."""
    environment = ActivityEnvironment()
    environment.info = asked_by_run(run_id)
    return environment


class Knowing:
    """A run that knows what a test says of its late calls."""

    def __init__(self, *said: LateCall | Exception) -> None:
        self.said = list(said)
        self.asked: list[int | None] = []

    async def read_late_call(
        self, about: str | Whole, now: datetime, heard: int | None
    ) -> LateCall:
        assert about
        assert now
        self.asked.append(heard)
        said = self.said.pop(0)
        if isinstance(said, Exception):
            raise said
        return said


async def rules_on_nothing(_: AuthorizeCalls) -> Rulings:
    raise AssertionError


UNASKED = LateCalls(Knowing(), rules_on_nothing)
"""No call of these is late."""
