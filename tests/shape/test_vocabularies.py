"""Closed vocabularies: each has one home, and everything that has to know a word knows it."""

import ast
import string
from collections.abc import Iterator
from typing import get_args

from holdfast.contracts.approvals import Request, RequestKind
from holdfast.contracts.stops import StopReason
from tests.shape.tree import product_nodes

BESIDE_FIELDS = {"next_safe_action", "ended_by"}
"""What `Stop.because` takes that is no field of a reason's words."""


def named_reasons() -> Iterator[str]:
    """Every member of StopReason that the product names, as often as it does."""
    for _, node in product_nodes():
        match node:
            case ast.Attribute(value=ast.Name(id="StopReason"), attr=name):
                yield name
            case _:
                pass


def stops() -> Iterator[tuple[StopReason, set[str]]]:
    """Every stop that the product builds of a reason by name, with the fields that it gives."""
    for _, node in product_nodes():
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="Stop"), attr="because"),
                args=[ast.Attribute(value=ast.Name(id="StopReason"), attr=name), *_],
                keywords=given,
            ):
                fields = {one.arg for one in given if one.arg} - BESIDE_FIELDS
                yield StopReason[name], fields
            case _:
                pass


def fields_of(reason: StopReason) -> set[str]:
    text = f"{reason.words} {reason.next_safe_action}"
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_reason_stops_a_run() -> None:
    """No word is kept for what can't happen."""
    assert set(StopReason.__members__) == set(named_reasons())


def test_every_stop_fills_in_the_words_of_its_reason() -> None:
    """A field that is forgotten would fail the run where it was to be stopped."""
    found = list(stops())

    assert len(found) >= 10
    assert [(reason, given) for reason, given in found if given != fields_of(reason)] == []


def test_no_stop_has_words_of_its_own() -> None:
    """Why a run can end is said in contracts/stops.py alone."""
    own = [
        f"{path}:{node.lineno}"
        for path, node in product_nodes()
        if isinstance(node, ast.Call)
        if isinstance(node.func, ast.Name)
        if node.func.id == "Stop"
        for given in node.keywords
        if given.arg == "reason"
        if isinstance(given.value, ast.Constant | ast.JoinedStr)
    ]

    assert own == []


def test_every_kind_of_request_is_one_that_is_asked() -> None:
    """The kinds by which people and traces tell requests apart are those of the requests."""
    requests = get_args(get_args(Request)[0])

    assert {one.model_fields["kind"].default for one in requests} == set(get_args(RequestKind))
