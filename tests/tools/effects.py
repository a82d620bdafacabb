"""A process that says of calls what makes two of them the same: arguments in, digest out."""

import dataclasses
import json
import sys
from collections import deque
from decimal import Decimal

from pydantic import Base64Bytes, BaseModel, ConfigDict, RootModel

from holdfast import Risk, tool
from holdfast.contracts.base import JsonObject, digest


class Label(BaseModel):
    """A value that can be a member of a set, and has one."""

    model_config = ConfigDict(frozen=True)

    name: str = ""
    marks: frozenset[str] = frozenset({"new", "old", "lent"})


class Shelves(RootModel[frozenset[str]]):
    """A set by another name."""


@dataclasses.dataclass(frozen=True)
class Reader:
    """Another value with a set."""

    rights: frozenset[str] = frozenset()


@tool(risk=Risk.WRITE_INTERNAL)
async def lend(  # noqa: PLR0917 -- one argument for each kind of set
    names: set[str],
    numbers: frozenset[int],
    amounts: set[Decimal],
    pairs: frozenset[tuple[str, int]],
    groups: dict[str, set[str]],
    nested: frozenset[frozenset[str]],
    labels: frozenset[Label],
    shelves: Shelves,
    reader: Reader,
    covers: frozenset[Base64Bytes],
    queues: deque[frozenset[str]],
    kinds: frozenset[str] = frozenset({"book", "map", "film", "song"}),
) -> None:
    """Lend what the arguments say."""


def identity(arguments: JsonObject) -> str:
    """Return what makes calls with these arguments the same."""
    return lend.effect(arguments)


def main() -> None:
    """Answer each line on standard input with one on standard output."""
    sys.stdout.write(f"{digest(lend.contract.input_schema)}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(f"{identity(json.loads(line))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
