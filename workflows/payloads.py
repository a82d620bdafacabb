"""How values become payloads: JSON, of a size that every server takes, or a clear error."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest

from google.protobuf.message import Message
from pydantic import ValidationError
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.failure.v1 import Failure
from temporalio.common import RawValue
from temporalio.contrib.pydantic import (
    PydanticJSONPlainPayloadConverter,
    PydanticPayloadConverter,
)
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverter,
    PayloadCodec,
    PayloadConverter,
)
from temporalio.exceptions import ApplicationError

from holdfast.contracts.bounds import MAX_PAYLOAD_BYTES
from holdfast.contracts.errors import HoldfastError, InvalidInput, PayloadTooLarge
from holdfast.contracts.sessions.archive import TOLD_PLAINLY


class BoundedJsonConverter(PydanticJSONPlainPayloadConverter):
    """
    JSON that a worker sends and reads.

    What can't be sent or read ends the run that it belongs to: tried again it would fail for ever.
    What is to be sent has its own bounds; this is for what nobody thought of.
    """

    def to_payload(self, value: object) -> Payload | None:
        payload = super().to_payload(value)
        if payload is not None and len(payload.data) > MAX_PAYLOAD_BYTES:
            found, kind = len(payload.data), type(value).__name__
            raise PayloadTooLarge(f"{kind} has {found:,} bytes, and {MAX_PAYLOAD_BYTES:,} is most")
        return payload

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> object:
        try:
            return super().from_payload(payload, type_hint)
        except ValidationError as error:
            if error.error_count() > 1:  # what is no JSON has one flaw
                raise
            flaws = error.errors(include_url=False, include_input=False)
            if flaws[0]["type"] != "json_invalid":
                raise
            raise InvalidInput(f"a payload can't be read: {flaws[0]['msg']}") from None


_CONVERTERS = {
    encoding: BoundedJsonConverter() if one.encoding == "json/plain" else one
    for encoding, one in PydanticPayloadConverter().converters.items()
}
"""Of all runs together: each keeps how it reads a type, which takes a while to find out."""


class BoundedPayloadConverter(PydanticPayloadConverter):
    """
    Pydantic's own converter, with bounds for JSON.

    Protobuf is read only where it is asked for: the UI asks a workflow for its details with it.
    """

    def __init__(self) -> None:
        self.converters = _CONVERTERS  # six times a step the SDK builds one anew

    def from_payloads(
        self, payloads: Sequence[Payload], type_hints: list[type] | None = None
    ) -> list[object]:
        """Read payloads; one of an encoding that nobody here writes ends what it belongs to."""
        for payload, hint in zip_longest(payloads, type_hints or ()):
            encoding = payload.metadata.get("encoding", b"")
            wanted = encoding in self.converters and (
                b"protobuf" not in encoding or hint is None or _is_message(hint)
            )
            if hint is not RawValue and not wanted:
                raise InvalidInput(f"a payload can't be read: encoding {encoding[:50]!r}, no JSON")
        try:
            return super().from_payloads(payloads, type_hints)
        except RuntimeError as error:
            raise InvalidInput(f"a payload can't be read: {error.__cause__ or error}") from None


def _is_message(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, Message)


class TolerantFailureConverter(DefaultFailureConverter):
    """
    Reads of a failure what can be read: whoever failed an activity by its id may have made it up.

    Left to the SDK, what can't would fail the run, or its workflow task for ever.
    """

    def from_failure(self, failure: Failure, payload_converter: PayloadConverter) -> BaseException:
        try:
            return super().from_failure(failure, payload_converter)
        except (InvalidInput, ValueError, OverflowError):
            return super().from_failure(_strip_details(failure), payload_converter)


class EncodedFailureConverter(TolerantFailureConverter):
    """Leaves what a failure says to the codec; without it the server shows that one failed."""

    def __init__(self) -> None:
        super().__init__(encode_common_attributes=True)
        self._plain = TolerantFailureConverter()

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        if str(exception) in TOLD_PLAINLY:
            self._plain.to_failure(ApplicationError(str(exception)), payload_converter, failure)
        else:
            super().to_failure(exception, payload_converter, failure)


_OWN = Payload(metadata={"encoding": b"json/plain"}, data=b'"read by who wrote it"')

_UNREADABLE = Payload(metadata={"encoding": b"binary/unreadable"})

_MAX_READ_BYTES = 2 * MAX_PAYLOAD_BYTES
"""Bytes that may come of a payload: a codec that unpacks makes a thousand times of what came."""


MAX_PAYLOADS = 100
"""Payloads that are read in one place; nothing of ours sends more than a few together."""

_MANY = (_UNREADABLE, _UNREADABLE)
"""Read instead of too many: a signal of several is refused, one of a single one might not be."""

_READS_IN_A_ROW = 50
"""Payloads after which it is everybody else's turn: most codecs never wait."""


class TolerantCodec(PayloadCodec):
    """
    An app's codec, for which what it can't read is what nobody can read.

    Left to the SDK, one signal of rubbish would fail the workflow task of its run for ever. One
    that can't read what it has just written, or write at all, has no keys for the moment, so that
    is tried again: after *pauses*, in seconds, and by whoever asks for it. What it unpacks beyond
    all bounds isn't kept, or a history would hold more than any memory.
    """

    def __init__(self, codec: PayloadCodec, pauses: Sequence[float] = (0.2, 0.5, 1.0)) -> None:
        self._codec = codec
        self._pauses = pauses
        self._reads = 0
        self._looking = asyncio.Lock()
        self._next_look: asyncio.Task[None] | None = None

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """
        Write payloads as the codec does. Raises HoldfastError where it has no keys.

        That tells nothing of what the codec says, which may quote what it was to seal: the SDK
        would write it to history as it is.
        """
        for pause in self._pauses:
            with suppress(Exception):  # a codec of an app raises whatever its libraries do
                return await self._codec.encode(payloads)
            await asyncio.sleep(pause)
        with suppress(Exception):
            return await self._codec.encode(payloads)
        raise HoldfastError("the app's codec can't write anything now")

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Read payloads; each that can't be read is one of an encoding that nobody knows."""
        if len(payloads) > MAX_PAYLOADS:
            return list(_MANY)
        with suppress(Exception):
            return await self._try_decoding(payloads)
        await self._wait_for_keys()
        found = [await self._decode_one(payload) for payload in payloads]
        return [one for some in found for one in some]

    async def _decode_one(self, payload: Payload) -> list[Payload]:
        with suppress(Exception):
            return await self._try_decoding([payload])
        return [_UNREADABLE]

    async def _try_decoding(self, payloads: Sequence[Payload]) -> list[Payload]:
        self._reads += 1
        if self._reads % _READS_IN_A_ROW == 0:
            await asyncio.sleep(0)
        read = await self._codec.decode(payloads)
        several = len(read) > len(payloads)
        if several and (len(read) > MAX_PAYLOADS or _are_large(read, len(payloads))):
            return list(_MANY)
        return [_bound(one) for one in read]

    async def _wait_for_keys(self) -> None:
        """Raise what a codec does that can't read what it has just written."""
        for pause in self._pauses:
            with suppress(Exception):
                return await self._look_for_keys()
            await asyncio.sleep(pause)
        return await self._look_for_keys()

    async def _look_for_keys(self) -> None:
        """Look once for all that couldn't be read before the look began."""
        if self._next_look is None:
            self._next_look = asyncio.create_task(self._look())
        await asyncio.shield(self._next_look)

    async def _look(self) -> None:
        async with self._looking:
            self._next_look = None
            await self._codec.decode(await self._codec.encode([_OWN]))


def _bound(payload: Payload) -> Payload:
    """Return what a codec has read; nobody can read what is larger than anything of ours."""
    return payload if len(payload.data) <= _MAX_READ_BYTES else _UNREADABLE


def _are_large(payloads: Sequence[Payload], written: int) -> bool:
    """Whether payloads, of which as many were *written* in one or more, have too much together."""
    return sum(len(one.data) for one in payloads) > written * _MAX_READ_BYTES


def take_only(payloads: Sequence[Payload]) -> Payload:
    """Return what was read where there is room for one: of several nobody can read any."""
    return payloads[0] if len(payloads) == 1 else _UNREADABLE


def _strip_details(failure: Failure) -> Failure:
    """Return a failure without details, and without what its own terms don't know."""
    plain = Failure()
    plain.CopyFrom(failure)
    if kind := plain.WhichOneof("failure_info"):
        info: Message = getattr(plain, kind)
        for field, value in info.ListFields():
            terms = field.enum_type
            if field.message_type or (terms and value not in terms.values_by_number):
                info.ClearField(field.name)
    return plain


class InlineDataConverter(DataConverter):
    """
    Takes payloads for what they hold, and never for what lies in external storage.

    The SDK (1.35) fails the workflow task, for ever, when a payload says that it lies elsewhere
    and there is no such place: one signal would hold up a run, or all, whoever sent it.
    """

    @property
    def leaves_payloads(self) -> bool:
        """Whether a payload goes out, and comes in, as it is."""
        return self.payload_codec is None and self.external_storage is None

    @property
    def tolerant_codec(self) -> TolerantCodec | None:
        """The codec, if it is all that changes payloads: it needs no context."""
        found = self.payload_codec if self.external_storage is None else None
        return found if isinstance(found, TolerantCodec) else None

    async def decode(
        self, payloads: Sequence[Payload], type_hints: list[type] | None = None
    ) -> list[object]:
        """Read payloads; what is read without a type, as heartbeats are, may be nothing."""
        try:
            return await super().decode(payloads, type_hints)
        except InvalidInput:
            if type_hints is not None:
                raise
            return []

    async def _decode_reference_payload_sequence(
        self, payloads: Sequence[Payload]
    ) -> list[Payload]:
        return list(payloads)

    async def _external_retrieve_payload_sequence(
        self, payloads: Sequence[Payload]
    ) -> list[Payload]:
        return list(payloads)

    async def _transform_inbound_payloads(self, payloads: Payloads) -> None:
        if self.payload_codec is not None:
            await self.payload_codec.decode_wrapper(payloads)


data_converter = InlineDataConverter(
    payload_converter_class=BoundedPayloadConverter,
    failure_converter_class=TolerantFailureConverter,
)
