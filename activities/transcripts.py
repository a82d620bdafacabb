"""The transcript that a model call means: from memory, or else asked of the run itself."""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, cast

from temporalio.worker import Interceptor, WorkflowInterceptorClassInput

from holdfast.contracts.bounds import size
from holdfast.contracts.errors import TranscriptMismatch
from holdfast.contracts.model import ModelCall, Prefix
from holdfast.contracts.transcript import (
    ReplyReference,
    ToolTurnReference,
    TranscriptDigest,
    TranscriptItem,
    TranscriptPage,
    TranscriptView,
)
from holdfast.run import context
from holdfast.tools.large_json import MAX_INLINE_BYTES, READERS

HOLD_TRANSCRIPT = "holdfast.hold_transcript"
"""What a workflow calls so that activities of its process find its transcript."""

Kept = TypeVar("Kept")
_Items: TypeAlias = tuple[TranscriptItem, ...]
HoldTranscript: TypeAlias = Callable[[str, str, TranscriptDigest, _Items], None]


class RunReader(Protocol):
    """
    Asks the run that asked for this activity what it knows.

    Queries leave no trace in history.
    """

    async def prefix(self) -> Prefix:
        """Return instructions and tool schemas of the run."""
        ...

    async def transcript_page(self, offset: int, limit: int, digest: str) -> TranscriptPage:
        """Return a part of the transcript of the run."""
        ...


class _Transcript(NamedTuple):
    execution: str
    digest: TranscriptDigest
    items: _Items


_NOTHING = _Transcript("", TranscriptDigest(), ())


class Transcripts:
    """
    The transcripts and prefixes that this process has seen, as many as fit.

    Any of them may be missing, and all of them are always missing when *capacity* is 0: the run
    itself holds the truth. What comes from here is proven by the rolling digest of the call, and
    kept with the execution whose call it is: no other run gets it, and what was kept of a run
    gives way to what its next execution begins with.
    """

    def __init__(self, reader: RunReader, capacity: int = 256) -> None:
        self._reader = reader
        self._capacity = capacity
        self._transcripts: OrderedDict[str, _Transcript] = OrderedDict()
        self._remains: OrderedDict[str, tuple[TranscriptView, _Items, _Items]] = OrderedDict()
        self._prefixes: OrderedDict[str, Prefix] = OrderedDict()
        self._lock = Lock()

    @property
    def keeps_any(self) -> bool:
        """Whether there is room for any."""
        return self._capacity > 0

    def hold(self, run_id: str, execution: str, head: TranscriptDigest, items: _Items) -> None:
        """Keep the transcript of a run that is about to ask a model; workflow threads call it."""
        self._keep(self._transcripts, run_id, _Transcript(execution, head, items))

    async def prefix(self, call: ModelCall) -> Prefix:
        """Return instructions and tool schemas under the digest that the call names."""
        known = self._prefixes.get(call.prefix)
        if known is None:
            known = await self._reader.prefix()
            if known.digest != call.prefix:
                raise TranscriptMismatch(f"run {call.run_id} has another prefix than its call")
            self._keep(self._prefixes, call.prefix, known)
        return known

    async def view(self, call: ModelCall, execution: str) -> _Items:
        """Return what the model is shown of the transcript; raises as `transcript` does."""
        items, seen = await self.transcript(call, execution), call.view
        place = context.find_settled_end(items, seen)
        old = items[:place]
        view, known, shown = self._remains.get(call.run_id, (None, (), ()))
        # They are mostly the very same items, so comparing them costs little.
        if view != seen or known != old:
            shown = context.reduce_settled_items(old, seen, call.max_context_bytes)
            self._keep(self._remains, call.run_id, (seen, old, shown))
        return shown + items[place:]

    async def transcript(self, call: ModelCall, execution: str) -> _Items:
        """
        Return the whole transcript that the call means.

        Raises TranscriptMismatch when it isn't the one that the run means; the next attempt then
        asks the run.
        """
        with self._lock:
            kept, place, known = self._transcripts.pop(call.run_id, _NOTHING)
        if kept == execution and place == call.head:
            return self._remember(call, known, execution)  # its run left it, or an attempt did
        if kept != execution or place.length >= call.head.length:
            place, known = TranscriptDigest(digest=call.origin), ()
        new = _select_whole(call) if place == call.base else None
        if new is None:
            new = await self._fetch_items(call, place)
        if await _extend(place, new, call.run_id) != call.head:
            raise TranscriptMismatch(
                f"turn {call.turn}: the transcript held here ends with another digest than the "
                "run's; the next attempt asks the run"
            )
        return self._remember(call, known + new, execution)

    def _remember(self, call: ModelCall, items: _Items, execution: str) -> _Items:
        self._keep(self._transcripts, call.run_id, _Transcript(execution, call.head, items))
        return items

    async def _fetch_items(self, call: ModelCall, place: TranscriptDigest) -> _Items:
        items: _Items = ()
        while len(items) < call.head.length - place.length:
            begin = place.length + len(items)
            wanted = call.head.length - begin
            page = await self._reader.transcript_page(begin, wanted, call.head.digest)
            if not page.items:
                raise TranscriptMismatch(
                    f"run {call.run_id} has {begin} items, its call means {call.head.length}"
                )
            items += page.items
        return items

    def _keep(self, kept: OrderedDict[str, Kept], key: str, value: Kept) -> None:
        with self._lock:
            kept[key] = value
            kept.move_to_end(key)
            while len(kept) > self._capacity:
                kept.popitem(last=False)


class TranscriptInterceptor(Interceptor):
    """Has the workflows of a worker leave their transcripts to activities that keep any."""

    def __init__(self, transcripts: Transcripts) -> None:
        self._transcripts = transcripts

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> None:
        if self._transcripts.keeps_any:
            theirs = cast("dict[str, HoldTranscript]", input.unsafe_extern_functions)  # pyright: ignore[reportUnknownMemberType] -- of any functions
            theirs[HOLD_TRANSCRIPT] = self._transcripts.hold


async def _extend(place: TranscriptDigest, new: _Items, run_id: str) -> TranscriptDigest:
    """Return the place behind *new* items; where these are large beside the loop."""
    extend = partial(place.extend, new)
    return await READERS.run(run_id, extend) if size(new) > MAX_INLINE_BYTES else extend()


def _select_whole(call: ModelCall) -> _Items | None:
    """Return the new items of a call; null where it names some that history has."""
    whole = tuple(
        item for item in call.items if not isinstance(item, ReplyReference | ToolTurnReference)
    )
    return whole if len(whole) == len(call.items) else None
