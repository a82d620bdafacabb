"""What a run refuses after it was heard is shown as refused, and what followed it as it counts."""

from pydantic import JsonValue

from holdfast.contracts.approvals import ControlVerdict, Verdicts
from holdfast.contracts.base import digest
from holdfast.contracts.journal import MessageRefused
from tests.builders import EXECUTION
from tests.holdfast.written import Written, read

STEER: JsonValue = {"text": "the other one", "by": "dana"}


class Controlled(Written):
    """A run whose signals are judged."""

    def weighed(self, *verdicts: tuple[str, JsonValue, bool]) -> None:
        """Have signals judged: which, what they say, and whether they count."""
        found = tuple(
            ControlVerdict(
                accepted=accepted,
                request_id="",
                reason="" if accepted else "the policy wants it signed",
                code="accepted" if accepted else "require_stronger_auth",
                signal=signal,  # pyright: ignore[reportArgumentType] -- one of them
                digest=digest(words),
            )
            for signal, words, accepted in verdicts
        )
        self._marker("judge", Verdicts(verdicts=(), controls=found, execution=EXECUTION))


def words_of(name: str) -> JsonValue:
    return {"by": name}


def test_a_refused_suspension_leaves_the_next_one() -> None:
    """Two suspend the run, and the first is refused: it is suspended all the same."""
    written = Controlled()
    written.said("suspend", {"by": "eve"})
    written.said("suspend", {"by": "dana"})
    written.weighed(("suspend", {"by": "eve"}, False), ("suspend", {"by": "dana"}, True))
    trace = read(written)

    assert trace.status == "suspended"
    assert [(one.sender, one.accepted) for one in trace.messages] == [
        ("eve", False),
        ("dana", True),
    ]


def test_a_refused_resume_holds_nothing_up() -> None:
    """The parts that held still before it hold still after it, and one that came since counts."""
    eve, dana, fred, gina = map(words_of, ("eve", "dana", "fred", "gina"))
    written = Controlled()
    written.said("suspend", eve)
    written.said("held", {"run_id": "run-1.a"})
    written.said("resume", dana)
    written.said("suspend", fred)
    written.said("held", {"run_id": "run-1.b"})
    written.said("resume", gina)
    written.weighed(("resume", gina, False))
    asked_twice = read(written)
    written.weighed(("suspend", fred, False), ("resume", dana, False))
    asked_once = read(written)

    assert (asked_twice.status, asked_twice.held_parts) == ("suspended", {"run-1.b"})
    assert (asked_once.status, asked_once.held_parts) == ("suspended", {"run-1.a", "run-1.b"})


def test_the_latest_of_the_same_words_is_refused() -> None:
    """Of two that say the same the first has counted, whatever a later journal tells."""
    written = Controlled()
    written.said("steer", STEER)
    written.said("steer", STEER)
    written.tells(
        MessageRefused(signal="steer", digest=digest(STEER), reason="no room", code="full")
    )

    assert [(one.accepted, one.refusal) for one in read(written).messages] == [
        (True, ""),
        (False, "no room"),
    ]
