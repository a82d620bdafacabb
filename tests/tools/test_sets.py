"""Sets have no order: what is compared must not have that of the process by chance."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from holdfast import settings as environment
from tests.tools.effects import identity

ROOT = Path(__file__).parents[2]
SEEDS = ("1", "2", "3")

WORDS = st.lists(st.text(min_size=1, max_size=4), max_size=5, unique=True)
ARGUMENTS = st.fixed_dictionaries(
    {
        "names": WORDS,
        "numbers": st.lists(st.integers(-(2**60), 2**60), max_size=5, unique=True),
        "amounts": st.lists(st.sampled_from(["1.50", "2", "0.1", "7e3"]), max_size=4, unique=True),
        "pairs": st.lists(st.tuples(st.text(max_size=2), st.integers(0, 9)), max_size=4),
        "groups": st.dictionaries(st.text(max_size=2), WORDS, max_size=3),
        "nested": st.lists(WORDS, max_size=3),
        "labels": st.lists(st.fixed_dictionaries({"name": st.text(max_size=2), "marks": WORDS})),
        "shelves": WORDS,
        "covers": st.lists(st.sampled_from(["/w==", "gA==", "aGk=", "AAAA"]), unique=True),
        "queues": st.lists(WORDS, max_size=3),
        "reader": st.fixed_dictionaries({"rights": WORDS}),
    }
)


class Process:
    """A process of its own, with hashes of its own."""

    def __init__(self, seed: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.tools.effects"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PATH": environment.variable("PATH") or os.defpath},
        )
        self.schema = self._line()

    def identity(self, arguments: Mapping[str, JsonValue]) -> str:
        told = _pipe(self._process.stdin)
        told.write(json.dumps(arguments) + "\n")
        told.flush()
        return self._line()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _line(self) -> str:
        return _pipe(self._process.stdout).readline().strip()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


@pytest.fixture(scope="module")
def processes() -> Generator[list[Process]]:
    found = [Process(seed) for seed in SEEDS]
    yield found
    for process in found:
        process.end()


@settings(max_examples=60)
@given(ARGUMENTS)
@pytest.mark.slow
def test_a_call_is_the_same_in_every_process(
    processes: list[Process], arguments: dict[str, JsonValue]
) -> None:
    """Whoever decides about a write knows it again, wherever it was decided before."""
    found = {process.identity(arguments) for process in processes}

    assert found == {identity(arguments)}


@pytest.mark.slow
def test_a_schema_is_the_same_in_every_process(processes: list[Process]) -> None:
    """A default that is a set doesn't make a model's prefix another one."""
    assert len({process.schema for process in processes}) == 1
