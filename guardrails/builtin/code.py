"""`static_analysis`: the code of an answer has no critical flaws, says Ruff."""

import asyncio
import resource
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Unpack, cast

from pydantic import BaseModel, TypeAdapter
from ruff import find_ruff_bin  # pyright: ignore[reportMissingTypeStubs] -- its types are in the code

from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.guardrails.builtin.fair_places import FairPlaces
from holdfast.guardrails.builtin.making import (
    BuiltinOptions,
    build_guardrail,
    builtin,
    run_beside,
)
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    not_applicable,
    passed,
    tripped,
)
from holdfast.guardrails.detectors.code_blocks import Block, find_blocks

CRITICAL = (
    *("S102", "S307"),  # exec, eval
    *("S602", "S604", "S605", "S609"),  # a shell reads what is put together
    *("S301", "S506"),  # pickle and YAML run what they read
    *("S501", "S608"),  # no check of certificates, SQL put together
    *("S105", "S106", "S107"),  # passwords in the code
)
"""Rules of Ruff that are critical unless told otherwise, beside what is no Python at all."""

_MINOR = ("E4", "E7", "F")
_SYNTAX_ERROR = "invalid-syntax"
_PYTHON = frozenset({"python", "py", "python3", "py3"})
_MAX_BLOCKS = 50
_MAX_NAMED_FINDINGS = 20
_MAX_FINDINGS_BYTES = 1_000_000

_MAX_SECONDS = 5
_MAX_MEGABYTES = 256
"""Of one block: code that is made for it takes Ruff quadratic time and gigabytes."""

_PLACES = FairPlaces(2)
"""For Ruff, whatever many answers are looked at."""

_TOO_MUCH = frozenset({-signal.SIGXCPU, -signal.SIGABRT, -signal.SIGSEGV})
"""How Ruff ends whose time, memory or stack is used up: it would end so again."""


class _TooMuchCode(HoldfastError):
    """Nobody looks at all of this code, or keeps all that Ruff says of it."""


class _Location(BaseModel):
    row: int


class _Finding(BaseModel):
    """What Ruff writes of a finding, as far as it is read."""

    code: str | None
    message: str
    location: _Location

    @property
    def rule(self) -> str:
        return self.code or _SYNTAX_ERROR


_FINDINGS = TypeAdapter(list[_Finding])


@builtin
def static_analysis(
    critical: Sequence[str] = CRITICAL, **wishes: Unpack[BuiltinOptions]
) -> Guardrail:
    """
    Trip on Python in an answer that breaks one of the *critical* rules of Ruff, or is no Python.

    Code that says `noqa` is looked at all the same. Other findings pass and are named. A block
    without a language counts where it can be read as Python.
    """
    return build_guardrail("static_analysis", "output", _Analysis(tuple(critical)), wishes)


@dataclass(frozen=True)
class _Analysis:
    """The rules that are critical."""

    critical: tuple[str, ...]

    async def __call__(self, subject: Subject, context: GuardrailContext) -> GuardrailResult:
        found = await run_beside(context, lambda: [*find_blocks(subject.text)])
        code = [block for block in found if not block.language or block.language in _PYTHON]
        if len(code) > _MAX_BLOCKS:
            return tripped(
                f"it has {len(code)} blocks of code, more than are looked at ({_MAX_BLOCKS})",
                f"show at most {_MAX_BLOCKS} blocks of code",
            )
        try:
            findings = [await self._findings(block, context.tenant) for block in code]
        except _TooMuchCode as flaw:
            return tripped(str(flaw), "show simpler code, with fewer flaws")
        if all(each is None for each in findings):
            return not_applicable("there is no Python in it")
        return self._judge_findings([finding for each in findings for finding in each or ()])

    async def _findings(self, block: Block, tenant: str) -> list[_Finding] | None:
        """Return what Ruff finds in a block; null for one that may well be something else."""
        async with _PLACES.take(tenant):
            findings = await _run_ruff(block.content, (*_MINOR, *self.critical))
        if not block.language and any(each.rule == _SYNTAX_ERROR for each in findings):
            return None
        return findings

    def _judge_findings(self, findings: Sequence[_Finding]) -> GuardrailResult:
        severe = [each for each in findings if self._is_critical(each)]
        if not severe:
            minor = ", ".join(sorted({each.rule for each in findings}))
            return passed(f"minor: {minor}" if minor else "")
        rules = ", ".join(sorted({each.rule for each in severe}))
        return tripped(
            f"the code has critical flaws: {rules}",
            *(
                f"{each.rule} in line {each.location.row}: {each.message}"
                for each in severe[:_MAX_NAMED_FINDINGS]
            ),
        )

    def _is_critical(self, finding: _Finding) -> bool:
        return finding.rule == _SYNTAX_ERROR or finding.rule.startswith(self.critical)


async def _run_ruff(code: str, rules: Sequence[str]) -> list[_Finding]:
    """Have Ruff look at code by these rules and nothing else; nothing is written, nothing run."""
    process = await asyncio.create_subprocess_exec(
        find_ruff_bin(),
        *("check", "--isolated", "--no-cache", "--ignore-noqa", "--quiet"),
        *("--output-format", "json", "--select", ",".join(rules)),
        *("--stdin-filename", "answer.py", "-"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _limit(process.pid)
        said, complaint = await _read_findings(process, code.encode("utf-8", "replace"))
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()  # what nobody has read would keep it from ending
    if process.returncode in _TOO_MUCH:
        bound = f"{_MAX_MEGABYTES} MB, {_MAX_SECONDS} s"
        raise _TooMuchCode(f"it has more code, or deeper, than Ruff gets through ({bound})")
    if process.returncode not in (0, 1):
        lines = complaint.decode("utf-8", "replace").strip().splitlines()
        raise HoldfastError(f"Ruff can't look at the code: {lines[-1] if lines else 'no reason'}")
    return _FINDINGS.validate_json(said)


def _limit(process: int) -> None:
    """Bound the time and memory of a process that waits for what it is to read, where one can."""
    if sys.platform != "linux":
        return
    limits = (
        (resource.RLIMIT_AS, _MAX_MEGABYTES << 20),
        (resource.RLIMIT_CPU, _MAX_SECONDS),
        (resource.RLIMIT_CORE, 0),  # it would lie where tools have their files
    )
    with suppress(ProcessLookupError):  # why it ended is said by how it ended
        for kind, most in limits:
            _, highest = resource.prlimit(process, kind)
            bound = most if highest == resource.RLIM_INFINITY else min(most, highest)
            # Beyond the lower one it is told so; beyond the higher one it is killed.
            resource.prlimit(process, kind, (bound, highest))


async def _read_findings(process: Process, code: bytes) -> tuple[bytes, bytes]:
    """Give Ruff the code, and read what it says: some hundred bytes for each finding."""
    given = cast("asyncio.StreamWriter", process.stdin)
    findings = cast("asyncio.StreamReader", process.stdout)
    given.write(code)
    given.write_eof()
    said = bytearray()
    while part := await findings.read(_MAX_FINDINGS_BYTES):
        said += part
        if len(said) > _MAX_FINDINGS_BYTES:
            raise _TooMuchCode(f"Ruff finds more than {_MAX_FINDINGS_BYTES:,} bytes of flaws")
    complaint = await cast("asyncio.StreamReader", process.stderr).read()
    await process.wait()
    return bytes(said), complaint
