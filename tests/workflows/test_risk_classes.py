"""What each risk class may do by default, each on a real server: the rows RK-01 to RK-14."""

from functools import partial
from pathlib import Path

import pytest

from holdfast import Agent, App, Budget, ResourceScope, Risk, Tool, tool
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.histories import names
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, note


@tool(risk=Risk.DRAFT_ONLY)
async def draft_act(log: str, where: str) -> str:
    """Prepare what would be done."""
    note(log, f"draft {where}")
    return f"would act at {where}"


async def _noted(log: str, where: str) -> str:
    note(log, f"act {where}")
    return f"acted at {where}"


@tool(risk=Risk.DESTRUCTIVE)
async def delete_record(log: str, where: str) -> str:
    """Delete a record for good."""
    return await _noted(log, where)


@tool(risk=Risk.PROCESS_EXECUTION)
async def run_script(log: str, where: str) -> str:
    """Run a script somewhere."""
    return await _noted(log, where)


@tool(risk=Risk.NETWORK_OPEN_WORLD)
async def call_external_api(log: str, where: str) -> str:
    """Call a service out there."""
    return await _noted(log, where)


HERE = ResourceScope(kind="workspace", argument="where")


def acting(risk: Risk, *, draft: str | None = None, scope: ResourceScope | None = None) -> App:
    """An app whose one tool has this risk class and notes that it ran."""

    async def act(log: str, where: str) -> str:
        """Do something somewhere and say so."""
        note(log, f"act {where}")
        return f"acted at {where}"

    act.__module__ = __name__
    terms = {} if draft is None else {"draft": draft}
    made = tool(risk=risk, scope=scope or ResourceScope(), **terms)(act)  # pyright: ignore[reportArgumentType] -- a term that may be left out
    return app_of(made)


def app_of(tool: Tool, policy: Path | None = None) -> App:
    """An app whose one agent has this one tool."""
    agent = Agent(
        name="it",
        instructions="Act.",
        models=["scripted:it"],
        tools=[tool],
        budget=Budget(max_steps=5),
    )
    return App(agents=[agent], scripts={"it": partial(script, tool.contract.name)}, policy=policy)


def script(name: str, turn: ScriptTurn) -> Reply:
    """Act where and as the goal says, then tell what became of it."""
    if turn.number == 1:
        log, _, where = turn.goal.partition(" ")
        return call(name, log=log, where=where)
    return say("; ".join(f"{result.name} {result.status}" for result in turn.results))


@pytest.mark.parametrize(
    "risk",
    [
        Risk.READ_ONLY,  # RK-01
        Risk.SEARCH_ONLY,  # RK-02
        Risk.COMPUTE_ONLY,  # RK-03
        Risk.DRAFT_ONLY,  # RK-04
        Risk.WRITE_LOCAL,  # RK-05
    ],
)
async def test_what_harms_nobody_runs_at_once(
    memory_runs: MemoryRuns, tmp_path: Path, risk: Risk
) -> None:
    """Reads, searches, computations, drafts and local writes run without anybody being asked."""
    log = tmp_path / "log"
    async with memory_runs.working(acting(risk, scope=HERE)):
        run = await memory_runs.start("it", goal=f"{log} here")
        result = await run.result()

    assert result.answer == "act ok"
    assert lines(log) == ["act here"]


async def test_no_link_leads_a_write_out_of_the_workspace(
    memory_runs: MemoryRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a sandbox the workspace is the worker's folder: a link out of it is refused."""

    # RK-05
    @tool(risk=Risk.WRITE_LOCAL, scope=HERE)
    async def save(log: str, where: str) -> str:
        """Save a text in a file."""
        Path(where).write_text(log)
        return "saved"

    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    for folder in (workspace, workspace / "notes", outside):
        folder.mkdir()
    (workspace / "way out").symlink_to(outside)
    (workspace / "short cut").symlink_to(workspace / "notes")
    monkeypatch.chdir(workspace)

    async with memory_runs.working(app_of(save)):
        told = {
            where: (await (await memory_runs.start("it", goal=f"text {where}")).result()).answer
            for where in ("plain", "short cut/in", "way out/out")
        }

    assert told == {
        "plain": "save ok",
        "short cut/in": "save ok",
        "way out/out": "save denied",
    }
    assert not list(outside.iterdir())
    assert [file.name for file in (workspace / "notes").iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("risk", "kind", "out"),
    [
        pytest.param(Risk.READ_ONLY, "tenant", "other", id="RK-01"),
        pytest.param(Risk.SEARCH_ONLY, "tenant", "other", id="RK-02"),
        pytest.param(Risk.COMPUTE_ONLY, "tenant", "other", id="RK-03"),
        pytest.param(Risk.DRAFT_ONLY, "tenant", "other", id="RK-04"),
        pytest.param(Risk.WRITE_LOCAL, "workspace", "../out", id="RK-05"),
        pytest.param(Risk.WRITE_LOCAL, "workspace", "/etc/out", id="RK-05 absolute"),
    ],
)
async def test_nothing_runs_outside_its_scope(
    memory_runs: MemoryRuns, tmp_path: Path, risk: Risk, kind: str, out: str
) -> None:
    """Another tenant's resource, or a path outside the workspace, is denied; its own isn't."""
    # PF-08
    log = tmp_path / "log"
    scope = ResourceScope.model_validate({"kind": kind, "argument": "where"})
    inside = "acme" if kind == "tenant" else "notes/in.txt"
    async with memory_runs.working(acting(risk, scope=scope)):
        own = await memory_runs.start("it", goal=f"{log} {inside}", tenant="acme")
        other = await memory_runs.start("it", goal=f"{log} {out}", tenant="acme")
        answers = [(await run.result()).answer for run in (own, other)]

    assert answers == ["act ok", "act denied"]
    assert lines(log) == [f"act {inside}"]


async def test_an_internal_write_waits_for_approval(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A change of internal records pauses the run until somebody approves it."""
    # RK-06
    log = tmp_path / "log"
    async with memory_runs.working(acting(Risk.WRITE_INTERNAL)):
        run = await memory_runs.start("it", goal=f"{log} here")
        request = await run.asked_for_approval()
        before = lines(log)
        await run.approve(request.request_id)
        result = await run.result()

    assert (before, request.strength) == ([], "plain")
    assert result.answer == "act ok"


@pytest.mark.parametrize(
    "risk",
    [
        pytest.param(Risk.COMMUNICATION, id="RK-07"),
        pytest.param(Risk.WRITE_EXTERNAL, id="RK-08"),
    ],
)
async def test_what_leaves_the_house_is_drafted_first(
    memory_runs: MemoryRuns, tmp_path: Path, risk: Risk
) -> None:
    """Draft, then approval, then commit; and without a draft variant nothing at all."""
    log = tmp_path / "log"
    async with memory_runs.working(acting(risk, draft="draft_act")):
        run = await memory_runs.start("it", goal=f"{log} here")
        request = await run.asked_for_approval()
        before = lines(log)
        await run.approve(request.request_id)
        await run.result()
    async with memory_runs.working(acting(risk)):
        bare = await memory_runs.start("it", goal=f"{log} there")
        denied = await bare.result()

    assert before == ["draft here"]
    assert request.preview == "would act at here"
    assert lines(log) == ["draft here", "act here"]
    assert denied.answer == "act denied"


@pytest.mark.parametrize(
    ("risk", "count"),
    [
        pytest.param(Risk.FINANCIAL, 1, id="RK-09"),
        pytest.param(Risk.PRIVILEGED_ACCESS, 1, id="RK-11"),
        pytest.param(Risk.IDENTITY_ACCESS, 1, id="RK-12"),
        pytest.param(Risk.SECURITY_SENSITIVE, 1, id="BY-03"),
        pytest.param(Risk.PRIVILEGED_ADMIN, 2, id="BY-03 admin"),
    ],
)
async def test_money_and_access_need_strong_authentication(
    memory_runs: MemoryRuns, tmp_path: Path, risk: Risk, count: int
) -> None:
    """A plain approval leaves the call paused, and says that stronger proof is needed."""
    # BY-02 T-15
    log = tmp_path / "log"
    async with memory_runs.working(acting(risk)):
        run = await memory_runs.start("it", goal=f"{log} here")
        request = await run.asked_for_approval()
        plain = await run.decide(
            {"request_id": request.request_id, "decision": "approve", "approver": "alice"}
        )
        still = await run.pending()
        await run.signal(
            "approval",
            {"request_id": request.request_id, "decision": "reject", "approver": "alice"},
        )
        result = await run.result()

    assert (request.strength, request.count) == ("strong", count)
    assert (plain.accepted, plain.code) == (False, "require_stronger_auth")
    assert isinstance(still[0], ApprovalRequest)
    assert lines(log) == []
    assert result.answer == "act denied"


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(delete_record, id="RK-10"),
        pytest.param(run_script, id="RK-13"),
        pytest.param(call_external_api, id="RK-14"),
    ],
)
async def test_what_no_policy_names_is_denied(runs: Runs, tmp_path: Path, made: Tool) -> None:
    """What destroys, starts processes or reaches the network needs a policy that says so."""
    # PF-18 PF-19
    name, log = made.contract.name, tmp_path / "log"
    async with runs.working(app_of(made)):
        run = await runs.start("it", goal=f"{log} here")
        result = await run.result()
        failure = await run.failure()
        history = names(await run.handle.fetch_history())

    assert (failure.status, failure.type) == ("denied", "permission_denied")
    assert failure.next_valid_actions
    assert name not in history
    assert result.answer == f"{name} denied"


async def test_a_deletion_needs_approval_and_a_way_back(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Where policy allows deletions, one waits for approval and records the way back."""
    # RK-10
    log, path = tmp_path / "log", tmp_path / "policy.yaml"
    path.write_text(
        "version: 1\nrules:\n  - {id: deletions, effect: approve, reason: GDPR, "
        "match: {tools: [delete_record]}, approval: {recovery: 'RB-12, nightly backup'}}\n",
        encoding="utf-8",
    )
    async with memory_runs.working(app_of(delete_record, path)):
        run = await memory_runs.start("it", goal=f"{log} here")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        result = await run.result()

    assert request.recovery == "RB-12, nightly backup"
    assert lines(log) == ["act here"]
    assert result.answer == "delete_record ok"
