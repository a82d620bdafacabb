"""
How large a number from outside may be, and how many bytes whatever becomes a payload may have.

A server refuses a payload of more than its `limit.blobSize.error`, and a workflow task of more
than 4 MB; a worker that tried would try for ever. So everything is measured here, in bytes of
JSON, and what is too large is refused, or cut with a note, before it is sent. A number that only
one algorithm needs stands beside it, and what a network may bring beside whoever reads it.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, TypeAlias, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue
from pydantic_core import to_json

from holdfast.contracts.base import JsonObject

# What a server takes

MAX_BLOB_BYTES = 1_048_576
"""What our servers let a payload have (deploy/compose.yaml sets the same); the default is 2 MB."""

MAX_PAYLOAD_BYTES = 1_000_000
"""Whatever is sent: the input of an activity, its result, a state, an answer to a query."""

MAX_HISTORY_BYTES = 10_000_000
"""What an execution may have before the run goes on in a new one; the server's end is 50 MB."""

MAX_PAGE_BYTES = 800_000
"""A page of an answer to a query, where one entry isn't larger by itself."""

MAX_SEARCH_ATTRIBUTE_BYTES = 2_000
"""What runs are searched by, as ASCII; the server ends a run whose attribute has 2,048 bytes."""

MAX_HELD_CLAIMS_BYTES = 1_900
"""What a run says it works on; it is searched by that, too."""

MAX_SEARCHABLE_REQUESTS = 100
"""Requests that can be searched for."""

# Numbers and depths

MAX_NUMBER_CHARS = 40
"""Characters of a number that is written as text."""

MAX_COUNT = 10**12
"""Tokens, calls, characters: more than any run can count."""

MAX_DURATION = timedelta(days=3_650)

MAX_METADATA_NUMBER = 10**30
"""A number in metadata; one with thousands of digits can't even be written."""

MAX_METADATA_DEPTH = 20
"""How deep metadata may be nested."""

MAX_JSON_DEPTH = 100
"""How deep may be nested what a tool brings. A reader takes 200, with all that wraps it."""

MAX_JSON_BYTES = 16 * 2**20
"""What a tool may bring, of which a model is shown what there is room for."""

MAX_JSON_VALUES = 250_000
"""Of how many values it may consist: each is an object of Python, and costs ten microseconds."""

CLEARING_TIMEOUT = timedelta(seconds=60)
"""What a worker takes at most for each look at a result, beyond the time of its tool."""

TOO_DEEP_JSON = b"[" * 1_000 + b"]" * 1_000
"""What stands for a value that is nested too deeply to be written as JSON."""

# What a run begins with

MAX_RUN_ID_CHARS = 128

MAX_AGENT_BYTES = 400_000
"""An agent as a run keeps it: instructions, tools with their schemas, guardrails."""

MAX_GOAL_BYTES = 300_000
MAX_GOAL_CHARS = 200_000
"""What a run is to do."""

MAX_METADATA_BYTES = 50_000
"""What a starter attaches to a run."""

MAX_SENSITIVE_DOMAINS = 200
"""Domains in which a run, or one that it works for, does nothing unapproved."""

MAX_ANCESTORS = 20
"""Agents that a run works for, each of which works for the one before it."""

MAX_KNOWN_EFFECTS = 500
"""Effects of others that a run knows of when it begins; each has 200 bytes at most."""

MAX_LISTED_EFFECTS = 50
"""Effects that the goal of a part names; its permission engine knows them all."""

MAX_EARLIER_ANSWER_CHARS = 20_000
MAX_TIER_FAILURE_CHARS = 500
"""What an earlier attempt came to, in the goal of the next one."""

MAX_PROJECT_FILES_BYTES = 50_000
MAX_PROJECT_TEXT_BYTES = 60_000
"""A project's files about itself, and what a model reads of them."""

# Replies of models

MAX_REPLY_BYTES = 600_000
"""A reply of a model, with its calls, what hosted tools brought, and the answer as data."""

MAX_CALLS_PER_REPLY = 200
"""Of one reply: all of them may run beside each other, and their results go back together."""

MAX_CALL_NAME_CHARS = 200
"""A tool's name or a call's id; they come back in rulings, results and summaries."""

MAX_DEFAULT_ARGUMENTS_BYTES = 100_000
"""What the calls of one reply leave out of their arguments: defaults, all in one payload."""

MAX_PROVIDER_STATE_BYTES = 50_000
"""What a provider wants to see again in the next call."""

MAX_HOSTED_LINES = 20
"""How many hosted calls of a reply get a line of their own: each line is an event of history."""

MAX_NOTES = 50
MAX_NOTE_CHARS = 500
"""How many different notes of adapters the state keeps, and how long they are."""

MAX_COUNTERS = 50
MAX_COUNTER_NAME_CHARS = 100
"""Of one provider, under its own names, in one usage or a sum of many; no provider has twenty."""

MAX_ATTEMPTS_BYTES = 50_000
"""The failed calls of models that a run keeps."""

# Rulings

MAX_RULINGS_BYTES = 800_000
"""The rulings on the calls of one reply; questions to people stand in them once more."""

MAX_RULING_REASON_CHARS = 500
"""The reason of a ruling."""

MAX_RULING_QUOTE_CHARS = 200
"""What a ruling quotes of a call: a model may write a megabyte in many calls."""

MAX_BRIEF_TEXT_BYTES = 300
"""Each text of a ruling, where all of a turn's are too large to be sent together."""

MAX_CANONICAL_BYTES = 4_000
"""Arguments that a ruling writes once more; the call has them too."""

MAX_OBJECTIONS = 20
MAX_OBJECTION_CHARS = 500
"""What is wrong with the arguments of one call."""

# Results of tools

MAX_TURN_BYTES = 750_000
"""A turn of a model with all of its results, which go to the model together."""

MAX_RESULTS_BYTES = 500_000
"""The results of a turn."""

MAX_RESULT_BYTES = 250_000
"""One result; the whole of a larger one is an artifact."""

MAX_RESULT_SUMMARY_CHARS = 60
MAX_RESULT_CHARS = 200_000
"""Text of a result, which has to fit into a payload together with others."""

MAX_FAILURE_BYTES = 10_000
"""A failed call's reason and what to do next, or whatever an activity raises."""

MAX_TOOL_REASON_CHARS = 4_000
"""A failure's reason, which goes to the model whole."""

MAX_NEXT_ACTIONS = 10
"""What may be done after a failure."""

MAX_PROGRESS_BYTES = 10_000
MAX_LIVE_TEXT_BYTES = 8_000
"""What heartbeats tell: of a tool's progress, and of the end of what a model says."""

MAX_LOCAL_RESULTS_BYTES = 2_000_000
"""The results of calls that run inside one workflow task, which is one message of 4 MB."""

MAX_RAW_RESULTS_BYTES = 10_000_000
"""The results of a turn as they come, of which the model is shown what it has room for."""

MAX_CONCURRENT_RESULTS_BYTES = 8_000_000
"""The results of calls that run beside each other."""

MAX_DRAFTS_BYTES = 250_000
"""The drafts of a turn, all of which people are shown."""

MAX_OUTPUT_TAIL_CHARS = 2_000
"""What is told of a failed command's output: the end, where the error stands."""

# People: what they are asked, and what they say

MAX_REQUEST_BYTES = 900_000
"""What a person decides about: a page shows one request whole, whatever else waits."""

MAX_UNREAD_BYTES = 100_000
"""People's words that no model has read yet."""

MAX_PENDING_STEERS = 100
"""How many messages of such words wait."""

MAX_MESSAGE_BYTES = 150_000
"""A message to a run; a larger one isn't read."""

MAX_REASON_BYTES = 500
"""A person's reason in the record of their approval; all records of a turn are sent together."""

MAX_REFUSAL_REASONS = 20
"""How many refusals of one hearing keep their reason: a flood of them is an event of history."""

MAX_VALIDATION_ERROR_CHARS = 500
"""Why an input was refused; names of fields come from strangers."""

# Guardrails

MAX_GUARDRAIL_INPUT_BYTES = 900_000
"""What guardrails are sent at once."""

MAX_JUDGE_BATCH_BYTES = 300_000
"""The messages that are judged together."""

MAX_JUDGED_OUTLINES_BYTES = 400_000
"""The outlines of all requests that the messages which are judged together are about."""

MAX_VERDICTS_BYTES = 300_000
"""What guardrails found."""

MAX_VERDICT_REASON_CHARS = 4_000

MAX_CONSTRAINTS = 20
MAX_CONSTRAINT_CHARS = 2_000
"""What a model has to keep to when it tries again."""

MAX_UNDECIDED_REASON_CHARS = 1_000
"""Why a guardrail couldn't decide."""

MAX_NOTICE_CHARS = 4_000
"""What a model reads of what was found about its answer."""

MAX_BLOCK_DETAIL_CHARS = 2_000
"""Why a run was blocked, with what couldn't be taken back."""

# What a run keeps

MAX_STATE_BYTES = 850_000
"""The whole state that a new execution begins with; words may still come."""

MAX_CARRIED_TRANSCRIPT_BYTES = 600_000
"""The transcript that a new execution begins with, if the rest of its state leaves room."""

MAX_COMPACTED_CHARS = 8_000
"""The summary of a transcript, which goes into every call of the model."""

MAX_KEPT_QUESTION_CHARS = 1_000
"""A question that stands beside its answer when the turn itself is gone."""

MAX_EFFECTS_BYTES = 150_000
"""What is kept of the effects of a run and its parts: a half is for what undoes them."""

MAX_REDUCED_SUMMARY_CHARS = 80
"""The line about an effect of which nothing else fits."""

MAX_COMPENSATION_BYTES = 25_000
"""What is told of effects that were taken back, and as much of those that weren't."""

MAX_PLAN_BYTES = 200_000
"""The subtasks of a goal with their answers, while people are asked how to go on."""

MAX_ANSWERS_BYTES = 500_000
"""The answers of all parts of a goal together."""

MAX_APPROACH_CHARS = 4_000
MAX_FAILURE_REASON_CHARS = 2_000
"""An approach that was given up, and why."""

# Kill switches

MAX_SWITCHES_BYTES = 300_000
"""The state, which leaves room in a payload for whatever switches everything off."""

MAX_SWITCH_NAME_CHARS = 200
MAX_SWITCH_REASON_CHARS = 2_000
"""As in the names and reasons of signals."""

MAX_SWITCH_QUOTE_CHARS = 500
"""A reason that is quoted where there was no room for its switch."""

MAX_SHOWN_SWITCHES = 20
MAX_SHOWN_REASON_CHARS = 300
"""In the details, which are written anew after each message, and in each replay."""

MAX_SWITCH_EVENTS = 1_000
MAX_SWITCH_HISTORY_BYTES = 4_000_000
"""Some 250 changes: a worker that starts reads them all before it decides anything."""


Entry = TypeVar("Entry")


def size(value: object) -> int:
    """Return the size of a value in a payload, in bytes of JSON."""
    return len(to_json(value))


def select_latest(entries: Sequence[Entry], most: int) -> tuple[Entry, ...]:
    """Return the latest entries, as many as have *most* bytes together."""
    left, begin = most, len(entries)
    while begin and (left := left - size(entries[begin - 1])) >= 0:
        begin -= 1
    return tuple(entries[begin:])


def _check_number_chars(value: object) -> object:
    """Refuse a long text before anybody makes a number of it, which may take hours."""
    if isinstance(value, str) and len(value) > MAX_NUMBER_CHARS:
        raise ValueError(f"a number has at most {MAX_NUMBER_CHARS} characters")
    return value


def _check_metadata(value: JsonObject) -> JsonObject:
    """Refuse what is too deep, too large, or has numbers that not every reader can read."""
    level: list[JsonValue] = [value]
    for _ in range(MAX_METADATA_DEPTH):
        level = [inner for outer in level for inner in _inner_values(outer)]
    if any(isinstance(one, dict | list) for one in level):
        raise ValueError(f"it may be nested {MAX_METADATA_DEPTH} deep")
    if (found := size(value)) > MAX_METADATA_BYTES:
        raise ValueError(f"it has {found:,} bytes, and {MAX_METADATA_BYTES:,} is most")
    return value


def _inner_values(value: JsonValue) -> Iterable[JsonValue]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
        case int() | float() if not abs(value) <= MAX_METADATA_NUMBER:  # which NaN is not, either
            raise ValueError(f"a number in it is none, or larger than {MAX_METADATA_NUMBER:.0e}")
        case _:
            return ()


def _check_goal_size(text: str) -> str:
    if (found := size(text)) > MAX_GOAL_BYTES:
        raise ValueError(f"it has {found:,} bytes, and {MAX_GOAL_BYTES:,} is most")
    return text


def _check_searchable(text: str) -> str:
    if (found := len(json.dumps(text))) > MAX_SEARCH_ATTRIBUTE_BYTES:
        raise ValueError(
            f"it has {found:,} bytes of JSON in ASCII, and {MAX_SEARCH_ATTRIBUTE_BYTES:,} is most"
        )
    return text


_BoundedNumber = BeforeValidator(_check_number_chars)

Count: TypeAlias = Annotated[int, _BoundedNumber, Field(strict=True, ge=1, le=MAX_COUNT)]
"""How many of something, one at least."""

Number: TypeAlias = Annotated[int, _BoundedNumber, Field(strict=True, ge=0, le=MAX_COUNT)]
"""How many of something, or none."""

Seconds: TypeAlias = Annotated[
    float, _BoundedNumber, Field(gt=0, le=MAX_DURATION.total_seconds(), allow_inf_nan=False)
]
"""A time that is longer than nothing."""

Dollars: TypeAlias = Annotated[
    Decimal, _BoundedNumber, Field(ge=Decimal("1e-9"), le=Decimal("1e9"), allow_inf_nan=False)
]
"""An amount of money: a billionth of a dollar at least, a billion at most."""

Metadata: TypeAlias = Annotated[JsonObject, AfterValidator(_check_metadata)]
"""What a stranger attaches: of a bounded size and depth."""

Goal: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=MAX_GOAL_CHARS), AfterValidator(_check_goal_size)
]
"""What a run is to do, in words."""

Tenant: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=200), AfterValidator(_check_searchable)
]
"""On whose behalf a run works, by which it is searched too."""
