"""The transcript that a model call means: from memory, or else asked of the run itself."""

from collections import OrderedDict
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from holdfast.contracts.errors import TranscriptMismatch
from holdfast.contracts.model import ModelCall, Prefix
from holdfast.contracts.transcript import (
    TranscriptDigest,
    TranscriptItem,
    TranscriptPage,
    TranscriptView,
)
from holdfast.run import context

Kept = TypeVar("Kept")
_Items: TypeAlias = tuple[TranscriptItem, ...]


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
        kept, base, known = self._transcripts.pop(call.run_id, _NOTHING)
        if kept != execution:
            _, base, known = _NOTHING
        if base == call.head:
            return self._remember(call, known, execution)  # an earlier attempt came this far
        if base != call.base or call.base.length == 0:
            known = await self._fetch_items(call)
            base = TranscriptDigest(digest=call.origin).extend(known)
        if base.extend(call.items) != call.head:
            raise TranscriptMismatch(
                f"turn {call.turn}: the transcript held here ends with another digest than the "
                "run's; the next attempt asks the run"
            )
        return self._remember(call, known + call.items, execution)

    def _remember(self, call: ModelCall, items: _Items, execution: str) -> _Items:
        self._keep(self._transcripts, call.run_id, _Transcript(execution, call.head, items))
        return items

    async def _fetch_items(self, call: ModelCall) -> _Items:
        items: _Items = ()
        while len(items) < call.base.length:
            wanted = call.base.length - len(items)
            page = await self._reader.transcript_page(len(items), wanted, call.base.digest)
            if not page.items:
                raise TranscriptMismatch(
                    f"run {call.run_id} has {len(items)} items, its call means {call.base.length}"
                )
            items += page.items
        return items

    def _keep(self, kept: OrderedDict[str, Kept], key: str, value: Kept) -> None:
        kept[key] = value
        while len(kept) > self._capacity:
            kept.popitem(last=False)
