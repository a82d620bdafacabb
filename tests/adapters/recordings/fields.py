"""Reading JSON so that no field is overlooked: what nobody takes is an error."""

from collections.abc import Callable, Iterator

from tests.adapters.recordings.values import Body, Value


class Unread(AssertionError):
    """A request says something that our items have no place for."""


class Fields:
    """The fields of an object; each is taken once. A field that is null is none."""

    def __init__(self, body: Body) -> None:
        self._body = {name: value for name, value in body.items() if value is not None}

    def take(self, name: str, default: Value = None) -> Value:
        return self._body.pop(name, default)

    def need(self, name: str, *allowed: object) -> None:
        """Take a field that must be one of these, or absent."""
        value = self.take(name, allowed[0])
        if value not in allowed:
            raise Unread(f"{name} is {value!r}")

    def drop(self, name: str, value: object) -> None:
        """Take a field if it has this value, which says nothing."""
        if self._body.get(name) == value:
            del self._body[name]

    def rest(self) -> Body:
        """Take all other fields."""
        left, self._body = self._body, {}
        return left

    def close(self, where: str) -> None:
        if self._body:
            raise Unread(f"{where}: {sorted(self._body)}")


def texts_of(content: str | list[Body]) -> Iterator[str]:
    """Read content that must be nothing but texts."""
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        fields = Fields(block)
        fields.need("type", "text")
        yield fields.take("text")
        fields.close("text")


def choice(fields: Fields, named: Callable[[Body], str], *, with_tools: bool) -> Body:
    """Read which tools may be called, which is something to say only where there are any."""
    wanted: Value = fields.take("tool_choice", "auto")
    several: bool = fields.take("parallel_tool_calls", default=True)
    word = "required" if wanted == "any" else wanted  # as Mistral says it
    tool = word if isinstance(word, str) else named(word)
    return {"tool_choice": tool, "parallel_calls": several} if with_tools else {}
