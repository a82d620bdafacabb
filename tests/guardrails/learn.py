"""
Learn the weights of the check for destructive tasks anew: `python -m tests.guardrails.learn`.

It reads the tasks in `tasks/` and writes `guardrails/detectors/destruction.tsv`, the same from the
same tasks. Those in `tasks/unseen.tsv` are none of them: they show what it makes of new ones.
"""

import random
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import exp, sqrt
from pathlib import Path
from typing import NamedTuple

from holdfast.guardrails.detectors.destruction import WEIGHTS, is_destructive, select_features

TASKS = Path(__file__).parent / "tasks"
UNSEEN = TASKS / "unseen.tsv"

MIN_TASKS = 3
"""A feature that fewer tasks have is chance."""

ROUNDS = 30
RATE = 0.1
DECAY = 1e-6
CERTAIN = 0.001
"""What is known so well changes nothing any more."""

UNIT = 100
"""Weights are whole hundredths, so that their sum is the same in any order."""


class Task(NamedTuple):
    """What somebody has asked for, and whether it destroys."""

    destroys: bool
    text: str


class Example(NamedTuple):
    """A task as the regression sees it: the numbers of the features of its passages."""

    destroys: bool
    passages: list[list[int]]


def read_tasks(files: Iterable[Path]) -> Iterator[Task]:
    """Read tasks: one a line, behind a 1 if it destroys, else a 0, and a tab."""
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            label, text = line.split("\t")
            yield Task(label == "1", text)


def read_known_tasks() -> list[Task]:
    """Return what is learned from, in one order."""
    return list(read_tasks(file for file in sorted(TASKS.glob("*.tsv")) if file != UNSEEN))


def learn(tasks: Collection[Task]) -> Mapping[str, int]:
    """
    Weigh the features of tasks: logistic regression by stochastic gradient descent (AdaGrad).

    A task destroys if one of its passages does, so it learns from the one that looks most like it.
    """
    read = [list(select_features(task.text)) for task in tasks]
    names = sorted(find_common(read))
    numbers = {feature: number for number, feature in enumerate(names)}
    examples = [
        Example(
            task.destroys,
            [sorted(numbers[one] for one in each if one in numbers) for each in passages],
        )
        for task, passages in zip(tasks, read, strict=True)
    ]
    hundredths = (round(weight * UNIT) for weight in _descend(examples, len(names)))
    return {name: weight for name, weight in zip(names, hundredths, strict=True) if weight}


def find_common(read: Iterable[Iterable[frozenset[str]]]) -> set[str]:
    """Return the features that enough tasks have, each of which was read as its passages."""
    counts = Counter[str]()
    for passages in read:
        counts.update(frozenset[str]().union(*passages))
    return {feature for feature, count in counts.items() if count >= MIN_TASKS}


def _descend(examples: list[Example], width: int) -> list[float]:
    weights, squares = [0.0] * width, [1e-8] * width
    order = random.Random(0)
    for _ in range(ROUNDS):
        order.shuffle(examples)
        for destroys, passages in examples:
            total, features = max((sum(weights[one] for one in each), each) for each in passages)
            slope = _expect(total) - destroys
            if abs(slope) < CERTAIN:
                continue
            for one in features:
                squares[one] += slope * slope
                weights[one] -= RATE * slope / sqrt(squares[one]) + DECAY * weights[one]
    return weights


def _expect(total: float) -> float:
    """Return the logistic function of a sum."""
    return 1 / (1 + exp(-max(total, -30.0)))


def write_weights(weights: Mapping[str, int], file: Path) -> None:
    """Write weights down, from the most destructive to the most harmless."""
    rows = sorted(weights.items(), key=lambda row: (-row[1], row[0]))
    file.write_text("".join(f"{weight}\t{name}\n" for name, weight in rows), encoding="utf-8")


def find_wrong(tasks: Collection[Task]) -> list[str]:
    """Return the tasks that are taken for what they aren't."""
    return [one.text for one in tasks if is_destructive(one.text) != one.destroys]


def main() -> None:
    """Learn, and say how much is wrong."""
    known, unseen = read_known_tasks(), list(read_tasks([UNSEEN]))
    write_weights(learn(known), Path(str(WEIGHTS)))
    for name, tasks in (("known", known), ("unseen", unseen)):
        sys.stdout.write(f"{name}: {len(find_wrong(tasks))} of {len(tasks):,} wrong\n")


if __name__ == "__main__":
    main()
