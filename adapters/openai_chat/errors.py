"""From failures of a server, or of OpenAI's SDK on the way to it, to our errors."""

from pydantic import JsonValue
from pydantic_core import from_json

from holdfast.adapters import failures, openai_sdk, wire
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelError


def before_reply(provider: failures.Provider, error: Exception) -> ModelError:
    """Sort what the SDK raised before a reply began."""
    import openai

    match error:
        case openai.APIStatusError(response=response):
            body = _as_openai(response.content)
            answer = failures.ErrorResponse(response.status_code, response.headers, body)
            return failures.from_http(provider, answer)
        case _:
            return openai_sdk.before_reply(provider, error)


def find(raw: JsonObject) -> JsonObject | None:
    """Return the error that came inside of a good answer, or null."""
    match raw:
        case {"error": problem} if problem:
            return _problem(raw)
        case {"choices": [{"error": problem} as choice, *_]} if problem:
            return _problem(choice)
        case {"choices": _}:
            return None
        case {"message": _} | {"detail": _}:
            return _problem(raw)
        case _:
            return None


def _as_openai(body: bytes) -> bytes:
    """Write an error the way OpenAI does: every server has a shape of its own."""
    try:
        value: JsonValue = from_json(body)
    except ValueError:
        return body
    if isinstance(value, list) and value:
        value = value[0]
    return wire.json_text({"error": _problem(value)}).encode() if isinstance(value, dict) else body


def _problem(raw: JsonObject) -> JsonObject:
    inner = raw.get("error")
    problem = inner if isinstance(inner, dict) else raw
    said = [inner if isinstance(inner, str) else problem.get("message"), problem.get("detail")]
    behind = problem.get("metadata")
    if isinstance(behind, dict):
        said += [behind.get("provider_name"), behind.get("raw")]
    texts = [part if isinstance(part, str) else wire.json_text(part) for part in said if part]
    return problem | {"message": ": ".join(texts)}
