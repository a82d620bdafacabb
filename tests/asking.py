"""Who asks for an activity, for tests that call one without a server."""

import dataclasses

from temporalio.activity import Info
from temporalio.testing import ActivityEnvironment

from holdfast.contracts.run import WORKFLOW_TYPE


def asked_by_run(run_id: str) -> Info:
    """What an activity knows of its caller when that is a run."""
    return dataclasses.replace(
        ActivityEnvironment.default_info(), workflow_type=WORKFLOW_TYPE, workflow_id=run_id
    )


def in_run(run_id: str) -> ActivityEnvironment:
    """Surroundings of an activity that a run has asked for."""
    environment = ActivityEnvironment()
    environment.info = asked_by_run(run_id)
    return environment
