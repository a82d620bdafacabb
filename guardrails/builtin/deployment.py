"""`deployment_safety`: nothing is deployed to what is ill."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, Unpack
from urllib.parse import urlsplit

import httpx

from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.guardrails.builtin.making import BuiltinOptions, build_guardrail, builtin
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    not_applicable,
    passed,
    tripped,
)
from holdfast.tools.network.clients import open_client
from holdfast.tools.network.pace import UnacceptableResponse

Probe: TypeAlias = Callable[[], Awaitable[bool]]

PROBE_TIMEOUT_SECONDS = 10.0
"""Seconds."""


@builtin
def deployment_safety(
    probe: Probe | str,
    tools: tuple[str, ...] = (),
    *,
    layer: Literal["pre_execution", "post_action"] = "pre_execution",
    **wishes: Unpack[BuiltinOptions],
) -> Guardrail:
    """
    Trip when a health check fails: before calls of *tools*, or in "post_action" after them.

    The *probe* is an async function that says whether all is well, or the address (URL) of a
    health check: anything but an answer of 2xx is ill, and so is none.
    """
    if layer == "pre_execution" and not tools:
        raise AppError(
            "guardrail 'deployment_safety': name the tools that deploy: tools=('deploy',)"
        )
    if isinstance(probe, str) and urlsplit(probe).scheme not in ("http", "https"):
        raise AppError(f"guardrail 'deployment_safety': {probe!r} is no address of http or https")
    return build_guardrail("deployment_safety", layer, _Health(probe), wishes, tools=tools)


@dataclass(frozen=True)
class _Health:
    """How to find out whether all is well."""

    probe: Probe | str

    async def __call__(self, subject: Subject, _: GuardrailContext) -> GuardrailResult:
        if subject.kind not in ("call", "done", "answer"):
            return not_applicable("nothing is deployed here")
        if isinstance(self.probe, str):
            return await _probe_address(self.probe)
        return passed() if await self.probe() else tripped("the health check fails")


async def _probe_address(address: str) -> GuardrailResult:
    parts = urlsplit(address)
    place = f"{parts.hostname}{parts.path}"
    try:
        async with (
            open_client(PROBE_TIMEOUT_SECONDS, trust_env=True) as client,
            client.stream("GET", address) as answer,
        ):
            pass
    except (httpx.HTTPError, UnacceptableResponse) as error:
        return tripped(f"the health check {place} doesn't answer: {type(error).__name__}")
    if answer.is_success:
        return passed()
    return tripped(f"the health check {place} answers {answer.status_code}")
