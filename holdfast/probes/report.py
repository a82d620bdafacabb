"""What was found of an endpoint: a report for people and for programs."""

from collections.abc import AsyncIterator, Callable

from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.catalogue import PriceList
from holdfast.contracts.base import Contract
from holdfast.contracts.errors import ModelError
from holdfast.contracts.texts import shorten
from holdfast.contracts.usage import CallUsage
from holdfast.probes.endpoint import Endpoint
from holdfast.probes.tries import PROBES, Look, Verdict
from holdfast.settings import KnownSecrets
from holdfast.tools.redaction import Redactor

_MAX_DETAIL_CHARS = 500


class Finding(Contract):
    """What one probe has found; `notes` tell what the adapter left out of its requests."""

    probe: str
    verdict: Verdict
    detail: str
    notes: tuple[str, ...] = ()


class ProbeReport(Contract):
    """What was found of a model where it is asked; `usage` is that of all `requests`."""

    model: str
    answered_by: str | None
    findings: tuple[Finding, ...]
    requests: int
    usage: CallUsage

    @property
    def is_fit(self) -> bool:
        """Whether nothing was refused, or other than it has to be."""
        return not any(finding.verdict in ("wrong", "refused") for finding in self.findings)


async def probe(
    provider: ProviderAdapter, model: str, secrets: frozenset[str] = frozenset()
) -> ProbeReport:
    """
    Ask a *model* of a *provider*, by its name without the provider's, what runs would ask of it.

    Where not even words come, nothing else is asked for. Its server may quote the key that it was
    asked with: nothing secret is reported, nor what else is among *secrets*.
    """
    known = KnownSecrets(provider.credentials, secrets)
    endpoint, clear = Endpoint(provider, model), Redactor(known).text
    findings: list[Finding] = []
    for name, look in PROBES.items():
        findings += [found async for found in _try(endpoint, name, look)]
        if endpoint.answered_by is None:
            break
    findings.append(await _find_window(endpoint))
    named = endpoint.answered_by
    return ProbeReport(
        model=f"{provider.provider}:{model}",
        answered_by=None if named is None else clear(named),
        findings=tuple(_clear_secrets(one, clear) for one in findings),
        requests=endpoint.requests,
        usage=endpoint.usage,
    )


def _clear_secrets(found: Finding, clear: Callable[[str], str]) -> Finding:
    return Finding(
        probe=found.probe,
        verdict=found.verdict,
        detail=shorten(clear(found.detail), _MAX_DETAIL_CHARS),
        notes=tuple(map(clear, found.notes)),
    )


async def _try(endpoint: Endpoint, name: str, look: Look) -> AsyncIterator[Finding]:
    """Do one probe; an error of the endpoint's is what it finds."""
    endpoint.notes = {}
    try:
        async for probed, verdict, detail in look(endpoint):
            notes = tuple(endpoint.notes)
            yield Finding(probe=probed, verdict=verdict, detail=detail, notes=notes)
    except ModelError as error:
        if error.usage is not None:
            endpoint.usage += error.usage
        yield Finding(
            probe=name, verdict="refused", detail=str(error), notes=tuple(endpoint.notes)
        )


async def _find_window(endpoint: Endpoint) -> Finding:
    """Find the window that its provider tells, or else that of the library; nobody fills one."""
    adapter = endpoint.adapter
    prices = PriceList({adapter.provider: adapter})
    (facts,) = await prices.facts([f"{adapter.provider}:{endpoint.model}"])
    known, told = facts.context_tokens, None
    said = "its provider doesn't tell it"
    try:
        if endpoint.answered_by is not None and (told := await endpoint.ask_window()):
            said = f"{told} tokens, says its provider"
    except ModelError as error:
        said = f"asked for it, its provider says: {error}"
    listed = f"{known} tokens, says the library of prices" if known else "no price list has it"
    verdict: Verdict = "ok" if told or known else "unknown"
    return Finding(probe="context window", verdict=verdict, detail=f"{said}; {listed}")
