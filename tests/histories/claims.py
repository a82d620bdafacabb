"""What each stored history has to show, so that none is kept that shows nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from temporalio.api.enums.v1 import EventType

from holdfast.contracts.approvals import RequestKind
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.guardrails import Layer
from holdfast.contracts.run import WORKFLOW_TYPE
from holdfast.trace.reader import read_trace
from holdfast.trace.values import Trace, TraceStatus
from tests.histories import activities
from tests.histories.golden import workflow_type
from tests.histories.playing import Chain


@dataclass(frozen=True)
class Story:
    """The histories of a scenario, and how its own run is read."""

    chains: tuple[Chain, ...]

    @cached_property
    def trace(self) -> Trace:
        return read_trace(self.chains[0])

    @cached_property
    def activities(self) -> list[str]:
        """The activities of the run itself, in their order."""
        return [one.name for history in self.chains[0] for one in activities(history)]

    @cached_property
    def audit(self) -> list[str]:
        """The audit lines that the run left."""
        return [
            one.summary
            for history in self.chains[0]
            for one in activities(history)
            if one.name == "record"
        ]

    @cached_property
    def signals(self) -> list[str]:
        """The signals that the run got."""
        return [
            event.workflow_execution_signaled_event_attributes.signal_name
            for history in self.chains[0]
            for event in history.events
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
        ]


@dataclass(frozen=True)
class Claim:
    """Something that holds of a story, in words and as a function."""

    words: str
    holds: Callable[[Story], bool]


def ended(status: TraceStatus) -> Claim:
    return Claim(f"it ended {status}", lambda story: story.trace.status == status)


def signalled(*names: str) -> Claim:
    return Claim(f"it got {names}", lambda story: set(names) <= set(story.signals))


def asked_for(kind: RequestKind) -> Claim:
    return Claim(
        f"people were asked: {kind}",
        lambda story: any(one.kind == kind for one in story.trace.requests.values()),
    )


def accepted(signal: str) -> Claim:
    return Claim(
        f"{signal} was accepted",
        lambda story: any(
            said.signal == signal and said.accepted for said in story.trace.messages
        ),
    )


def refused(code: OutcomeCode) -> Claim:
    return Claim(
        f"something was refused: {code}",
        lambda story: any(
            said.code == code and said.accepted is False for said in story.trace.messages
        ),
    )


def ruled(verdict: str) -> Claim:
    return Claim(
        f"a call was ruled {verdict}",
        lambda story: any(
            one.verdict == verdict for call in story.trace.calls for one in call.rulings
        ),
    )


def ran(*names: str) -> Claim:
    return Claim(
        f"these ran in this order: {names}",
        lambda story: [one for one in story.activities if one in names] == list(names),
    )


def never_ran(name: str) -> Claim:
    return Claim(f"{name} never ran", lambda story: name not in story.activities)


def noted(*events: str) -> Claim:
    return Claim(
        f"these lines are in history: {events}",
        lambda story: set(events) <= {line.partition(":")[0] for line in story.audit},
    )


def tripped(layer: Layer) -> Claim:
    return Claim(
        f"a guardrail tripped at {layer}",
        lambda story: any(
            spec.layer == layer and guard.has_tripwire(spec.name)
            for guard in story.trace.guardrail_runs
            for spec in (story.trace.agent.guardrails if story.trace.agent else ())
        ),
    )


def executions(least: int) -> Claim:
    return Claim(
        f"it went on in {least} executions or more",
        lambda story: len(story.chains[0]) >= least,
    )


def started(*agents: str) -> Claim:
    def holds(story: Story) -> bool:
        runs = [read_trace(one) for one in story.chains[1:] if workflow_type(one) == WORKFLOW_TYPE]
        return [run.brief.agent if run.brief else "" for run in runs] == list(agents)

    return Claim(f"it started runs of {agents}", holds)


def beside(kind: str) -> Claim:
    return Claim(
        f"a workflow {kind} took part",
        lambda story: any(workflow_type(chain) == kind for chain in story.chains[1:]),
    )


PROVED = Claim(
    "an approval was proved by a token",
    lambda story: any(said.accepted and said.proof for said in story.trace.messages),
)
DRAFT_COMMITTED = Claim(
    "a call committed a draft", lambda story: any(call.draft_id for call in story.trace.calls)
)
LOST_AND_FOUND = Claim(
    "a call was lost, and then found",
    lambda story: any(
        call.lost and call.result and call.result.status == "ok" for call in story.trace.calls
    ),
)
HOSTED = Claim("a tool ran at the provider", lambda story: story.trace.ledger.hosted_calls == 1)
RAISED = Claim(
    "a limit was raised",
    lambda story: any(said.accepted and said.budget for said in story.trace.messages),
)
WENT_BACK = Claim(
    "it went back once",
    lambda story: len(result.attempts) == 1 if (result := story.trace.result) else False,
)
TWO_APPROVED = Claim(
    "two people approved",
    lambda story: (
        {said.author for said in story.trace.messages if said.accepted} == {"alice", "bob"}
    ),
)
LOCAL = Claim(
    "a tool ran within a workflow task",
    lambda story: any(
        one.local and one.name == "glance"
        for history in story.chains[0]
        for one in activities(history)
    ),
)
TRIED_AGAIN = Claim(
    "a call took two attempts", lambda story: [call.attempts for call in story.trace.calls] == [2]
)
SENT_BACK = Claim(
    "an answer was sent back", lambda story: any(turn.objections for turn in story.trace.turns)
)
SWITCHED = Claim(
    "a second model was asked",
    lambda story: (
        [turn.model for turn in story.trace.turns] == ["scripted:first", "scripted:second"]
    ),
)

ANSWERED = Claim(
    "two messages were answered, one after the other",
    lambda story: (
        [one.type for one in story.trace.talk] == ["session.message", "session.outcome"] * 2
    ),
)

HANDED_OVER = Claim(
    "another agent's answer came back, and then one went on",
    lambda story: (
        [line for line in story.audit if line.startswith("handoff")]
        == ["handoff: clerk → carrier: send it", "handoff: clerk → cashier: charge it"]
    ),
)

CLAIMS: Mapping[str, tuple[Claim, ...]] = {
    "approvals": (
        signalled("approval"),
        accepted("approval"),
        refused("unknown_request"),
        ruled("approval_required"),
        ruled("deny"),
        ran("send"),
        never_ran("delete"),
    ),
    "approvals_carried_on": (executions(3), accepted("approval"), ran("send", "send")),
    "two_approvers": (
        accepted("approval"),
        refused("approved_already"),
        TWO_APPROVED,
        ran("send"),
    ),
    "domain_review": (asked_for("review"), accepted("approval"), ran("reserve")),
    "signed_approval": (PROVED, refused("require_stronger_auth"), ran("refund")),
    "drafts": (ruled("run_as_draft_only"), DRAFT_COMMITTED, ran("draft_post", "post")),
    "guardrails_input": (tripped("input"), ended("blocked")),
    "guardrails_output": (tripped("output"), ended("completed")),
    "guardrails_tool": (tripped("pre_execution"), ran("look"), ended("completed")),
    "guardrails_after": (tripped("after_run"), ran("look"), ended("completed")),
    "guardrails_ask": (
        tripped("output"),
        asked_for("review"),
        accepted("approval"),
        ended("completed"),
    ),
    "questions": (ruled("ask_user"), accepted("answer")),
    "lookups": (LOST_AND_FOUND, ran("pay", "find_payment")),
    "steering": (
        signalled("steer", "suspend", "resume"),
        accepted("approval"),
        ended("completed"),
    ),
    "escalation": (asked_for("escalation"), accepted("resolution"), ended("completed")),
    "budget_stop": (noted("stopped"), ended("stopped")),
    "budget_extension": (RAISED, accepted("resolution"), ended("completed")),
    "cancel": (ran("linger"), ended("cancelled")),
    "kill_switch": (beside("HoldfastSwitches"), ruled("deny"), never_ran("send")),
    "tiers": (noted("tier failed"), started("coder", "helper"), ended("completed")),
    "parts": (noted("tier failed"), started("coder", "planner", "hand", "hand")),
    "delegation": (
        started("reader", "carrier"),
        ran("load_case"),
        noted("handoff"),
        HANDED_OVER,
        ended("completed"),
    ),
    "judges": (noted("tripwire"), started("critic", "critic"), ended("completed")),
    "backtracking": (noted("approach", "approach failed"), WENT_BACK, ended("completed")),
    "compaction": (noted("context pruned"), ended("completed")),
    "continue_as_new": (executions(3), ran("look", "look"), ended("completed")),
    "project": (ruled("run_in_sandbox"), ran("open_project", "read_file", "write_file")),
    "hosted_tools": (HOSTED, noted("hosted tool"), ended("completed")),
    "undo": (noted("undone", "not undone"), ran("release", "release"), ended("blocked")),
    "local_tools": (LOCAL, ran("look")),
    "retries": (TRIED_AGAIN, ended("completed")),
    "answer_in_a_shape": (SENT_BACK, ended("completed")),
    "session": (
        signalled("message", "close"),
        executions(3),
        accepted("approval"),
        ran("send"),
        ANSWERED,
        ended("completed"),
    ),
    "fallback": (noted("model switched"), SWITCHED, ended("completed")),
}


def unfounded(name: str, story: Story) -> list[str]:
    """What a scenario's histories should show, and this story doesn't."""
    return [claim.words for claim in CLAIMS[name] if not claim.holds(story)]
