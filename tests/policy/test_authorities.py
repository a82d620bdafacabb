"""Rules that rest on an authority: versioned, expiring, and read when something is decided."""

import asyncio
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.activities.authority.authorities import AuthorityFile
from holdfast.activities.authority.basis import Basis
from holdfast.contracts.decisions import Allow, Deny, RunInSandbox
from holdfast.contracts.errors import PolicyRefused
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, passed
from holdfast.policy.document import parse_authorities, parse_policy
from holdfast.policy.engine import decide
from holdfast.policy.rules import Authority
from holdfast.policy_files import load_policy
from holdfast.testing import call
from tests.builders import NOW, a_call, a_contract
from tests.histories import names
from tests.holdfast.policy_commands import APP, running, written
from tests.memory.runs import MemoryRuns
from tests.policy.policies import some_facts
from tests.sample import lines, scripted, send, told

POLICY = """
version: 1
authorities: authorities.yaml
rules:
  - {id: notes, effect: allow, match: {tools: [send]}, authority: autumn}
  - id: purges
    effect: approve
    match: {tools: [delete]}
    approval: {recovery: restore it from the archive}
    authority: autumn
"""

DRAFTED = """
version: 1
authorities: authorities.yaml
rules:
  - {id: drafts, effect: draft, match: {tools: [post]}, authority: autumn}
  - {id: none, effect: deny, match: {tools: [post]}}
"""

STANDS = "version: 1\nauthorities:\n  autumn: {version: 3, expires: 2999-01-01T00:00:00Z}\n"
REVOKED = "version: 1\nauthorities: {}\n"

CALL = a_call("write", place="attic")
CONTRACT = a_contract("write", risk="write_internal")


def policy_in(folder: Path, authorities: str) -> Path:
    """A policy with what its rules rest on beside it."""
    (folder / "authorities.yaml").write_text(authorities)
    (folder / "policy.yaml").write_text(POLICY)
    return folder / "policy.yaml"


def an_authority(**changes: object) -> Authority:
    return Authority("autumn", 3, NOW + timedelta(days=1))._replace(**changes)


@pytest.mark.parametrize(
    ("authorities", "rule"),
    [
        pytest.param((), "risk:write_internal", id="none"),
        pytest.param((an_authority(),), "policy:r", id="for everybody"),
        pytest.param((an_authority(name="spring"),), "risk:write_internal", id="another"),
        pytest.param((an_authority(agents=frozenset({"it"})),), "policy:r", id="the agent"),
        pytest.param(
            (an_authority(agents=frozenset({"other"})),), "risk:write_internal", id="other agent"
        ),
        pytest.param(
            (an_authority(tenants=frozenset({"other"})),), "risk:write_internal", id="other tenant"
        ),
        pytest.param(
            (an_authority(actors=frozenset({"other"})),), "risk:write_internal", id="other actor"
        ),
    ],
)
def test_a_rule_fits_while_its_authority_stands(
    authorities: tuple[Authority, ...], rule: str
) -> None:
    """What isn't named falls to what follows; the reason in history names the version."""
    # BY-74
    policy = parse_policy(
        "version: 1\nauthorities: a.yaml\n"
        "rules: [{id: r, effect: allow, match: {tools: [write]}, authority: autumn}]"
    )
    found = decide(CALL, CONTRACT, some_facts(authorities=authorities), policy)

    assert found.rule == rule
    assert ("(authority autumn 3)" in found.reason) is (rule == "policy:r")


async def test_it_stands_until_it_expires(tmp_path: Path) -> None:
    """Before, and not at, the moment in its file."""
    # BY-74
    ends = f"version: 1\nauthorities: {{a: {{version: 1, expires: '{NOW.isoformat()}'}}}}\n"
    policy_in(tmp_path, ends)
    file = AuthorityFile(tmp_path / "authorities.yaml")

    assert len(await file.find_standing(NOW - timedelta(microseconds=1))) == 1
    assert await file.find_standing(NOW) == ()


@pytest.mark.parametrize("content", [None, b"version: 1\nauthorities: {a: 3}\n", b"\xff\xfe\xff"])
async def test_what_cant_be_read_stands_no_more(tmp_path: Path, content: bytes | None) -> None:
    """And stands again when it can."""
    # BY-74
    policy_in(tmp_path, STANDS)
    path = tmp_path / "authorities.yaml"
    file = AuthorityFile(path)
    assert len(await file.find_standing(NOW)) == 1
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    assert await file.find_standing(NOW) == ()
    path.write_text(STANDS)
    assert len(await file.find_standing(NOW)) == 1
    path.chmod(0o666)
    assert await file.find_standing(NOW) == ()


def test_another_version_or_cohort_is_another_basis(tmp_path: Path) -> None:
    """What was allowed by one begins by no other; tools without such rules are as they were."""
    # BY-74
    policy = load_policy(policy_in(tmp_path, STANDS))
    kinds = ((), (an_authority(),), (an_authority(version=4),))
    kinds += ((an_authority(actors=frozenset({"bob"})),),)
    resting = {Basis("", policy, "", one).digest(send) for one in kinds}
    plain = {Basis("", parse_policy("version: 1"), "", one).digest(send) for one in kinds}

    assert (len(resting), len(plain)) == (4, 1)


async def test_what_is_revoked_after_the_approval_doesnt_run(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Nobody restarts a worker for that."""
    # BY-74
    policy = policy_in(tmp_path, STANDS)
    async with memory_runs.working(scripted([call("delete", record="a"), told], policy=policy)):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        policy_in(tmp_path, REVOKED)
        await run.approve(request.request_id)
        result = await run.result()

    assert result.answer == "delete denied"
    assert "delete" not in names(await run.story())


async def test_what_is_revoked_right_before_it_begins_doesnt_begin(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Its worker sees that it was allowed by something else, and it is decided anew."""
    # BY-74
    log = tmp_path / "log"
    policy = policy_in(tmp_path, STANDS)

    @guardrail(layer="pre_execution", local=True)
    async def revoke(_: Subject, __: GuardrailContext) -> GuardrailResult:
        policy_in(tmp_path, REVOKED)
        return passed()

    script = [call("send", log=str(log), text="hi"), told]
    async with memory_runs.working(scripted(script, policy=policy, guardrails=[revoke])):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        before = lines(log)
        await run.approve(request.request_id)
        await run.result()

    assert before == []
    assert len(lines(log)) == 1


@pytest.mark.parametrize("risk", ["write_internal", "write_local"])
@pytest.mark.parametrize("effect", ["approve", "draft"])
@pytest.mark.parametrize(
    ("following", "ends_as"),
    [
        ("allow", "policy:asks"),
        ("approve", "policy:r"),
        ("deny", "policy:r"),
        ("", ""),
    ],
)
def test_an_authority_that_ends_opens_nothing(
    risk: str, effect: str, following: str, ends_as: str
) -> None:
    """What would have been asked about doesn't run unasked behind it; what follows may ask."""
    # BY-74
    asks = f"{{id: asks, effect: {effect}, match: {{tools: [write]}}, authority: autumn}}"
    then = following and f"{{id: r, effect: {following}, match: {{tools: [write]}}}}"
    listed = "\n".join(f"  - {one}" for one in (asks, then) if one)
    policy = parse_policy(f"version: 1\nauthorities: a.yaml\nrules:\n{listed}\n")
    contract = a_contract("write", risk=risk, draft="draft")
    decision = decide(CALL, contract, some_facts(authorities=()), policy)

    by_class = "risk:write_internal" if risk == "write_internal" else "policy:asks"
    assert decision.rule == (ends_as or by_class)
    assert not isinstance(decision, Allow | RunInSandbox)


@pytest.mark.parametrize(
    ("following", "ends_as", "verdict"),
    [
        ("allow", "policy:confines", "deny"),
        ("", "policy:confines", "deny"),
        ("sandbox", "policy:r", "run_in_sandbox"),
        ("approve", "policy:r", "approval_required"),
    ],
)
def test_an_authority_that_ends_lets_nothing_out_of_the_sandbox(
    following: str, ends_as: str, verdict: str
) -> None:
    """What it kept there doesn't run outside behind it, by another rule or by its class."""
    # BY-74
    confines = "{id: confines, effect: sandbox, match: {tools: [write]}, authority: autumn}"
    then = following and f"{{id: r, effect: {following}, match: {{tools: [write]}}}}"
    listed = "\n".join(f"  - {one}" for one in (confines, then) if one)
    policy = parse_policy(f"version: 1\nauthorities: a.yaml\nrules:\n{listed}\n")
    contract = a_contract("write", risk="write_local", side_effect="local")
    boxed = a_contract("write", risk="write_local", side_effect="local", sandboxed=True)
    decision = decide(CALL, contract, some_facts(authorities=()), policy)

    assert (decision.rule, decision.verdict) == (ends_as, verdict)
    assert verdict != "deny" or "outside of the sandbox" in decision.reason
    assert not isinstance(decide(CALL, boxed, some_facts(authorities=()), policy), Deny)


@pytest.mark.parametrize("effect", ["sandbox", "allow"])
@pytest.mark.parametrize(
    ("lapsed", "following", "ends_as"),
    [
        pytest.param("a.example", "a.example, b.example", "deny", id="more"),
        pytest.param("a.example", "b.example", "deny", id="another"),
        pytest.param("", "a.example", "deny", id="some after none"),
        pytest.param("a.example, b.example", "a.example", "run_in_sandbox", id="less"),
    ],
)
def test_an_authority_that_ends_grants_no_more(
    effect: str, lapsed: str, following: str, ends_as: str
) -> None:
    """What the sandbox let a call ask is no more behind it, by whatever rule stands there."""
    # BY-74
    rules = ""
    for name, hosts, rests in [("narrow", lapsed, ", authority: autumn"), ("r", following, "")]:
        listed = f", hosts: [{hosts}]" if hosts else ""
        rules += (
            f"  - {{id: {name}, effect: {effect}, match: {{tools: [write]{listed}}}{rests}}}\n"
        )
    policy = parse_policy(f"version: 1\nauthorities: a.yaml\nrules:\n{rules}")
    contract = a_contract("write", risk="network_open_world", sandboxed=True)
    decision = decide(CALL, contract, some_facts(), policy)

    assert decision.verdict == ends_as
    assert ends_as != "deny" or "with more granted in the sandbox" in decision.reason


async def test_a_draft_rests_on_what_its_call_rests_on(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What is taken back while a guardrail looks isn't drafted either."""
    # BY-74
    log = tmp_path / "log"
    policy = policy_in(tmp_path, STANDS)
    policy.write_text(DRAFTED)

    @guardrail(layer="pre_execution", local=True)
    async def revoke(_: Subject, __: GuardrailContext) -> GuardrailResult:
        (tmp_path / "authorities.yaml").write_text(REVOKED)
        return passed()

    script = [call("post", log=str(log), text="hi"), told]
    async with memory_runs.working(scripted(script, policy=policy, guardrails=[revoke])):
        run = await memory_runs.start("it")
        result = await run.result()

    assert (result.answer, lines(log)) == ("post denied", [])


class PausingFile(AuthorityFile):
    """A file whose second reader pauses behind the first thing that it keeps."""

    pausing: int | None = None

    def __init__(self, path: Path) -> None:
        self.went_on, self.paused = threading.Event(), threading.Event()
        super().__init__(path)

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name != "pausing" and self.pausing == threading.get_ident():
            self.pausing = None
            self.paused.set()
            self.went_on.wait(10)


async def test_who_reads_late_brings_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that read at once the one that read before a change keeps nothing behind it."""
    # BY-74
    policy_in(tmp_path, STANDS)
    file = PausingFile(tmp_path / "authorities.yaml")
    reads, may_end = threading.Event(), threading.Event()

    def read(text: str, name: str) -> tuple[Authority, ...]:
        if text == STANDS:
            reads.set()
            may_end.wait(10)
        else:
            file.pausing = threading.get_ident()
        return parse_authorities(text, name)

    monkeypatch.setattr("holdfast.activities.authority.authorities.parse_authorities", read)
    early = asyncio.create_task(file.find_standing(NOW))
    await asyncio.to_thread(reads.wait)
    policy_in(tmp_path, REVOKED)
    late = asyncio.create_task(file.find_standing(NOW))
    await asyncio.to_thread(file.paused.wait)
    may_end.set()
    await early
    file.went_on.set()

    assert [await late, await file.find_standing(NOW)] == [(), ()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 1\nauthorities: {a: {version: 1}}", "authorities.a.expires: it is missing"),
        (
            "version: 1\nauthorities: {a: {version: 1, expires: 2999-01-01T00:00:00}}",
            "Input should have timezone info",
        ),
        (
            "version: 1\nauthorities: {a: {version: 0, expires: 2999-01-01T00:00:00Z}}",
            "greater than or equal to 1",
        ),
        (
            "version: 1\nauthorities: {a: {version: 1, expires: 2999-01-01T00:00:00Z, agent: b}}",
            "there is no such field (known: version, expires, agents, tenants, actors)",
        ),
    ],
)
def test_a_flaw_in_the_file_is_told_with_its_line(text: str, said: str) -> None:
    """As one in a policy is."""
    with pytest.raises(PolicyRefused) as refused:
        parse_authorities(text, "a.yaml")
    assert "a.yaml:2: " in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{id: r, effect: forbid, match: {tools: [a]}, authority: b}", "rests on no authority"),
        ("{id: r, effect: allow, match: {tools: [a]}, authority: b}", "write authorities: FILE"),
    ],
)
def test_a_rule_that_cant_rest_on_one_is_refused(rule: str, said: str) -> None:
    """What denies holds by itself, and a name without a file would never stand."""
    with pytest.raises(PolicyRefused, match=said):
        parse_policy(f"version: 1\nrules: [{rule}]")


def test_what_a_rule_rests_on_is_checked_and_explained(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`check` names what isn't in its file; `explain` says whether it stands."""
    # BY-74
    holdfast = running(capsys)
    rule = "{id: notes, effect: allow, match: {tools: [note_ticket]}, authority: autumn}"
    policy = written(
        tmp_path / "policy.yaml", f"version: 1\nauthorities: a.yaml\nrules:\n  - {rule}\n"
    )
    args = ("explain", APP, "note_ticket", '{"text": "x"}', "--policy", policy)
    stands = "version: 1\nauthorities: {autumn: {version: 2, expires: 2999-01-01T00:00:00Z}}\n"
    written(tmp_path / "a.yaml", stands)
    checked, explained = holdfast("check", policy), holdfast(*args)
    written(tmp_path / "a.yaml", "version: 1\n")

    assert checked.code == 0
    assert "fits by authority autumn 2, and governs" in explained.out
    assert "its authority autumn doesn't stand for this call" in holdfast(*args).out
    assert holdfast("check", policy).err == (
        f"{policy}:4: rules[0].authority: there is no authority 'autumn' in a.yaml\n"
    )
