"""What of a subject is words."""

from collections.abc import Iterator

from pydantic import JsonValue

from holdfast.contracts.guardrails import Subject


def collect_text(subject: Subject) -> str:
    """Return the text of a subject, and every text in its data, names of fields too."""
    return "\n".join((subject.text, *_iterate_texts(subject.data)))


def _iterate_texts(data: JsonValue) -> Iterator[str]:
    waiting = [data]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case list() as entries:
                waiting += reversed(entries)
            case dict() as fields:
                for name, value in reversed(fields.items()):
                    waiting += (value, name)
            case _:
                pass
