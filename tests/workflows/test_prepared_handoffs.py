"""What is prepared for whom a run is handed to: for that agent alone, and of any size."""

from collections.abc import Sequence

import pytest

from holdfast import Agent, App, Handoff, HandoffData, Risk, Tool, tool
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.transcript import UserTurn
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from holdfast.tools import read_result
from tests.histories import names
from tests.memory.runs import MemoryRuns
from tests.sample import IMPATIENT, TOOLS
from tests.workflows.test_handoffs import TRANSFER, load_context, load_much

GOAL = 'charge order 7:\n\n  "29.00" — 荷物, <all> of it' + " and more" * 2_000


@tool(risk=Risk.READ_ONLY)
async def load_route(goal: str) -> HandoffData:
    """Load the way that parcels go."""
    return HandoffData(architecture="over the hills")


def agency(
    triage: Script,
    receiver: Script,
    *,
    returns: bool,
    ours: Sequence[Tool] = (),
    theirs: Sequence[Tool] = (),
    prepare: Tool = load_context,
) -> App:
    """An app whose agent `triage` hands over to four others; for two of them is prepared."""
    prepared = {"billing": prepare, "shipping": load_route, "legal": None, "sales": None}
    return App(
        agents=[
            Agent(
                name="triage",
                instructions="Find out who can help.",
                models=["scripted:triage"],
                settings=IMPATIENT,
                tools=(*TOOLS, *ours),
                handoffs=[
                    Handoff(name, when="it fits", prepare=one, return_expected=returns)
                    for name, one in prepared.items()
                ],
            ),
            *(
                Agent(
                    name=name,
                    instructions="Do it.",
                    models=["scripted:receiver"],
                    settings=IMPATIENT,
                    tools=(*TOOLS, *theirs),
                )
                for name in prepared
            ),
        ],
        scripts={"triage": triage, "receiver": receiver},
    )


class Receiving:
    """Notes the words that a receiver begins with, and answers."""

    def __init__(self) -> None:
        self.words = ""

    def __call__(self, turn: ScriptTurn) -> Reply:
        if not self.words:
            self.words = [one.text for one in turn.transcript if isinstance(one, UserTurn)][-1]
        return say("It is done.")


@pytest.mark.parametrize("returns", [True, False], ids=["comes back", "goes on"])
@pytest.mark.parametrize(
    ("receiver", "ran", "reads"),
    [
        ("billing", ["load_context"], "one ledger"),
        ("shipping", ["load_route"], "over the hills"),
        ("legal", [], None),
    ],
)
async def test_each_receiver_has_its_own_prepared(
    memory_runs: MemoryRuns, receiver: str, ran: list[str], reads: str | None, *, returns: bool
) -> None:
    """Each has what is registered for it, and whoever has nothing has none."""
    # HO-01 HO-03 HO-07
    receiving = Receiving()
    turn = call(f"transfer_to_{receiver}", goal=GOAL)
    async with memory_runs.working(agency([turn, say("Done.")], receiving, returns=returns)):
        run = await memory_runs.start("triage", "help me")
        await run.result()
        story = await run.story()

    assert [name for name in names(story) if name.startswith("load_")] == ran
    assert f"What is to be done: {GOAL}" in receiving.words
    assert [text for text in ("one ledger", "over the hills") if text in receiving.words] == (
        [reads] if reads else []
    )


@pytest.mark.parametrize("returns", [True, False], ids=["comes back", "goes on"])
async def test_what_is_too_large_begins_in_words(
    memory_runs: MemoryRuns, *, returns: bool
) -> None:
    """The receiver reads how it begins as it was written, and goes on."""
    # HO-08
    receiving = Receiving()
    app = agency([TRANSFER, say("Done.")], receiving, returns=returns, prepare=load_much)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "help me")
        result = await run.result()

    assert result.status == "completed"
    _, _, shown = receiving.words.partition("begins so; the whole is in ")
    assert shown.partition(":\n")[2].startswith('{"files":{},"architecture":"xxx')
    assert len(receiving.words) < 3_000


@pytest.mark.parametrize("ours", [(), (read_result,)], ids=["alone", "as its sender"])
async def test_a_receiver_reads_on_in_what_was_too_large(
    memory_runs: MemoryRuns, ours: Sequence[Tool]
) -> None:
    """It has a cursor where it has the tool for it, whatever tools the sender has."""
    # HO-08
    receiving = Receiving()

    def reading(turn: ScriptTurn) -> Reply:
        first = not receiving.words
        reply = receiving(turn)
        cursor = receiving.words.rpartition("reads on with the cursor ")[2]
        return call("read_result", cursor=cursor) if first else reply

    app = agency(
        [TRANSFER], reading, returns=False, ours=ours, theirs=(read_result,), prepare=load_much
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "help me")
        await run.result()
        _, page = await run.results()

    assert isinstance(page, ToolSuccess)
    assert isinstance(page.data, dict)
    content = page.data["content"]
    assert isinstance(content, str)
    assert (set(content), len(content) > 9_000) == ({"x"}, True)


@pytest.mark.parametrize("returns", [True, False], ids=["comes back", "goes on"])
async def test_a_cursor_is_for_whom_it_leads_somewhere(
    memory_runs: MemoryRuns, *, returns: bool
) -> None:
    """A receiver without the tool, and one in a run of its own, is told none."""
    # HO-08
    receiving = Receiving()
    app = agency(
        [TRANSFER, say("Done.")],
        receiving,
        returns=returns,
        ours=(read_result,),
        theirs=(read_result,) if returns else (),
        prepare=load_much,
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "help me")
        await run.result()

    assert "the whole is in" in receiving.words
    for told in ("read_result", ".prepare:"):
        assert told not in receiving.words
