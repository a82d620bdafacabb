"""When a run waits for a person although nothing failed: every trigger on both sides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contracts.budget import Budget, Ledger
from holdfast.contracts.control import Triggers
from holdfast.contracts.run import RunMetadata
from holdfast.contracts.usage import CallUsage
from holdfast.run.limits.confidence import Score, ScorePart
from holdfast.run.limits.triggers import (
    Trigger,
    check_confidence,
    check_domain,
    find_trigger,
    seconds_until_slow,
    select_domains_to_hand_on,
)

DEFAULT = Triggers()
EXPECTED = Triggers(expected_time=10)
FREE = Budget()


def spent(tokens: int) -> Ledger:
    return Ledger(usage=CallUsage(input_tokens=tokens - 1, output_tokens=1))


def after_retries(
    retries: int, *acknowledged: str, triggers: Triggers = DEFAULT
) -> Trigger | None:
    return find_trigger(triggers, FREE, Ledger(retries=retries), 0, acknowledged)


@pytest.mark.parametrize(
    ("most", "retries", "pauses"),
    [(3, 0, False), (3, 3, False), (3, 4, True), (0, 0, False), (0, 1, True), (None, 99, False)],
)
def test_more_retries_than_may_be_pause(most: int | None, retries: int, *, pauses: bool) -> None:
    """As many retries as the trigger says go on, the next one pauses."""  # ES-07
    found = after_retries(retries, triggers=Triggers(max_retries=most))

    assert (found is not None) is pauses


def test_a_pause_after_retries_is_explained() -> None:
    """The request says what was asked of a person, why, and what was counted."""  # ES-07 ES-14
    assert after_retries(4) == Trigger(
        name="retries:4",
        action="pause_and_escalate",
        reason="Multiple failures indicate unclear requirements",
        detail="4 retries, and 3 may be",
    )


@pytest.mark.parametrize(
    ("retries", "acknowledged", "pauses"),
    [
        (4, ["retries:4"], False),
        (7, ["retries:4"], False),
        (8, ["retries:4"], True),
        (8, ["retries:4", "retries:8"], False),
        (11, ["retries:8", "retries:4"], False),
        (12, ["retries:4", "retries:8"], True),
        (4, ["models", "tokens:400", "time:9"], True),
    ],
)
def test_who_resumed_is_asked_again_after_as_many_more(
    retries: int, acknowledged: list[str], *, pauses: bool
) -> None:
    """Retries count from the last pause that somebody waved through."""
    assert (after_retries(retries, *acknowledged) is not None) is pauses


@pytest.mark.parametrize(
    ("share", "limit", "used", "pauses"),
    [
        (0.8, 100, 79, False),
        (0.8, 100, 80, False),
        (0.8, 100, 81, True),
        (0.29, 100, 29, False),  # 0.29 * 100 is 28.999999999999996
        (0.29, 100, 30, True),
        (0.8, 1, 1, True),
        (1.0, 100, 100, False),
        (1.0, 100, 101, True),
        (None, 100, 100, False),
        (0.8, None, 10**9, False),
    ],
)
def test_more_than_a_share_of_the_tokens_pauses(
    share: float | None, limit: int | None, used: int, *, pauses: bool
) -> None:
    """The share itself may be used, one token more pauses, and without a limit none does."""
    found = find_trigger(
        Triggers(token_share=share), Budget(max_tokens=limit), spent(used), 0, ()
    )  # ES-13

    assert (found is not None) is pauses


def test_failed_attempts_count_towards_the_share() -> None:
    """What attempts without a reply used up is part of the tokens."""  # ES-13
    used = CallUsage(input_tokens=81)
    ledger = Ledger(usage=used, failed_usage=used)

    found = find_trigger(DEFAULT, Budget(max_tokens=100), ledger, 0, ())

    assert found == Trigger(
        name="tokens:100",
        action="pause_and_escalate",
        reason="Approaching token budget limit",
        detail="81 of 100 tokens, more than 0.8 of them",
    )


@pytest.mark.parametrize(
    ("limit", "used", "pauses"),
    [(100, 81, False), (100, 100, False), (200, 160, False), (200, 161, True)],
)
def test_the_share_of_a_budget_is_asked_about_once(limit: int, used: int, *, pauses: bool) -> None:
    """Waved through for one budget it stays quiet, and speaks again near the end of a larger."""
    found = find_trigger(DEFAULT, Budget(max_tokens=limit), spent(used), 0, ("tokens:100",))

    assert (found is not None) is pauses


@pytest.mark.parametrize(
    ("triggers", "worked", "acknowledged", "pauses"),
    [
        (EXPECTED, 0.0, [], False),
        (EXPECTED, 30.0, [], False),
        (EXPECTED, 30.001, [], True),
        (EXPECTED, 31.0, [], True),
        (EXPECTED, 31.0, ["time:31"], False),
        (EXPECTED, 61.0, ["time:31"], False),
        (EXPECTED, 61.5, ["time:31"], True),
        (DEFAULT, 10.0**9, [], False),
    ],
)
def test_three_times_the_expected_time_pauses(
    triggers: Triggers, worked: float, acknowledged: list[str], *, pauses: bool
) -> None:
    """Work may take three times as long as expected, and again as long once waved through."""
    found = find_trigger(triggers, FREE, Ledger(), worked, acknowledged)  # ES-12

    assert (found is not None) is pauses


def test_slow_work_is_explained() -> None:
    """The name is rounded up, so that the same moment is waved through with it."""  # ES-12
    assert find_trigger(EXPECTED, FREE, Ledger(), 30.4, ()) == Trigger(
        name="time:31",
        action="pause_and_escalate",
        reason="Task taking much longer than expected",
        detail="30 s of work, 10 s were expected",
    )
    assert find_trigger(EXPECTED, FREE, Ledger(), 30.4, ("time:31",)) is None


def test_retries_are_asked_about_first() -> None:
    """Of several triggers one request is made; the others follow when it is resolved."""
    budget, ledger = Budget(max_tokens=100), spent(90).model_copy(update={"retries": 4})
    acknowledged: list[str] = []
    while found := find_trigger(EXPECTED, budget, ledger, 31, acknowledged):
        acknowledged.append(found.name)

    assert acknowledged == ["retries:4", "tokens:100", "time:31"]


@pytest.mark.parametrize(
    ("triggers", "worked", "acknowledged", "seconds"),
    [
        (DEFAULT, 0.0, [], None),
        (EXPECTED, 0.0, [], 30.001),
        (EXPECTED, 29.0, [], 1.001),
        (EXPECTED, 30.0, [], 0.001),
        (EXPECTED, 31.0, [], 0.0),
        (EXPECTED, 31.0, ["time:31"], 30.001),
    ],
)
def test_a_timer_rings_when_the_time_is_over(
    triggers: Triggers, worked: float, acknowledged: list[str], seconds: float | None
) -> None:
    """The timer is a moment longer than what is left; without an expectation there is none."""
    assert seconds_until_slow(triggers, worked, acknowledged) == (
        None if seconds is None else pytest.approx(seconds, abs=1e-9)
    )


TIMES = st.floats(0, 10**8)


@given(st.floats(0.001, 10**7), TIMES, st.lists(st.integers(0, 10**8), max_size=2))
def test_a_run_is_slow_when_its_timer_rings(
    expected: float, worked: float, waved_through: list[int]
) -> None:
    """No timer rings in vain, or a run that only waits for it would set it for ever."""  # ES-12
    triggers = Triggers(expected_time=expected)
    acknowledged = [f"time:{seconds}" for seconds in waved_through]
    left = seconds_until_slow(triggers, worked, acknowledged)

    assert left is not None
    assert find_trigger(triggers, FREE, Ledger(), worked + left, acknowledged) is not None


@given(
    st.integers(0, 500),
    st.integers(1, 200),
    st.integers(1, 10**6),
    st.floats(0, 10**6),
)
def test_what_is_waved_through_is_quiet(
    retries: int, tokens: int, limit: int, worked: float
) -> None:
    """Nobody is asked the same again as long as nothing more has happened."""
    ledger = spent(tokens).model_copy(update={"retries": retries})
    acknowledged: list[str] = []
    for _ in range(3):
        if found := find_trigger(EXPECTED, Budget(max_tokens=limit), ledger, worked, acknowledged):
            acknowledged.append(found.name)

    assert find_trigger(EXPECTED, Budget(max_tokens=limit), ledger, worked, acknowledged) is None


def in_domain(domain: str | None, *held: str) -> RunMetadata:
    """A run that works in a domain, for one that holds some to be sensitive."""
    return RunMetadata(agent="it", domain=domain or None, sensitive_domains=held)


@pytest.mark.parametrize(
    ("domain", "name"),
    [
        ("payments", "domain:payments"),  # ES-08
        ("auth", "domain:auth"),  # ES-09
        ("pii", "domain:pii"),  # ES-10
        ("PII", "domain:pii"),
        (" Payments ", "domain:payments"),
        ("payment", None),
        ("docs", None),
        ("", None),
        (None, None),
    ],
)
def test_a_sensitive_domain_needs_approval(domain: str | None, name: str | None) -> None:
    """However a domain is written, a person approves what is done in a sensitive one."""
    found = check_domain(DEFAULT, in_domain(domain), ())

    assert (found.name if found else None) == name


def test_a_sensitive_domain_is_another_request() -> None:
    """To require an approval is not to pause: action and reason are the trigger's own."""
    assert check_domain(DEFAULT, in_domain("payments"), ()) == Trigger(
        name="domain:payments",
        action="require_approval",
        reason="Sensitive domain requires human review",
        detail="the run works in the domain 'payments'",
    )  # ES-14


@pytest.mark.parametrize(
    ("domain", "reviewed", "waits"),
    [
        ("payments", ["domain:payments"], False),
        ("Payments", ["domain:payments"], False),
        ("payments", ["domain:auth"], True),
        ("payments", ["payments"], True),
    ],
)
def test_a_domain_is_reviewed_once(domain: str, reviewed: list[str], *, waits: bool) -> None:
    """What was approved for one domain holds for it alone."""
    assert (check_domain(DEFAULT, in_domain(domain), reviewed) is not None) is waits


def test_an_app_names_its_own_domains() -> None:
    """The list replaces the default one, and an empty list asks nobody."""
    own = Triggers(sensitive_domains=("Medicine",))

    assert check_domain(own, in_domain("medicine"), ()) is not None
    assert check_domain(own, in_domain("payments"), ()) is None
    assert check_domain(Triggers(sensitive_domains=()), in_domain("payments"), ()) is None


@pytest.mark.parametrize(
    ("least", "value", "pauses"),
    [
        (0.6, 0.59, True),
        (0.6, 0.6, False),
        (0.6, 0.1 + 0.2 + 0.3, False),
        (0.6, 0.6 - 1e-15, False),
        (0.6, 0.61, False),
        (0.0, 0.2, False),
        (1.0, 0.99, True),
        (1.0, 1.0, False),
        (None, 0.0, False),
    ],
)
def test_an_answer_nobody_is_sure_of_pauses(
    least: float | None, value: float, *, pauses: bool
) -> None:
    """The threshold itself is enough, whatever the arithmetic made of it."""  # ES-06 ES-11 T-37
    found = check_confidence(Triggers(min_confidence=least), Score(value, ()), ())

    assert (found is not None) is pauses


def test_low_confidence_is_explained() -> None:
    """Reason and detail are the seeds' words, with the score and what it is made of."""
    found = check_confidence(
        DEFAULT, Score(0.55, (ScorePart("coverage", 0.3), ScorePart("retries", 0.8))), ()
    )

    assert found == Trigger(
        name="confidence:0.55",
        action="pause_and_escalate",
        reason="Low confidence score",  # ES-06
        detail="Low confidence in solution quality: 0.55 (coverage 0.3, retries 0.8) "
        "is below 0.6",  # ES-11
    )


@pytest.mark.parametrize(
    ("value", "acknowledged", "pauses"),
    [
        (0.55, ["confidence:0.55"], False),
        (0.4667, ["confidence:0.4667"], False),
        (0.58, ["confidence:0.55"], False),
        (0.54, ["confidence:0.55"], True),
        (0.5, ["confidence:0.4", "confidence:0.55"], False),
        (0.5, ["retries:4", "time:31"], True),
    ],
)
def test_only_a_worse_answer_is_asked_about_again(
    value: float, acknowledged: list[str], *, pauses: bool
) -> None:
    """Whoever let an answer pass lets one pass that is as good."""
    assert (check_confidence(DEFAULT, Score(value, ()), acknowledged) is not None) is pauses


def test_who_works_for_a_run_holds_to_its_domains() -> None:
    """A part that holds nothing to be sensitive itself asks where its whole would."""
    # ES-08
    own = Triggers(sensitive_domains=())

    assert check_domain(own, in_domain(" Medicine", "medicine"), ()) is not None
    assert check_domain(own, in_domain("payments", "medicine"), ()) is None


MANY = tuple(f"domain {number}" for number in range(200))


@pytest.mark.parametrize(
    ("own", "domain", "held"),
    [
        (("Payments",), "payments", ()),
        (MANY, "zoo", ("zoo",)),
        (MANY, "docs", ("zoo",)),
        (("x" * 101,), "docs", ()),
        ((), "\N{LATIN SMALL LETTER SHARP S}" * 100, ("S" * 100, "s" * 100)),
        (("s" * 200,), "\N{LATIN SMALL LETTER SHARP S}" * 100, MANY),
        ((), None, (" ",)),
        (MANY, None, (" ",)),
        ((" ",), "docs", ()),
    ],
)
def test_whatever_is_handed_on_fits_and_holds(
    own: tuple[str, ...], domain: str | None, held: tuple[str, ...]
) -> None:
    """A run can't be given more domains than it takes, nor longer ones; its own is among them."""
    triggers, whole = Triggers(sensitive_domains=own), in_domain(domain, *held)
    told = {"sensitive_domains": select_domains_to_hand_on(triggers, whole)}

    part = RunMetadata.model_validate({**whole.model_dump(), **told})

    waits = check_domain(triggers, whole, ()) is not None
    assert (check_domain(Triggers(sensitive_domains=()), part, ()) is not None) is waits
