"""What runs as the draft of another call: it may no more than when it is called."""

import asyncio
from pathlib import Path

import pytest

from holdfast import ResourceScope, Risk, Tiers, ToolContext, tool
from holdfast.contracts.calls import ToolFailure
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import hold, lines, note, scripted, told
from tests.workflows.test_known_effects import PLANNED, TWO
from tests.workflows.test_permissions import policy
from tests.workflows.test_retries import first_then, retried
from tests.workflows.tiered import child, staffed, written


@tool(risk=Risk.WRITE_INTERNAL)
async def discard(log: str, text: str) -> str:
    """Discard a draft that stands in the other system."""
    note(log, f"discarded {text}")
    return "discarded"


@tool(risk=Risk.DRAFT_ONLY, undo="discard")
async def prepare(log: str, text: str) -> str:
    """Prepare a draft in the other system."""
    note(log, f"prepared {text}")
    if "lost" in text:
        raise ConnectionError("the line went dead")
    return f"draft of {text}"


@tool(risk=Risk.WRITE_INTERNAL, draft="prepare")
async def commit(log: str, text: str) -> str:
    """Commit what was prepared in the other system."""
    note(log, f"committed {text}")
    return "committed"


@tool(risk=Risk.DRAFT_ONLY, undo="discard", timeout=30)
async def prepare_slowly(log: str, text: str) -> str:
    """Prepare a draft in the other system, and take too long to say so."""
    note(log, f"prepared {text}")
    await asyncio.Event().wait()
    return "never"


@tool(risk=Risk.WRITE_INTERNAL, draft="prepare_slowly")
async def commit_slowly(log: str, text: str) -> str:
    """Commit what was prepared in the other system."""
    note(log, f"committed {text}")
    return "committed"


@tool(risk=Risk.DRAFT_ONLY, scope=ResourceScope(kind="tenant", argument="tenant"))
async def draft_letter(log: str, tenant: str) -> str:
    """Draft a letter with the data of a tenant."""
    note(log, f"read data of {tenant}")
    return f"all data of {tenant}"


@tool(risk=Risk.COMMUNICATION, draft="draft_letter")
async def send_letter(log: str, tenant: str) -> str:
    """Send a letter with the data of a tenant."""
    note(log, f"sent {tenant}")
    return "sent"


@tool(risk=Risk.READ_ONLY, scope=ResourceScope(kind="host", argument="url"))
async def preview_hook(log: str, url: str) -> str:
    """Ask an address for what it would do."""
    note(log, f"asked {url}")
    return "fine"


@tool(risk=Risk.WRITE_EXTERNAL, draft="preview_hook")
async def call_hook(log: str, url: str) -> str:
    """Call an address for good."""
    note(log, f"called {url}")
    return "fine"


@tool(risk=Risk.DRAFT_ONLY, scope=ResourceScope(kind="workspace", argument="path"))
async def draft_file(log: str, path: str) -> str:
    """Prepare a file for somebody."""
    note(log, f"read {path}")
    return "fine"


@tool(risk=Risk.WRITE_EXTERNAL, draft="draft_file")
async def publish_file(log: str, path: str) -> str:
    """Publish a file for everybody."""
    note(log, f"published {path}")
    return "fine"


SCOPED = (send_letter, call_hook, publish_file)
EFFECTS = (prepare, commit)
RULES = (
    "{id: d, effect: draft, match: {tools: [commit]}}",
    "{id: ok, effect: allow, match: {tools: [prepare, discard]}}",
)


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("send_letter", {"tenant": "other"}, "its draft 'draft_letter': tenant is 'other', but"),
        (
            "call_hook",
            {"url": "http://10.0.0.1/"},
            "its draft 'preview_hook': risk:read_only would let it run, but lists no hosts",
        ),
        (
            "publish_file",
            {"path": "/etc/shadow"},
            "its draft 'draft_file': path '/etc/shadow' is no path inside the workspace",
        ),
    ],
)
async def test_a_draft_keeps_to_its_scope(
    memory_runs: MemoryRuns, tmp_path: Path, name: str, arguments: dict[str, str], reason: str
) -> None:
    """Though the tool that it drafts for has none."""
    # BY-05
    log = tmp_path / "log"
    async with memory_runs.working(
        scripted([call(name, log=str(log), **arguments), told], tools=SCOPED)
    ):
        run = await memory_runs.start("it", tenant="acme")
        result = await run.result()
        refused = await run.failure()

    assert result.answer == f"{name} denied"
    assert refused.reason.startswith(reason)
    assert lines(log) == []


@pytest.mark.parametrize("url", ["https://api.example.com/a", "https://api.example.org/a"])
async def test_a_draft_asks_hosts_that_are_listed_for_it(
    memory_runs: MemoryRuns, tmp_path: Path, url: str
) -> None:
    """A list is for the tool that the rule names."""
    log = tmp_path / "log"
    rules = policy(
        tmp_path,
        "{id: d, effect: draft, match: {tools: [call_hook]}}",
        "{id: ok, effect: allow, match: {tools: [preview_hook], hosts: [api.example.com]}}",
    )
    script = [call("call_hook", log=str(log), url=url), told]
    async with memory_runs.working(scripted(script, tools=SCOPED, policy=rules)):
        await (await memory_runs.start("it")).result()

    assert lines(log) == ([f"asked {url}"] if url.endswith("com/a") else [])


@pytest.mark.parametrize(
    "match",
    [
        "match: {risks: [draft_only]}",
        "match: {tools: [prepare]}",
        "when: 'risk == \"draft_only\"'",
        "when: 'tool == \"prepare\"'",
    ],
)
async def test_a_forbidden_draft_is_made_for_no_call(
    memory_runs: MemoryRuns, tmp_path: Path, match: str
) -> None:
    """However the rule names it: by its name, its class, or by a condition."""
    # PF-14
    log, rules = tmp_path / "log", policy(tmp_path, f"{{id: no, effect: forbid, {match}}}")
    script = [call("commit", log=str(log), text="pay"), told]
    async with memory_runs.working(scripted(script, tools=EFFECTS, policy=rules)):
        result = await (await memory_runs.start("it")).result()

    assert result.answer == "commit denied"
    assert lines(log) == []


@pytest.mark.parametrize("text", ["pay", "pay, and lost"])
@pytest.mark.parametrize("again", ["prepare", "commit"])
async def test_the_next_tier_makes_no_draft_again(
    memory_runs: MemoryRuns, tmp_path: Path, text: str, again: str
) -> None:
    """It stands in the other system, or may: neither its own call nor another's makes it anew."""
    # BY-11 NR-06
    log = tmp_path / "log"
    first, second = (call(name, log=str(log), text=text) for name in ("commit", again))
    app = staffed(
        {"coder": [first], "clerk": [second, told]},
        tiers=TWO,
        tools=EFFECTS,
        policy=policy(tmp_path, *RULES),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        await memory_runs.stories(run)

    assert result.answer == f"{again} denied"
    assert lines(log) == [f"prepared {text}"]


async def test_a_lost_draft_is_not_made_again(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Nor by the run that lost its answer."""
    # BY-11
    log = tmp_path / "log"
    same = call("commit", log=str(log), text="lost")
    app = scripted([same, same, told], tools=EFFECTS, policy=policy(tmp_path, *RULES))
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await run.result()
        refused = [one for one in await run.results() if isinstance(one, ToolFailure)]

    assert [one.status for one in refused] == ["outcome_unknown", "denied"]
    assert lines(log) == ["prepared lost"]


async def test_a_draft_that_its_run_ended_in_is_not_made_again(runs: Runs, tmp_path: Path) -> None:
    """A run that is tried again may have left it in the other system."""
    # BY-11 NR-06
    log = tmp_path / "log"
    same = call("commit_slowly", log=str(log), text="a")
    app = scripted(
        first_then([same], [same, told]),
        tools=(commit_slowly, prepare_slowly),
        policy=policy(
            tmp_path,
            "{id: d, effect: draft, match: {tools: [commit_slowly]}}",
            "{id: ok, effect: allow, match: {tools: [prepare_slowly, discard]}}",
        ),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await written(log)
        await run.handle.terminate()
        retry = await retried(runs, run)
        result = await retry.result()

    assert result.answer == "commit_slowly denied"
    assert lines(log) == ["prepared a"]


async def test_after_a_lost_part_no_draft_is_made_unasked(runs: Runs, tmp_path: Path) -> None:
    """It may stand there already, and nobody is asked before a draft."""
    # BY-11 NR-06
    log, held = tmp_path / "log", tmp_path / "held"

    def hand(turn: ScriptTurn) -> Reply:
        if turn.results:
            return say(turn.results[-1].status)
        if "whatever hand did" not in turn.goal:
            return call("hold", log=str(held))
        return call("commit", log=str(log), text="pay")

    app = staffed(
        {"planner": [say('{"subtasks": ["cut"]}')], "hand": hand},
        tiers=PLANNED,
        escalates=True,
        tools=(*EFFECTS, hold),
        policy=policy(tmp_path, *RULES),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await written(held)
        await child(runs, run, "2-part-1").handle.terminate()
        (escalation,) = await run.asked()
        await run.signal(
            "resolution",
            {
                "request_id": escalation.request_id,
                "action": "extend",
                "budget": {"max_steps": 40},
            },
        )
        result = await run.result()

    assert result.answer == "1. cut\n\ndenied"
    assert lines(log) == []


@tool(risk=Risk.WRITE_INTERNAL)
async def shred(log: str, text: str, ctx: ToolContext) -> str:
    """Take back what stands in the other system, which does it once by each key."""
    note(log, f"shredded {text} of {ctx.draft_id} by {ctx.idempotency_key}")
    return "shredded"


@tool(risk=Risk.DRAFT_ONLY, undo="shred")
async def outline(log: str, text: str, ctx: ToolContext) -> str:
    """Prepare a draft in the other system."""
    note(log, f"outlined {text} by {ctx.idempotency_key}")
    return f"outline of {text}"


@tool(risk=Risk.WRITE_INTERNAL, draft="outline", undo="shred", timeout=1)
async def print_text(log: str, text: str) -> str:
    """Commit what was prepared in the other system, and lose the answer."""
    note(log, f"printed {text}")
    raise ConnectionError("the line went dead")


@pytest.mark.parametrize("part", [False, True], ids=["own", "of a part"])
async def test_a_draft_is_taken_back_by_a_key_of_its_own(
    memory_runs: MemoryRuns, tmp_path: Path, part: bool
) -> None:
    """Nobody knows whether it is committed: the system takes neither undo for the other again."""
    # GR-13 BY-11
    log, rude = tmp_path / "log", on_word("polite", "rude", "output", on_trip="block")
    rules = policy(
        tmp_path,
        "{id: asks, effect: approve, match: {tools: [print_text]}}",
        "{id: ok, effect: allow, match: {tools: [outline, shred]}}",
    )
    script = [call("print_text", log=str(log), text="a"), say("a rude answer")]
    tools = (print_text,)
    app = (
        staffed(
            {"coder": script},
            tiers=Tiers(full="coder"),
            guardrails=[rude],
            tools=tools,
            policy=rules,
        )
        if part
        else scripted(script, guardrails=[rude], tools=tools, policy=rules)
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (asked,) = await run.asked()
        await run.approve(asked.request_id)
        result = await run.result()

    outlined, printed, *shredded = lines(log)
    _, _, draft = outlined.partition(" by ")
    keys = [line.rpartition(" by ")[2] for line in shredded]
    assert (result.status, printed) == ("blocked", "printed a")
    assert [line.partition(" by ")[0] for line in shredded] == [
        "shredded a of None",
        f"shredded a of {draft}",
    ]
    assert len({*keys, draft}) == 3
