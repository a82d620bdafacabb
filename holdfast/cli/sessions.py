"""Commands that talk in sessions, and list them."""

import asyncio
import sys
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Annotated

import typer
from temporalio.service import RPCError, RPCStatusCode

from holdfast.cli import options, render, screen
from holdfast.cli.asking import RETRY_SECONDS, ApprovalPrompt
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.client import Holdfast, MessageRefused, NoWorker, RunEvent, Session
from holdfast.client.event_data import TextDelta, TextReset, ToolStarted
from holdfast.client.live import LIVE_SECONDS
from holdfast.client.session import find_begun
from holdfast.client.stream import EventStream, open_stream
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.patterns import RUN_ID_RULE, is_run_id
from holdfast.contracts.run import RunResult
from holdfast.contracts.sessions.messages import ConversationTurn
from holdfast.contracts.texts import shorten
from holdfast.run.sessions.messages import describe_other_agent
from holdfast.run.texts.figures import moment
from holdfast.trace.words import short

SHOWN_TURNS = 20
"""What is shown of a session that somebody comes back to."""


@blocking
async def chat(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The name of the agent.")],
    *,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="The session; a new one unless given.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant that it is for.")] = None,
    actor: Annotated[str | None, typer.Option(help="Who speaks; you unless given.")] = None,
    queue: Annotated[str | None, typer.Option(help="Where its app is, as in desk.")] = None,
) -> None:
    """
    Talk with an agent, a message a line, until Ctrl-D or Ctrl-C.

    The session stays open; with its id you come back to it, and see what was said last.
    """
    if session is not None and not is_run_id(session):
        raise typer.BadParameter(f"{RUN_ID_RULE}: choose another --session")
    holdfast = await options.connect()
    talk = holdfast.session(
        session,
        agent=agent,
        queue=queue or options.find_queue(),
        tenant=tenant,
        actor=actor or options.login(),
        stream=True,
    )
    given = {"--session": talk.id, "--tenant": tenant, "--actor": actor, "--queue": queue}
    words = [
        word
        for name, value in given.items()
        if value is not None
        for word in (name, screen.quote(value))
    ]
    comes_back = " ".join((screen.command("chat", agent), *words))
    if session is not None:
        await _show_earlier(holdfast, talk, agent)
    leaving = f"{talk.id} stays open: '{comes_back}' comes back to it"
    talking = Chat(holdfast, talk)
    talking.has_begun = session is not None
    try:
        await talking.run()
    except asyncio.CancelledError:
        talking.tell_end(leaving)
        raise
    talking.tell_end(leaving)


class Chat:
    """Somebody who talks in a session, and sees what happens in it meanwhile."""

    def __init__(self, holdfast: Holdfast, talk: Session) -> None:
        self._holdfast, self._talk = holdfast, talk
        self._out = Screen()
        self._words = ""
        self._followed: str | None = None
        self._following: asyncio.Task[None] | None = None
        self._told_failures: set[str] = set()
        self.has_begun = False

    async def run(self) -> None:
        """Say each line that somebody types, and show what it came to."""
        try:
            while (line := await self._read_line()) is not None:
                if line.strip():
                    await self._exchange(line)
        finally:
            await self._stop_following()

    def tell_end(self, leaving: str) -> None:
        """Say how somebody comes back, where there is something to come back to."""
        if self.has_begun:
            screen.warn(leaving, hang=None)

    async def _read_line(self) -> str | None:
        if not (sys.stdin.isatty() and self._out.is_terminal):
            return await screen.read_piped_line()
        try:
            return await screen.read_line(self._out, "> ")
        except EOFError:
            self._out.line("")
            return None

    async def _exchange(self, line: str) -> None:
        self._words = ""
        try:
            self.has_begun = True
            receipt = await self._talk.send(line)
            result = await self._watch_until(self._talk.wait_for(receipt.message_id))
        except (MessageRefused, NoWorker) as error:
            screen.warn(str(error))
            return
        self._show(result)

    async def _watch_until(self, done: Coroutine[None, None, RunResult]) -> RunResult:
        """Show what happens in the session meanwhile, anew where that has failed."""
        waiting = asyncio.create_task(done)
        try:
            while True:
                following = await self._follow()
                await asyncio.wait({waiting, following}, return_when=asyncio.FIRST_COMPLETED)
                if waiting.done() or following.exception() is None:
                    return await waiting
                await asyncio.wait({waiting}, timeout=RETRY_SECONDS)
        finally:
            waiting.cancel()

    def _show(self, result: RunResult) -> None:
        """Show what of an answer wasn't read while it came; or why there is none."""
        answer = result.answer
        told, self._words = self._words, ""
        if answer is not None and told and answer.startswith(told.rstrip()):
            self._out.words(answer[len(told) :])
            self._out.end_words()
            return
        self._out.end_words()
        if answer is not None:
            self._show_answer(answer)
            return
        why, stop = "", result.stop
        if stop is not None:
            detail = f" ({short(stop.detail)})" if stop.detail else ""
            why = f": {stop.reason}{detail}; {stop.next_safe_action}"
        self._out.line(f"({result.status}{why})", "dim")

    def _show_answer(self, answer: str) -> None:
        """Write an answer: to a program as it is, to a person as words that were read along."""
        if self._out.is_terminal:
            self._out.words(answer, "")
            self._out.end_words()
            return
        for row in answer.splitlines() or [""]:
            self._out.line(row)

    async def _follow(self) -> asyncio.Task[None]:
        """Look at what happens in the session, from now on and as long as it is open."""
        found = await self._talk.run.describe()
        first = found.raw_description.workflow_execution_info.first_run_id
        if self._following is not None and self._followed == first:
            return self._following
        await self._stop_following()
        self._followed = first
        stream = await open_stream(self._holdfast.client, found, None, LIVE_SECONDS)
        self._following = asyncio.create_task(self._read(stream))
        self._following.add_done_callback(self._note_failure)
        return self._following

    def _note_failure(self, following: asyncio.Task[None]) -> None:
        """Say once why nobody sees what happens, nor is asked anything."""
        if following.cancelled() or (error := following.exception()) is None:
            return
        self._followed = None
        why = shorten(f"{type(error).__name__}: {error}")
        if why not in self._told_failures:
            self._told_failures.add(why)
            screen.warn(
                f"what happens in {self._talk.id} can't be shown ({why}), and is looked for "
                f"again; '{screen.command('pending', self._talk.id)}' shows what waits"
            )

    async def _stop_following(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def _read(self, stream: EventStream) -> None:
        asks = sys.stdin.isatty() and self._out.is_terminal
        prompt = ApprovalPrompt(self._talk.run, self._out, asks=asks)
        caught_up = False
        try:
            async with aclosing(stream.steps()) as steps:
                async for step in steps:
                    caught_up = caught_up or step is None
                    if not caught_up:
                        continue
                    if step is not None and self._out.is_terminal:
                        self._take(step)
                    prompt.set_open_requests(stream.trace)
        finally:
            await prompt.close()

    def _take(self, event: RunEvent) -> None:
        """Show words of the agent as they come, and what it does."""
        match event.data:
            case TextDelta(text=text, seq=seq):
                if seq == 0:
                    self._end_words()
                elif not self._words:
                    return  # the answer was shown already
                self._words += text
                self._out.words(text)
            case TextReset():
                self._end_words()
            case ToolStarted(name=name, purpose=purpose):
                self._end_words()
                self._out.line(f"({purpose} {name})", "dim")
            case _:
                pass

    def _end_words(self) -> None:
        self._words = ""
        self._out.end_words()


async def _show_earlier(holdfast: Holdfast, talk: Session, agent: str) -> None:
    """
    Show what was said last in a session that somebody comes back to; a new one has nothing.

    Raises HoldfastError where it was opened with another agent, before anything is typed.
    """
    try:
        await holdfast.client.get_workflow_handle(talk.id).describe()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return
    report = await talk.report()
    if report.opened_with != agent:
        raise HoldfastError(describe_other_agent(talk.id, report.opened_with, agent))
    page = await talk.conversation()
    _show_turns(Screen(), page.items[-SHOWN_TURNS:])


def _show_turns(out: Screen, turns: tuple[ConversationTurn, ...]) -> None:
    for turn in turns:
        said = turn.content or f"({turn.metadata.get('reason') or turn.metadata.get('status')})"
        if turn.role != "user" and out.is_terminal:
            out.words(said)  # as where it came: it could look like a request
            out.end_words()
            continue
        for row in said.splitlines():
            out.line(row, "dim", head="> " if turn.role == "user" else "  ")


@blocking
async def sessions(
    session: Annotated[
        str | None, typer.Argument(metavar="[SESSION]", help="One of them; all if left out.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most, the latest first.")] = 20,
    as_json: options.Json = False,
) -> None:
    """List sessions, the latest first; or show one, and what was said last."""
    holdfast = await options.connect()
    if session is not None:
        await _show_session(holdfast, session, as_json=as_json)
        return
    found = await holdfast.sessions(limit=limit)
    if as_json:
        render.show_json([one.model_dump(mode="json") for one in found])
    elif not found:
        screen.warn("no sessions")
    else:
        rows = [
            (one.session_id, one.agent or "-", one.status, moment(one.started_at)) for one in found
        ]
        render.show_table(Screen(), ("SESSION", "AGENT", "STATUS", "OPENED"), rows)


async def _show_session(holdfast: Holdfast, name: str, *, as_json: bool) -> None:
    """Show a session to whoever reads the namespace, which is all that this command asks."""
    if not is_run_id(name):
        raise HoldfastError(f"{RUN_ID_RULE}: {name!r} is no session")
    begun = await anext(find_begun(holdfast.client, name), None)
    if begun is None:
        raise HoldfastError(f"there is no session {name!r}: 'holdfast sessions' lists them")
    report = begun.report
    talk = holdfast.session(name, agent=report.agent, tenant=report.tenant)
    page = await talk.conversation()
    if as_json:
        whole = report.model_dump(mode="json")
        render.show_json({**whole, "conversation": page.model_dump(mode="json")})
        return
    out = Screen()
    fields = [
        ("session", report.session_id),
        ("agent", report.agent),
        ("for", f"{report.actor} of {report.tenant}"),
        ("messages", f"{report.messages}, of which {report.waiting} wait"),
        ("works on", report.working_on or "-"),
        ("changed", moment(report.last_updated)),
    ]
    render.show_fields(out, fields)
    _show_turns(out, page.items[-SHOWN_TURNS:])
