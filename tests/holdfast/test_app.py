"""An app is checked before anything runs: each mistake is one line that says what to change."""

from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from holdfast import (
    Agent,
    App,
    AppError,
    Budget,
    ChatServer,
    HostedTool,
    ModelSettings,
    Risk,
    Tiers,
    tool,
)
from holdfast.guardrails import project_passes
from holdfast.guardrails.builtin import secret_detection
from holdfast.policy.rules import NO_POLICY
from holdfast.testing import say
from holdfast.tools import ask_user
from holdfast.tools.tool import Tool
from tests.tools import sample_tools

HOUSE = ChatServer(base_url="https://llm.example.com/v1", key_variable="HOUSE_KEY")


def agent(**changes: object) -> Agent:
    fields: dict[str, object] = {
        "name": "it",
        "instructions": "Do as you are told.",
        "models": ["scripted:it"],
        **changes,
    }
    return Agent(**fields)  # pyright: ignore[reportArgumentType] -- whatever a test overrides


def app(*agents: Agent) -> App:
    return App(agents=agents, scripts={"it": [say("done")]}, chat_servers={"house": HOUSE})


def refusal(*agents: Agent) -> str:
    with pytest.raises(AppError) as raised:
        app(*agents)
    message = str(raised.value)
    assert len(message.splitlines()) == 1
    return message


def _look() -> Tool:
    async def look(place: str) -> str:
        """Look at a place and say what is there."""
        return place

    return tool(risk=Risk.READ_ONLY)(look)


LOOK = _look()


@pytest.mark.parametrize(
    ("changes", "flaw"),
    [
        pytest.param({"name": ""}, "its name must have 1 to 100 characters", id="no name"),
        pytest.param({"name": "  "}, "its name must have 1 to 100 characters", id="blank name"),
        pytest.param({"name": "a" * 101}, "its name must have 1 to 100 characters", id="long"),
        pytest.param({"instructions": " \n"}, "it has no instructions", id="no instructions"),
        pytest.param({"models": []}, "it has no models", id="no models"),
        pytest.param(
            {"stream": "yes"},
            "its stream is True, False or \"before_checks\", not 'yes'",
            id="no stream",
        ),
        pytest.param(
            {"stream": 1}, 'its stream must be True, False or "before_checks", not int', id="1"
        ),
        pytest.param(
            {"stream": True, "guardrails": [secret_detection()]},
            "its stream is True, and its answers are looked at before anybody reads them: leave "
            'it out, or write stream="before_checks" if its words may be read while they come',
            id="streams what is looked at",
        ),
        pytest.param(
            {"models": ["gpt-5"]}, "model 'gpt-5' is not named provider:name", id="no provider"
        ),
        pytest.param(
            {"models": [":x"]}, "model ':x' is not named provider:name", id="colon first"
        ),
        pytest.param({"models": ["x:"]}, "model 'x:' is not named provider:name", id="colon last"),
        pytest.param(
            {"models": ["scripted:it", "scripted:else"]},
            "model 'scripted:else' has no script in scripts={...}",
            id="no script",
        ),
        pytest.param(
            {"models": ["openai-chat:grok/llama"]},
            "model 'openai-chat:grok/llama' has no server in chat_servers={...}",
            id="no server",
        ),
        pytest.param(
            {"models": ["openai-chat:house/"]},
            "model 'openai-chat:house/' is not named openai-chat:SERVER/NAME",
            id="a server without a model",
        ),
        pytest.param(
            {"models": ["openai: gpt-5.2"]},
            "model 'openai: gpt-5.2' is not named provider:name",
            id="space in a model's name",
        ),
        pytest.param(
            {"models": "openai:gpt-5.2"},
            "its models are a list: write ['openai:gpt-5.2']",
            id="one model without a list",
        ),
        pytest.param(
            {"settings": {"reasoning": "high"}},
            "its settings are no ModelSettings: write ModelSettings(...)",
            id="settings as a dict",
        ),
        pytest.param(
            {"approval_timeout": timedelta(0)},
            "its approval_timeout must be longer than nothing",
            id="no time to approve",
        ),
        pytest.param(
            {"approval_timeout": timedelta(days=3650, seconds=1)},
            "its approval_timeout is 3650 days at most",
            id="too much time to approve",
        ),
        pytest.param(
            {"approval_timeout": timedelta.max},
            "its approval_timeout is 3650 days at most",
            id="for ever",
        ),
        pytest.param(
            {"max_context_bytes": 999}, "its max_context_bytes is 1000 at least", id="no context"
        ),
        pytest.param(
            {"max_history_events": 0}, "its max_history_events is 1 at least", id="no history"
        ),
        pytest.param(
            {"instructions": "x" * 400_001},
            "instructions, tools and guardrails have 401,312 bytes, and 400,000 is most",
            id="too much to say",
        ),
        pytest.param({"tools": [print]}, "is no tool: write @tool(...)", id="a bare function"),
        pytest.param({"tools": LOOK}, "its tools must be a list, not Tool", id="one tool"),
        pytest.param({"guardrails": None}, "its guardrails must be a list", id="no guardrails"),
        pytest.param({"models": [3]}, "3 in its models is no string", id="a number as a model"),
        pytest.param({"name": 3}, "its name must be a string, not int", id="a number as a name"),
        pytest.param({"instructions": None}, "its instructions must be", id="nothing to say"),
        pytest.param({"budget": {"max_steps": 3}}, "must be a Budget(...)", id="budget as a dict"),
        pytest.param({"triggers": {}}, "must be a Triggers(...)", id="triggers as a dict"),
        pytest.param({"backtracking": 3}, "must be a Backtracking(...)", id="backtracks alone"),
        pytest.param({"tiers": {"full": "x"}}, "must be a Tiers(...)", id="tiers as a dict"),
        pytest.param(
            {"review": {"count": 2}}, "must be a Requirement(...)", id="review as a dict"
        ),
        pytest.param({"escalates": "no"}, "its escalates must be True or False", id="a word"),
        pytest.param({"approval_timeout": 3600}, "must be a timedelta, not int", id="seconds"),
        pytest.param({"max_context_bytes": "10k"}, "must be a number, not str", id="10k"),
        pytest.param({"project": ""}, "its project names no folder", id="no folder"),
        pytest.param({"project": 3}, "its project must be a folder, not int", id="a number"),
        pytest.param(
            {"acceptance": [project_passes("test")]},
            "'project_test' runs commands of a project, and the agent has none: give project=",
            id="checks of no project",
        ),
        pytest.param(
            {"tiers": Tiers(full="it"), "output": HostedTool},
            "give tools, subagents, handoffs, backtracking and output to them",
            id="an output of tiers",
        ),
        pytest.param({"tools": [LOOK, LOOK]}, "it has tool 'look' twice", id="a tool twice"),
        pytest.param(
            {"hosted": [LOOK]}, "a tool of your own can't be hosted", id="a business tool"
        ),
        pytest.param(
            {"hosted": HostedTool(name="web_search")},
            "its hosted tools are a list: write hosted=[...]",
            id="one hosted tool without a list",
        ),
        pytest.param(
            {"hosted": [HostedTool(name="web_search")] * 2},
            "it has tool 'web_search' twice",
            id="a hosted tool twice",
        ),
        pytest.param(
            {"hosted": [HostedTool(name="mcp")]},
            "no provider hosts 'mcp'",
            id="not hosted",  # HT-01
        ),
        pytest.param(
            {"settings": ModelSettings(tool_choice="look")},
            "its tool_choice names 'look', which is no tool of it",
            id="a choice that isn't there",
        ),
        pytest.param({"output": int}, "its output must be an object", id="output no object"),
        pytest.param(
            {"output": {"type": "object"}}, "its output must be a class", id="output no class"
        ),
        pytest.param({"output": Tool}, "its output is no JSON", id="output no JSON"),
    ],
)
def test_an_agent_that_cant_work_is_refused(changes: dict[str, object], flaw: str) -> None:
    """An agent needs a name, instructions, models that exist, and limits that can be kept."""
    name = changes.get("name", "it")

    message = refusal(agent(**changes))

    assert message.startswith(f"agent {name!r}: ")
    assert flaw in message


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"name": "a" * 100}, id="longest name"),
        pytest.param({"approval_timeout": timedelta(days=3650)}, id="longest wait"),
        pytest.param({"approval_timeout": timedelta(microseconds=1)}, id="shortest wait"),
        pytest.param({"max_context_bytes": 1000}, id="smallest context"),
        pytest.param({"max_history_events": 1}, id="shortest history"),
        pytest.param({"models": ["openai:gpt-5.2:beta"]}, id="colon in a model's name"),
    ],
)
def test_limits_at_their_bounds_are_accepted(changes: dict[str, object]) -> None:
    """What lies on the boundary is an agent."""
    assert len(app(agent(**changes)).agents) == 1


def test_all_flaws_are_named_at_once() -> None:
    """Whoever defines an agent reads everything that is to change."""
    assert refusal(agent(instructions="", models=["x"])) == (
        "agent 'it': it has no instructions; model 'x' is not named provider:name"
    )


@pytest.mark.parametrize(
    ("server", "flaw"),
    [
        pytest.param(
            ChatServer(base_url="llm.example.com/v1"),
            "its base_url must begin with https:// or http://",
            id="no address",
        ),
        pytest.param(
            ChatServer(base_url="http://localhost:11434/v1", key_variable="sk-secret"),
            "its key_variable must be the name of an environment variable, in capitals, "
            "never the key itself",
            id="the key itself",
        ),
        pytest.param("https://llm.example.com/v1", "write ChatServer(base_url=...)", id="text"),
    ],
)
def test_a_server_that_cant_be_asked_is_refused(server: ChatServer, flaw: str) -> None:
    """A server needs an address; a key in the place of its variable's name isn't repeated."""
    with pytest.raises(AppError) as raised:
        App(agents=[], chat_servers={"house": server})

    assert str(raised.value) == f"chat server 'house': {flaw}"


HARMLESS = {Risk.READ_ONLY, Risk.SEARCH_ONLY, Risk.COMPUTE_ONLY}


@pytest.mark.parametrize("risk", sorted(set(Risk) - HARMLESS))
def test_only_harmless_tools_are_hosted(risk: Risk) -> None:
    """What runs at a provider runs unasked, so nothing that changes anything may."""
    # HT-02 HT-05 HT-06 HT-07 HT-09 PP-05 T-28
    assert refusal(agent(hosted=[HostedTool(name="web_search", risk=risk)])) == (
        f"agent 'it': hosted tool 'web_search' is declared {risk}: "
        "nobody could approve its calls; make it a tool of your own"
    )


def test_an_output_is_a_closed_schema() -> None:
    """An answer can't have fields that its shape doesn't name, however deep."""
    # SV-06

    class Line(BaseModel):
        text: str

    class Report(BaseModel):
        lines: list[Line]

    schema = app(agent(output=Report)).snapshots()["it"].output_schema

    assert schema is not None
    assert schema["additionalProperties"] is False
    assert schema["$defs"] == {
        "Line": {
            "title": "Line",
            "type": "object",
            "properties": {"text": {"title": "Text", "type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        }
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": [LOOK]},
        {"hosted": [HostedTool(name="web_search")]},
        {"settings": ModelSettings(reasoning="high")},
    ],
)
def test_what_a_model_is_told_changes_the_version_of_the_prefix(
    changes: dict[str, object],
) -> None:
    """The digest of the prefix is its version: whatever is added to it changes it."""
    # PP-08
    plain, changed = app(agent()), app(agent(**changes))

    assert plain.snapshots()["it"].prefix_digest != changed.snapshots()["it"].prefix_digest


def test_two_agents_of_one_name_are_refused() -> None:
    """A run names its agent, so a name is one agent."""
    assert refusal(agent(), agent()) == ("agent 'it': two agents have this name; rename one")


def test_two_tools_of_one_name_are_refused() -> None:
    """Tools are shared by the agents of an app, so a name is one tool."""
    assert refusal(agent(tools=[LOOK]), agent(name="other", tools=[_look()])) == (
        "tool 'look': two different tools have this name; rename one"
    )


def test_a_policy_file_is_not_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is that of the folder where the app was made; a flaw is told with its line."""
    text = "version: 1\nrules: [{id: r, effect: deny}]\n"
    (tmp_path / "good.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(text.replace("deny", "dny"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    good, bad, absent = (
        App(agents=[agent()], scripts={"it": [say("done")]}, policy=name)
        for name in ("good.yaml", Path("bad.yaml"), "absent.yaml")
    )
    monkeypatch.chdir(tmp_path.parent)

    assert [rule.id for rule in good.policy.rules] == ["r"]
    assert good.policy.folder == tmp_path
    with pytest.raises(AppError, match=r"^bad\.yaml:2: rules\[0\]\.effect: Input should be "):
        _ = bad.policy
    with pytest.raises(AppError, match=r"^absent\.yaml: No such file or directory$"):
        _ = absent.policy


def test_without_a_policy_the_defaults_hold() -> None:
    """An app needs no policy file: the defaults of the risk classes decide."""
    assert app(agent()).policy is NO_POLICY


def test_a_snapshot_is_the_agent_as_it_is_now() -> None:
    """A run records models, limits and tools in order of names, under a digest of the prefix."""
    made = app(agent(tools=[sample_tools.whoami, ask_user, LOOK], budget=Budget(max_steps=3)))

    snapshot = made.snapshots()["it"]

    assert [contract.name for contract in snapshot.tools] == ["ask_user", "look", "whoami"]
    assert (snapshot.models, snapshot.budget.max_steps) == (("scripted:it",), 3)
    assert snapshot.approval_timeout == 7 * 86400
    assert snapshot.prefix_digest == snapshot.prefix.digest


def test_the_order_of_tools_makes_no_difference() -> None:
    """The same tools in another order are the same prefix, so a provider's cache holds."""
    one = app(agent(tools=[ask_user, LOOK])).snapshots()["it"]
    other = app(agent(tools=[LOOK, ask_user])).snapshots()["it"]

    assert one.prefix_digest == other.prefix_digest


def test_only_synchronous_tools_need_a_process() -> None:
    """The modules that child processes import are those of the synchronous tools."""
    assert app(agent(tools=[LOOK, sample_tools.whoami])).synchronous_modules() == [
        "tests.tools.sample_tools"
    ]
    assert app(agent(tools=[LOOK])).synchronous_modules() == []


@pytest.mark.parametrize(("count", "fits"), [(21, True), (22, False)])
def test_agents_work_for_agents_only_so_deep(count: int, *, fits: bool) -> None:
    """A chain that would come to an end in the middle of a run is refused before any."""
    chain = [
        Agent(name=f"a{n}", instructions="x", tiers=Tiers(full=f"a{n + 1}"))
        for n in range(count - 1)
    ]
    last = Agent(name=f"a{count - 1}", instructions="x", models=["scripted:s"])
    deep = "agent 'a0': below it agents work for agents more than 20 deep"

    with nullcontext() if fits else pytest.raises(AppError, match=deep):
        App(agents=[*chain, last], scripts={"s": []})
