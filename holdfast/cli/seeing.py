"""Nobody decides unseen: a request is shown and asked about, or named by the digest of it."""

import sys
from collections.abc import Sequence
from typing import TypeVar

from holdfast.cli import request_details, screen
from holdfast.cli.screen import Screen
from holdfast.client import Run
from holdfast.contracts.approvals import Request
from holdfast.contracts.errors import HoldfastError

Wanted = TypeVar("Wanted", bound=Request)


async def confirm_request(
    run: Run,
    request_id: str | None,
    kinds: tuple[type[Wanted], ...],
    *,
    digest: str | None,
    question: str,
    signed: bool = False,
) -> Wanted:
    """
    Return the request that a person decides once they have seen it, on the terminal.

    Without a terminal its digest says that they have, or the token that they *signed*. Raises
    HoldfastError where nobody has, nobody wants it, or another request waits meanwhile.
    """
    out = Screen(errors=True)
    asks = sys.stdin.isatty() and out.is_terminal
    if not (asks or signed) and (request_id is None or digest is None):
        raise HoldfastError(
            "there is no terminal to show the request on: name REQUEST and --digest DIGEST, as "
            f"'{screen.command('pending --json', run.id)}' shows them"
        )
    shown = await _find_request(run, request_id, kinds)
    if signed and digest is None and not asks:
        require_shown_whole(run, shown)
    found = await read_from_asking_run(run, shown)
    if digest not in {None, found.digest}:
        raise HoldfastError(
            f"request {found.request_id!r} of run {run.id!r} is not the one with this digest: see "
            f"'{screen.command('pending', run.id)}'"
        )
    if asks:
        await _ask(out, run.id, found, question)
    return found


def require_shown_whole(run: Run, shown: Request) -> None:
    """Refuse what was signed by the words of a run that left something out: HoldfastError."""
    if shown.left_out:
        asking = screen.command("pending --json", run.find_asking(shown).id)
        raise HoldfastError(
            f"request {shown.request_id!r} is not shown whole by run {run.id!r}: see it with "
            f"'{asking}', and name its --digest beside the token"
        )


async def _ask(out: Screen, run: str, request: Request, question: str) -> None:
    request_details.show_request(out, run, request)
    try:
        said = await screen.read_line(out, f"{question} [y/N] ")
    except EOFError:
        said = ""
    if said.lower() not in {"y", "yes"}:
        raise HoldfastError(f"nothing was sent: {request.request_id!r} of run {run!r} waits on")


async def _find_request(
    run: Run, request_id: str | None, kinds: tuple[type[Wanted], ...]
) -> Wanted:
    """Return the request with this id; without an id it is the only one of these kinds."""
    await run.describe_open()
    waiting = await run.pending()
    if request_id is None:
        return _require_only(run.id, [one for one in waiting if isinstance(one, kinds)], waiting)
    found = next((one for one in waiting if one.request_id == request_id), None)
    if isinstance(found, kinds):
        return found
    if found is not None:
        command = request_details.command(run.id, found)
        raise HoldfastError(
            f"request {request_id!r} of run {run.id!r} waits for something else: {command}"
        )
    names = ", ".join(one.request_id for one in waiting)
    what_is = f"open: {names}" if names else "none is open"
    raise HoldfastError(f"no request {request_id!r} of run {run.id!r} waits; {what_is}")


async def read_from_asking_run(run: Run, found: Wanted) -> Wanted:
    """Return a request as the part has it that asks: what is signed goes by nobody else's word."""
    asking = run.find_asking(found)
    return _find_same(run, asking, found, () if asking is run else await asking.pending())


def _find_same(run: Run, asking: Run, found: Wanted, waiting: Sequence[Request]) -> Wanted:
    """Return a request as the run has it that asks, of what waits there."""
    if asking is run:
        return found
    same = (one for one in waiting if one.request_id == found.own_id)
    match next(same, None):
        case None:
            raise HoldfastError(f"run {asking.id!r} asks for no {found.own_id!r} any more")
        case one if type(one) is type(found) and (found.left_out or one.digest == found.digest):
            fresh = one.with_(request_id=found.request_id, run_id=found.run_id)
            return found.copy_with(dict(fresh))
        case _:
            raise HoldfastError(f"run {asking.id!r} asks for something else: see {run.id!r} again")


async def read_from_asking_runs(run: Run, waiting: Sequence[Request]) -> list[Request]:
    """
    Return requests as those runs have them that ask; a line names what they don't ask.

    Who signs elsewhere goes by what is printed, and anybody can have a run show for a part what
    that doesn't ask, with the digests of what it does.
    """
    found, asked = list[Request](), dict[str, tuple[Request, ...]]()
    for one in waiting:
        asking = run.find_asking(one)
        try:
            if asking is not run and asking.id not in asked:
                asked[asking.id] = await asking.pending()
            found.append(_find_same(run, asking, one, asked.get(asking.id, ())))
        except HoldfastError as error:
            screen.warn(f"{one.request_id}: {error}")
    return found


def _require_only(run: str, fitting: list[Wanted], waiting: Sequence[Request]) -> Wanted:
    match fitting:
        case [only]:
            return only
        case []:
            others = "; ".join(request_details.command(run, one) for one in waiting)
            but = f", but something else does: {others}" if others else ""
            raise HoldfastError(f"nothing in run {run!r} waits for approval{but}")
        case _:
            *names, last = (one.request_id for one in fitting)
            raise HoldfastError(
                f"{len(fitting)} requests of run {run!r} wait: name {', '.join(names)} or {last}"
            )
