"""A tool: a contract and the function that keeps it, always together."""

import importlib
import inspect
from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property
from types import TracebackType
from typing import Literal, NamedTuple, TypeAlias, TypedDict, Unpack, cast

from pydantic import BaseModel, JsonValue, ValidationError

from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.bounds import MAX_RESULT_CHARS
from holdfast.contracts.calls import fingerprint_effect
from holdfast.contracts.errors import AppError, ToolError
from holdfast.contracts.tools import (
    ResourceScope,
    RetryRule,
    Risk,
    ToolContract,
)
from holdfast.tools.context import ToolContext
from holdfast.tools.readings import AMBIGUOUS
from holdfast.tools.schema import (
    SchemaCheck,
    Signature,
    find_text_arguments,
    flaws,
    may_be_address,
    objections,
    read_signature,
    translate_definition_errors,
)
from holdfast.tools.values.comparing import select_distinctive, write_values
from holdfast.tools.values.filling import fill_defaults
from holdfast.tools.values.writing import write_json

ToolFunction: TypeAlias = Callable[..., object] | Callable[..., Awaitable[object]]

SIDE_EFFECTS: dict[Risk, Literal["none", "local", "internal", "external"]] = {
    Risk.READ_ONLY: "none",
    Risk.SEARCH_ONLY: "none",
    Risk.COMPUTE_ONLY: "none",
    Risk.DRAFT_ONLY: "local",
    Risk.WRITE_LOCAL: "local",
    Risk.PROCESS_EXECUTION: "local",
    Risk.WRITE_INTERNAL: "internal",
    Risk.DESTRUCTIVE: "internal",
    Risk.PRIVILEGED_ACCESS: "internal",
    Risk.IDENTITY_ACCESS: "internal",
    Risk.COMMUNICATION: "external",
    Risk.WRITE_EXTERNAL: "external",
    Risk.FINANCIAL: "external",
    Risk.NETWORK_OPEN_WORLD: "external",
    Risk.SECURITY_SENSITIVE: "internal",
    Risk.PRIVILEGED_ADMIN: "internal",
}

MIN_DESCRIPTION_WORDS = 3
"""A description of fewer words says nothing that the name doesn't."""


MAX_LOCAL_SECONDS = 10.0
"""Seconds. A local tool holds up the workflow task, so it must be quick."""


class ComparableCall(NamedTuple):
    """The arguments of a call as its function will see them, and what makes two calls the same."""

    values: JsonObject
    effect: str


class Tool:
    """A contract and the function that keeps it. Calling it calls the function."""

    def __init__(
        self, contract: ToolContract, function: ToolFunction, signature: Signature
    ) -> None:
        self.contract = contract
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function)
        self.module = function.__module__
        self.qualname = function.__qualname__
        self._signature = signature
        self._check = SchemaCheck(contract.input_schema, f"tool {contract.name!r}")
        self._result_check = SchemaCheck(
            contract.output_schema, f"what tool {contract.name!r} returns"
        )

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        """Travel between processes as a name: code is imported, never sent."""
        return import_object, (self.module, self.qualname)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function as it was written, for example in its own unit test."""
        return self.function(*args, **kwargs)

    @cached_property
    def digest(self) -> str:
        """What is the same for tools that promise the same."""
        return digest(self.contract.model_dump(mode="json"))

    def objections(self, arguments: JsonObject) -> tuple[str, ...]:
        """Say what is wrong with the arguments, by the contract's schema."""
        return self._check.objections(arguments)

    def result_objections(self, result: JsonValue) -> tuple[str, ...]:
        """Say what is wrong with a result, by the contract's schema."""
        return self._result_check.objections(result)

    def bind(self, arguments: JsonObject, context: ToolContext) -> dict[str, object]:
        """
        Turn valid JSON arguments into what the function takes.

        Raises ToolError where a type is stricter than its schema can say, or can't be used.
        """
        with _REFUSING:
            values = self._signature.values(self._read(arguments))
        if self._signature.context_parameter is not None:
            values[self._signature.context_parameter] = context
        return values

    def values(self, arguments: JsonObject) -> JsonObject:
        """
        Return arguments as the function will see them, as JSON: a policy looks at nothing else.

        Defaults are filled in, decimals are numbers. Raises ToolError as `bind` does.
        """
        with _REFUSING:
            return write_values(self._read(arguments))

    def effect(self, written: JsonObject) -> str:
        """
        Return what is the same for calls that do the same, from arguments as a model wrote them.

        However they are written: what they leave out, or name as its default is, isn't looked at.
        So a release that adds an argument knows the calls of the one before, and what is made anew
        for each call tells none from the other. Raises ToolError as `bind` does.
        """
        with _REFUSING:
            distinctive = select_distinctive(self._read(written), written)
            return fingerprint_effect(self.contract.name, distinctive)

    def compare(self, arguments: JsonObject, written: JsonObject) -> ComparableCall:
        """Return what a policy looks at: of what was *written* no more may have been filled in."""
        values = self.values(arguments)
        try:
            return ComparableCall(values, self.effect(written))
        except ToolError:  # what an earlier release filled in is required by now
            return ComparableCall(values, self.effect(arguments))

    def fill_defaults(self, arguments: JsonObject) -> JsonObject:
        """
        Return valid arguments with each default that they leave out, made once and for all.

        Raises ToolError as `bind` does, and where a default isn't what the schema takes.
        """
        with _REFUSING:
            complete = cast("JsonObject", fill_defaults(arguments, self._read(arguments)))
        if complete != arguments and (flaws := self.objections(complete)):
            reason = f"name what was left out: {'; '.join(flaws)}"
            raise _invalid(reason)
        return complete

    def _read(self, arguments: JsonObject) -> BaseModel:
        if self._check.is_ambiguous(arguments):
            raise _invalid(AMBIGUOUS)
        return self._signature.arguments.model_validate(arguments)

    @property
    def is_two_part(self) -> bool:
        """Whether it returns a short part for the model, and a full one for people."""
        return self._signature.is_two_part

    def json(self, value: object) -> bytes:
        """Turn what the function returned into JSON; raises when it isn't what was promised."""
        return write_json(self._signature.returns, value)


class _Refusing:
    """
    Makes a ToolError of whatever reading or writing the arguments of a call raises.

    Their types are anybody's code, and the model chooses the values that it meets. What it raises
    may quote them, or what it made of them: so only its name is told.
    """

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        match error:
            case ValidationError():
                raise _invalid(objections(error)) from None
            case Exception() if not isinstance(error, ToolError):
                raise _invalid(f"no use can be made of them: {type(error).__name__}") from None
            case _:
                pass


_REFUSING = _Refusing()


def _invalid(reason: str) -> ToolError:
    return ToolError("invalid_arguments", reason, ("correct the arguments",))


class ToolOptions(TypedDict, total=False):
    """What a tool may say about itself beside its risk; see `tool`."""

    timeout: float
    scope: ResourceScope
    local: bool
    pollable: bool
    must_succeed: bool
    max_retries: int
    retry_backoff: float
    max_result_chars: int
    max_items: int
    max_snippet_chars: int
    shows: Literal["beginning", "end"]
    draft: str
    reconcile: str
    undo: str
    sandboxed: bool
    expected_result: str
    rollback: str
    permission: Literal["by_risk", "ask_user", "approval"]
    question: str
    regulated: bool


def tool(*, risk: Risk, **terms: Unpack[ToolOptions]) -> Callable[[ToolFunction], Tool]:
    """
    Make a function a tool. Its name, docstring and types become the contract.

    *timeout* is in seconds (30), for each attempt. *max_retries* (2) and *retry_backoff* (1 s)
    only matter for tools that change nothing; others never run twice on their own. A *local* tool
    runs inside the workflow task, a *pollable* one may be called again with the same arguments.
    Where one fails for good that *must_succeed*, the run takes back what it did, and ends.
    Of a result *max_result_chars* (20,000) go to the model, of a list in it *max_items*, of each
    text in it *max_snippet_chars*, and it *shows* its "beginning" or its "end"; the whole is an
    artifact, in which the tool `read_result` reads on. *scope* names the argument that must stay
    with the tenant or in the workspace. *draft* names the tool that prepares what this one
    commits, *reconcile* the tool that finds out whether a call happened whose answer was lost: it
    returns `Reconciled`. *undo* names the tool that takes back what a call did when the answer of
    its run is blocked: it finds what the call answered in `ctx.done`. All three take the same
    arguments and stand in the same module, or among the agent's tools. A *sandboxed* tool runs in
    the sandbox. With *permission* "approval" each call waits for a person; with "ask_user" the
    tool is a question to one, and its function never runs: they see all arguments, of which
    *question* names the one that asks (`question`, or the only text), and their answer has to fit
    what it returns.
    *expected_result* and *rollback* are what an approver is told. A *regulated* one is about data
    that a law protects, and so is each run of an agent that has it (docs/security.md). Raises
    AppError when the contract has holes.
    """

    def decorate(function: ToolFunction) -> Tool:
        name = function.__name__
        if unknown := sorted(terms.keys() - ToolOptions.__annotations__.keys()):
            known = ", ".join(("risk", *ToolOptions.__annotations__))
            raise AppError(f"tool {name!r}: there is no setting {unknown[0]!r} (known: {known})")
        signature = read_signature(name, function)
        if risk not in SIDE_EFFECTS:
            raise AppError(f"tool {name!r}: risk {risk!r} is none of the risk classes")
        with translate_definition_errors(name):
            made = Tool(_contract(function, signature, risk, terms), function, signature)
        if holes := find_holes(made):
            raise AppError(f"tool {name!r}: {'; '.join(holes)}")
        return made

    return decorate


def _contract(
    function: ToolFunction, signature: Signature, risk: Risk, terms: ToolOptions
) -> ToolContract:
    return ToolContract(
        name=function.__name__,
        description=inspect.getdoc(function) or "",
        input_schema=signature.input_schema,
        output_schema=signature.output_schema,
        risk=risk,
        side_effect=SIDE_EFFECTS[risk],
        resource_scope=terms.get("scope", ResourceScope()),
        permission=terms.get("permission", "by_risk"),
        timeout=terms.get("timeout", 30.0),
        max_result_chars=terms.get("max_result_chars", 20_000),
        retry=RetryRule(
            max_retries=terms.get("max_retries", 2), backoff=terms.get("retry_backoff", 1.0)
        ),
        audit="ids" if terms.get("regulated", False) else "history",
        error_format="tool_failure",
        local=terms.get("local", False),
        pollable=terms.get("pollable", False),
        must_succeed=terms.get("must_succeed", False),
        max_items=terms.get("max_items"),
        max_snippet_chars=terms.get("max_snippet_chars"),
        shows=terms.get("shows", "beginning"),
        draft=terms.get("draft"),
        expected_result=terms.get("expected_result", ""),
        rollback=terms.get("rollback", ""),
        reconcile=terms.get("reconcile"),
        sandboxed=terms.get("sandboxed", False),
        undo=terms.get("undo"),
        question=_find_question(signature, terms),
    )


def _find_question(signature: Signature, terms: ToolOptions) -> str | None:
    """Return the argument with the question of a tool that asks people; null if nothing says."""
    named = terms.get("question")
    if named is not None or terms.get("permission") != "ask_user":
        return named
    texts = find_text_arguments(signature.input_schema)
    if "question" in texts:
        return "question"
    return texts[0] if len(texts) == 1 else None


def import_object(module: str, qualname: str) -> object:
    """Return what stands in a module under a name; raises ImportError or AttributeError."""
    found: object = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def find_holes(made: Tool) -> tuple[str, ...]:
    """Say what a contract lacks to be one; nothing when it is whole."""
    contract = made.contract
    found = list(flaws(contract.input_schema))
    if (words := len(contract.description.split())) < MIN_DESCRIPTION_WORDS:
        has = (
            f"its docstring has {words} of {MIN_DESCRIPTION_WORDS} words"
            if words
            else "it has no docstring"
        )
        found.append(f"{has}: say in a sentence what it does, which is all a model knows of it")
    if contract.max_result_chars > MAX_RESULT_CHARS:
        found.append(f"max_result_chars is {MAX_RESULT_CHARS} at most; the rest is an artifact")
    if (contract.max_snippet_chars or 0) > contract.max_result_chars:
        found.append("max_snippet_chars is max_result_chars at most: no text is longer than that")
    if contract.local and not contract.risk.changes_nothing:
        found.append(f"a local tool must change nothing, and {contract.risk} does")
    if contract.local and contract.sandboxed:
        found.append("a local tool runs in the workflow's worker, so it can't be sandboxed")
    if contract.reconcile is not None and contract.risk.changes_nothing:
        found.append(f"there is nothing to reconcile: {contract.risk} changes nothing")
    if contract.undo is not None and contract.risk.changes_nothing:
        found.append(f"there is nothing to undo: {contract.risk} changes nothing")
    if contract.local and contract.timeout > MAX_LOCAL_SECONDS:
        found.append(f"a local tool must have a timeout of at most {MAX_LOCAL_SECONDS:g} s")
    return (*found, *_check_scope(contract), *_check_question(contract))


def _check_question(contract: ToolContract) -> Iterator[str]:
    texts = find_text_arguments(contract.input_schema)
    known = ", ".join(texts) or "none"
    if contract.permission != "ask_user":
        if contract.question is not None:
            yield "only a tool with permission='ask_user' has a question"
    elif contract.question is None:
        yield (
            "it asks people, and nothing says what: name the argument that asks, as in "
            f"@tool(question=...) (its arguments that are text: {known})"
        )
    elif contract.question not in texts:
        yield (
            f"its question {contract.question!r} is none of its arguments that are text ({known})"
        )


def _check_scope(contract: ToolContract) -> Iterator[str]:
    scope, properties = contract.resource_scope, contract.input_schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    if scope.kind != "none" and scope.argument is None:
        yield f"its scope {scope.kind!r} must name the argument that is checked"
    if scope.argument is not None and scope.argument not in known:
        yield f"its scope names {scope.argument!r}, which is none of its arguments"
    elif scope.kind == "workspace" and may_be_address(known.get(scope.argument or "")):
        yield f"its scope names {scope.argument!r}, which is an address and no path: take a Path"
    writes = contract.risk is Risk.WRITE_LOCAL and contract.receiver is None
    if writes and scope.kind != "workspace" and not contract.sandboxed:
        yield (
            "a write_local tool needs scope=ResourceScope(kind='workspace', argument=...), which "
            "names its path, or sandboxed=True; one that writes elsewhere is write_internal"
        )
