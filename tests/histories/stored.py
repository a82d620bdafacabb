"""Histories in files: those of a scenario, with the trace that they were read as."""

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import JsonValue, TypeAdapter
from temporalio.client import WorkflowHistory

from holdfast.histories import Export
from tests.histories.neutral import Neutralizer
from tests.histories.playing import Chain

FOLDER = Path(__file__).parent

_EXPORTS = TypeAdapter(tuple[Export, ...])
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def history_file(name: str) -> Path:
    """Where the histories of a scenario are."""
    return FOLDER / f"{name}.json.gz"


def trace_file(name: str) -> Path:
    """Where the trace is that its histories are read as."""
    return FOLDER / f"{name}.trace.txt"


def names() -> list[str]:
    """All scenarios that have stored histories."""
    return sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.json.gz"))


def pack(chains: Sequence[Chain]) -> bytes:
    """Return the bytes of a file, in neutral words. The same histories give the same bytes."""
    neutral = Neutralizer()
    exports = [
        {
            "workflow_id": chain[0].workflow_id,
            "executions": [
                neutral.apply(_JSON.validate_python(one.to_json_dict())) for one in chain
            ],
        }
        for chain in chains
    ]
    text = json.dumps(exports, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return gzip.compress(text.encode(), mtime=0)


def unpack(data: bytes) -> tuple[Chain, ...]:
    """Return the histories of a scenario: of its run first, then of others that took part."""
    return tuple(
        tuple(
            WorkflowHistory.from_json(export.workflow_id, dict(execution))
            for execution in export.executions
        )
        for export in _EXPORTS.validate_json(gzip.decompress(data))
    )


def texts(data: bytes) -> Iterator[str]:
    """Yield every text that a file holds, those in payloads too."""
    yield from _texts(_JSON.validate_json(gzip.decompress(data)))


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case dict():
            for name, field in value.items():
                if name == "data" and isinstance(field, str):
                    yield base64.b64decode(field).decode("utf-8", "replace")
                else:
                    yield from _texts(field)
        case list():
            for one in value:
                yield from _texts(one)
        case str():
            yield value
        case _:
            pass
