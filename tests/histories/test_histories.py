"""Runs of all kinds, as earlier code left them: today's code decides and reads the same."""

import json
import re

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import NondeterminismError

from holdfast.runner import RUNNER, OrderedRunner
from holdfast.workflows.agent_run import AgentRun
from holdfast.workflows.agent_session import AgentSession
from holdfast.workflows.payloads import data_converter
from holdfast.workflows.switches import HoldfastSwitches
from tests.histories import golden, stored
from tests.histories.claims import CLAIMS, Story, unfounded
from tests.histories.commands import Listener, recorded
from tests.histories.scenarios import SCENARIOS

RENEW = "was that meant? then: python -m tests.histories.renew {}"

MACHINE = re.compile(
    r"(?<![\w./])/(tmp|home|root|usr|var|opt|work|Users)/"
    r"|\b\d{1,3}(\.\d{1,3}){3}\b"
    r'|PRIVATE KEY|"d":'
)
"""Paths, addresses and private keys."""

each_story = pytest.mark.parametrize("name", stored.names())


def a_replayer(*listeners: Listener, runner: WorkflowRunner = RUNNER) -> Replayer:
    """Replays as a worker works: the same workflows, the same runner, the same converter."""
    return Replayer(
        interceptors=listeners,
        workflows=[AgentRun, AgentSession, HoldfastSwitches],
        workflow_runner=runner,
        data_converter=data_converter,
        debug_mode=True,
    )


def story(name: str) -> Story:
    return Story(stored.unpack(stored.history_file(name).read_bytes()))


def test_every_scenario_is_stored() -> None:
    """A new scenario has histories, a trace and claims; what is no scenario any more is gone."""
    traces = sorted(path.name.partition(".")[0] for path in stored.FOLDER.glob("*.trace.txt"))

    assert stored.names() == traces == sorted(SCENARIOS) == sorted(CLAIMS)


@pytest.mark.slow
@each_story
async def test_stored_histories_replay(name: str) -> None:
    """Each workflow asks today for what it asked then, in the same words: open runs go on."""
    # AD-20 OB-06
    for chain in story(name).chains:
        for history in chain:
            listener = Listener()
            await a_replayer(listener).replay_workflow(history)
            assert listener.asked == recorded(history)


@pytest.mark.slow
@each_story
def test_stored_histories_are_read_as_before(name: str) -> None:
    """The trace that a history folds to is the one that was recorded with it."""
    # AD-20
    before = stored.trace_file(name).read_text(encoding="utf-8")

    assert golden.render(story(name).chains) == before, RENEW.format(name)


@pytest.mark.slow
@each_story
def test_stored_histories_show_what_they_are_for(name: str) -> None:
    """None is kept that doesn't have in it what its scenario is about."""
    assert unfounded(name, story(name)) == []


@each_story
def test_stored_histories_name_no_machine(name: str) -> None:
    """No path, address or key of wherever they were played is in them."""
    data = stored.history_file(name).read_bytes()

    assert [text[:200] for text in stored.texts(data) if MACHINE.search(text)] == []


def renamed(history: WorkflowHistory) -> WorkflowHistory:
    """Return a history in which the first tool that ran has another name."""
    text = json.dumps(history.to_json_dict()).replace('{"name": "look"}', '{"name": "peek"}')
    return WorkflowHistory.from_json(history.workflow_id, text)


async def test_a_history_of_other_decisions_does_not_replay() -> None:
    """The replay isn't blind: what the code of today wouldn't have asked for is found."""
    history = story("continue_as_new").chains[0][0]
    other = renamed(history)

    assert other.events != history.events
    with pytest.raises(NondeterminismError):
        await a_replayer().replay_workflow(other)


@pytest.mark.slow
async def test_stored_histories_replay_in_the_sandbox() -> None:
    """Nor does the code do what the SDK's sandbox forbids, in those with the most kinds of it."""
    ours = (f"holdfast.{room}" for room in ("contracts", "activities", "adapters", "tools"))
    passed = SandboxRestrictions.default.with_passthrough_modules("pydantic", *ours)
    replayer = a_replayer(runner=OrderedRunner(SandboxedWorkflowRunner(restrictions=passed)))
    for name in ("backtracking", "drafts", "parts", "undo"):
        for chain in story(name).chains:
            for history in chain:
                await replayer.replay_workflow(history)
