"""The state of a run: everything that decides what happens next, as one frozen value."""

from datetime import datetime
from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.budget import Budget, Ledger
from holdfast.contracts.guardrails import (
    OWN_ANSWERS,
    UNRELEASED_ABOVE,
    UNRELEASED_HERE,
    SubjectKind,
    checks_answers,
)
from holdfast.contracts.journal import JournalEvent
from holdfast.contracts.project import ProjectContext
from holdfast.contracts.run import AgentSnapshot, RunMetadata, RunStatus
from holdfast.contracts.sessions.state import SessionState
from holdfast.contracts.state.answering import Answering, AnsweringChange
from holdfast.contracts.state.approaches import Approaches, ApproachesChange
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.chain import ModelChain, ModelChainChange
from holdfast.contracts.state.conversation import Conversation, ConversationChange
from holdfast.contracts.state.effects import EffectRecord, EffectRecordChange
from holdfast.contracts.state.guarding import Guarding, GuardingChange
from holdfast.contracts.state.oversight import Oversight, OversightChange
from holdfast.contracts.state.parts import Parts, PartsChange
from holdfast.contracts.state.phase import Ended, Phase, Stopping, Working
from holdfast.contracts.state.unheard import UnheardMessage
from holdfast.contracts.stops import Stop
from holdfast.contracts.transcript import AssistantTurn, Trust, rate_trust


class RunStateChange(TypedDict, total=False):
    """What may change of it."""

    execution: str
    brief: RunMetadata
    agent: AgentSnapshot
    ledger: Ledger
    calls: tuple[CallState, ...]
    planning: bool
    planned: tuple[str, ...] | None
    progress: str
    journal: tuple[JournalEvent, ...]
    call_marks: tuple[str, ...]
    suspended: bool
    project: ProjectContext | None
    phase: Phase
    started_at: datetime
    ceiling: Budget | None
    session: SessionState | None
    conversation: Conversation
    chain: ModelChain
    oversight: Oversight
    answering: Answering
    effects: EffectRecord
    approaches: Approaches
    parts: Parts
    guarding: Guarding
    unheard: tuple[UnheardMessage, ...]


class RunState(Contract):
    """
    Everything that a run knows. Carried whole when it continues as a new execution.

    `first_execution_run_id` tells it from every other run, `run_id` is the name that somebody
    chose. `execution` is the one whose decisions and approvals count; after a reset it is another
    one. `budget` is what it was started with, `ceiling` are limits that nothing raises, those of
    the run that started this one. `output_schema` is the shape that its starter wants the answer
    in, whoever gives it.

    `calls` are those of the current turn, `call_marks` the first 8 digits of the digests of all
    call ids that models chose, in any execution; `journal` is what history doesn't tell yet. The
    run changes nothing while `planning`, then only by what is `planned`; how far it is a model
    says in `progress`.

    Its `phase` is how far it is from its end. What came and is `unheard` a new execution hears
    first; it is nowhere but in what that begins with.
    """

    run_id: str
    first_execution_run_id: str
    execution: str
    brief: RunMetadata
    agent: AgentSnapshot
    started_at: datetime
    ceiling: Budget | None = None
    budget: Budget | None = Field(default=None, exclude_if=lambda value: value is None)
    ledger: Ledger = Field(default_factory=Ledger)
    conversation: Conversation = Conversation()
    chain: ModelChain = ModelChain()
    oversight: Oversight = Oversight()
    answering: Answering = Answering()
    effects: EffectRecord = EffectRecord()
    approaches: Approaches = Approaches()
    parts: Parts = Parts()
    guarding: Guarding = Guarding()
    calls: tuple[CallState, ...] = ()
    journal: tuple[JournalEvent, ...] = Field(default=(), exclude_if=not_)
    planning: bool = Field(default=False, exclude_if=not_)
    planned: tuple[str, ...] | None = Field(default=None, exclude_if=lambda named: named is None)
    progress: str = Field(default="", exclude_if=not_)
    call_marks: tuple[str, ...] = ()
    suspended: bool = False
    output_schema: JsonObject | None = Field(default=None, exclude_if=lambda shape: shape is None)
    project: ProjectContext | None = None
    phase: Phase = Working()
    session: SessionState | None = Field(default=None, exclude_if=lambda value: value is None)
    unheard: tuple[UnheardMessage, ...] = Field(default=(), exclude_if=not_)

    def with_(self, **changes: Unpack[RunStateChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    def with_conversation(self, **changes: Unpack[ConversationChange]) -> Self:
        """Return a copy with these fields of its `conversation` changed."""
        return self.with_(conversation=self.conversation.with_(**changes))

    def with_chain(self, **changes: Unpack[ModelChainChange]) -> Self:
        """Return a copy with these fields of its `chain` changed."""
        return self.with_(chain=self.chain.with_(**changes))

    def with_oversight(self, **changes: Unpack[OversightChange]) -> Self:
        """Return a copy with these fields of its `oversight` changed."""
        return self.with_(oversight=self.oversight.with_(**changes))

    def with_answering(self, **changes: Unpack[AnsweringChange]) -> Self:
        """Return a copy with these fields of its `answering` changed."""
        return self.with_(answering=self.answering.with_(**changes))

    def with_effects(self, **changes: Unpack[EffectRecordChange]) -> Self:
        """Return a copy with these fields of its `effects` changed."""
        return self.with_(effects=self.effects.with_(**changes))

    def with_approaches(self, **changes: Unpack[ApproachesChange]) -> Self:
        """Return a copy with these fields of its `approaches` changed."""
        return self.with_(approaches=self.approaches.with_(**changes))

    def with_parts(self, **changes: Unpack[PartsChange]) -> Self:
        """Return a copy with these fields of its `parts` changed."""
        return self.with_(parts=self.parts.with_(**changes))

    def with_guarding(self, **changes: Unpack[GuardingChange]) -> Self:
        """Return a copy with these fields of its `guarding` changed."""
        return self.with_(guarding=self.guarding.with_(**changes))

    @property
    def model(self) -> str | None:
        """The model that is asked next, or null when none is left."""
        models = self.agent.models
        return models[self.chain.model_index] if self.chain.model_index < len(models) else None

    @property
    def outcome(self) -> RunStatus | None:
        """How it ended, once it is over."""
        return self.phase.outcome if isinstance(self.phase, Ended) else None

    @property
    def stop(self) -> Stop | None:
        """Why it ended, if it is over and came to no answer."""
        return self.phase.stop if isinstance(self.phase, Ended) else None

    @property
    def outside_stop(self) -> Stop | None:
        """What stopped it, or its graders, from outside: a person, or a full history."""
        match self.phase:
            case Stopping(stop=stop) | Ended(by_person=True, stop=stop):
                return stop
            case Ended(grading_stop=stop):
                return stop
            case _:
                return None

    @property
    def has_graders(self) -> bool:
        """Whether guardrails look at what it came to."""
        return isinstance(self.phase, Ended) and self.phase.grading == "under_way"

    @property
    def is_ending(self) -> bool:
        """Whether nothing more begins: it is over, or stopped, or a session that has no work."""
        return isinstance(self.phase, Stopping | Ended) or self.is_idle

    @property
    def is_over(self) -> bool:
        """Whether nothing begins, not even for guardrails that look at what is ending."""
        return self.is_ending and not self.has_graders

    @property
    def turns_taken(self) -> int:
        """How many turns of a model there were; in a session those of all messages."""
        return self.ledger.turns + (self.session.totals.steps if self.session else 0)

    @property
    def is_idle(self) -> bool:
        """Whether it is a session without work."""
        return self.session is not None and self.session.current is None

    @property
    def withholds(self) -> bool:
        """Whether what a model says here is told to nobody before an answer is out."""
        return self.agent.guards_answers or self.brief.withheld

    @property
    def unreleased_kinds(self) -> tuple[SubjectKind, ...]:
        """What guardrails look at that may hold an answer which isn't out, of whatever run."""
        if self.brief.withheld:
            return UNRELEASED_ABOVE
        return UNRELEASED_HERE if self.withholds else OWN_ANSWERS

    @property
    def trust(self) -> Trust:
        """
        How far the least may be believed of what the model had read when it spoke last.

        Its last reply is no part of that, but for what its provider's own tools brought. What an
        execution before this one left out may have been anything, and so may a summary. A part
        quotes what its whole has read, and the whole what its parts have.
        """
        said = self.conversation
        if said.origin or said.summary or self.brief.tainted or self.parts.tainted:
            return "untrusted"
        # Mostly the first result decides: of a long transcript the rest isn't looked at.
        if any(rate_trust(item) == "untrusted" for item in said.items):
            return "untrusted"
        spoke_last = bool(said.items) and isinstance(said.items[-1], AssistantTurn)
        read = said.items[:-1] if spoke_last else said.items
        # A part's goal is from an agent.
        semi = self.brief.path or any(rate_trust(item) == "semi_trusted" for item in read)
        return "semi_trusted" if semi else "trusted"

    @property
    def streams_text(self) -> bool:
        """
        Whether what a model says is told while it says it.

        Where somebody looks at answers before they are out, only the agent can say so, and no
        start; what is said for a run that withholds it is told to nobody.
        """
        agent, wanted = self.agent, self.brief.stream
        if self.brief.withheld or wanted is False:
            return False
        if checks_answers(agent.guardrails):
            return agent.stream == "before_checks"
        return bool(wanted or agent.stream)
