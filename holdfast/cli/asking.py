"""Asking the person at the terminal to decide a request."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress

from temporalio.service import RPCError

from holdfast import signing
from holdfast.cli import deciding, options, request_details, screen, seeing
from holdfast.cli.screen import Screen
from holdfast.client import NoWorker, Run
from holdfast.client.run import RPC_TIMEOUT
from holdfast.contracts.approvals import (
    Approvable,
    ApprovalRequest,
    Escalation,
    Question,
    Request,
    Review,
)
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    Message,
    ResolutionSignal,
    SignedSignal,
)
from holdfast.policy.trust import normalize_name
from holdfast.tools.values.answers import find_answer_flaw
from holdfast.trace.values import Trace

RETRY_SECONDS = 1.0
"""Seconds until a run that didn't answer is asked again."""


class ApprovalPrompt:
    """
    Shows the requests of one run, one after the other and each once.

    With *asks*, the person at the terminal is asked to decide; a question whose request somebody
    else decides is withdrawn. `question` is what the person reads in the line where they type.
    """

    def __init__(self, run: Run, out: Screen, *, asks: bool) -> None:
        self.question = ""
        self._run = run
        self._out = out
        self._asks = asks
        self._shown: set[str] = set()
        self._open: Collection[str] = ()
        self._requester = ""
        self._changed = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[Message] | None = None
        self._user = options.login()

    def set_open_requests(self, trace: Trace) -> None:
        """Take note of which requests are open now, those of parts too, and for whom it works."""
        open_ids = [*(asked.request_id for asked in trace.waiting), *trace.relayed_requests]
        self._open = open_ids
        self._requester = trace.brief.actor if trace.brief else ""
        self._changed.set()
        if self._reading is not None and self._reading.get_name() not in open_ids:
            self._reading.cancel()
            self.question = ""
        idle = self._serving is None or self._serving.done()
        if idle and not self._shown.issuperset(open_ids):
            self._serving = asyncio.create_task(self._serve())

    async def close(self) -> None:
        """Stop asking; what comes next stands below a question that is left."""
        if self.question:
            self._out.line("")
        for task in (self._serving, self._reading):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})

    async def _serve(self) -> None:
        while waiting := set(self._open) - self._shown:
            found = [one for one in await self._pending() if one.request_id in waiting]
            for request in found:
                self._shown.add(request.request_id)
                await self._present(request)
            if not found:  # the run has yet to take what its history has, or to tell of its end
                await asyncio.sleep(RETRY_SECONDS)

    async def _pending(self) -> tuple[Request, ...]:
        try:
            return await self._run.pending()
        except (NoWorker, RPCError):
            return ()

    async def _present(self, request: Request) -> None:
        try:
            request = await seeing.read_from_asking_run(self._run, request)
        except (NoWorker, RPCError):
            self._shown.discard(request.request_id)
            await asyncio.sleep(RETRY_SECONDS)
            return
        except HoldfastError as error:
            self._say(str(error))
            return
        request_details.show_request(self._out, self._run.id, request)
        if not self._asks or request.request_id not in self._open:
            return
        self._reading = asyncio.create_task(self._read(request), name=request.request_id)
        # Waits for the person without failing when the question is withdrawn.
        await asyncio.wait({self._reading})
        reading, self._reading, self.question = self._reading, None, ""
        if reading.cancelled():
            self._say("decided elsewhere")
        elif isinstance(reading.exception(), EOFError):
            self._out.line("")
            self._tell_command("left open", request)
        elif isinstance(error := reading.exception(), HoldfastError):
            self._say(str(error))
            self._tell_command("left open", request)
        else:
            await self._send(request, reading.result())

    async def _read(self, request: Request) -> Message:
        match request:
            case ApprovalRequest() | Review():
                words = {"y": "approve", "yes": "approve", "n": "reject", "no": "reject"}
                said = await self._choice("approve? [y/n, Enter: later] ", {**words, "": "later"})
                if said == "later":
                    raise HoldfastError("nothing was sent")
                if said == "approve":
                    return await self._approval(request)
                return await self._rejection(request)
            case Question():
                text = await self._answer(request)
                said = AnswerSignal(
                    request_id=request.request_id, digest=request.digest, text=text, by=self._user
                )
                return await self._sign("answer", said, request)
            case Escalation():
                words = {"r": "resume", "resume": "resume", "a": "abort", "abort": "abort"}
                action = await self._choice("[r]esume or [a]bort? ", words)
                guidance = await self._line("words for the model, if any: ") or None
                given = {"action": action, "guidance": guidance, "by": self._user}
                resolved = ResolutionSignal.model_validate(
                    {"request_id": request.request_id, "digest": request.digest, **given}
                )
                return await self._sign("resolution", resolved, request)

    async def _answer(self, request: Question) -> str:
        """Ask until there is an answer that fits."""
        while True:
            if not (text := await self._line("answer: ")):
                continue
            if (flaw := find_answer_flaw(request, text)) is None:
                return text
            self._say(flaw)

    async def _approval(self, request: Approvable) -> ApprovalSignal:
        """Approve a request, signed where it takes that; nobody approves what is done for them."""
        user, token = self._user, None
        if not request.needs_proof and normalize_name(self._requester) == normalize_name(user):
            user = await self._line(f"the run works for {user!r}; who else approves? ")
            if not user:
                raise HoldfastError("whom a run works for doesn't approve it")
        if request.needs_proof:
            key, passphrase = await self._unlock()
            user = key.name
            asking = self._run.find_asking(request).id
            token = deciding.sign_decision(key, passphrase, asking, request, "approve")
        return ApprovalSignal(
            request_id=request.request_id,
            digest=request.digest,
            decision="approve",
            approver=user,
            token=token,
        )

    async def _rejection(self, request: Approvable) -> ApprovalSignal:
        return ApprovalSignal(
            request_id=request.request_id,
            digest=request.digest,
            decision="reject",
            approver=self._user,
            reason=await self._line("reason, if any: ") or None,
        )

    async def _sign(
        self, signal: SignedSignal, message: deciding.Signed, request: Request
    ) -> deciding.Signed:
        """Sign what is said about a request, where the policy wants that."""
        if not await self._run.wants_signature(signal):
            return message
        own = await self._unlock()
        token = await deciding.sign_signal(self._run, signal, message, *own, request)
        return message.with_token(token)

    async def _unlock(self) -> tuple["signing.OwnKey", str | None]:
        key = deciding.own_key()
        question = f"passphrase of key {key.name!r}: "
        return key, await self._line(question, shown=False) if key.has_passphrase else None

    async def _choice(self, question: str, words: Mapping[str, str]) -> str:
        while (said := (await self._line(question)).lower()) not in words:
            self._say(f"{said!r} is no answer to that")
        return words[said]

    async def _line(self, question: str, *, shown: bool = True) -> str:
        self.question = question
        return await screen.read_line(self._out, question, shown=shown)

    async def _send(self, request: Request, message: Message) -> None:
        """Send a decision, and wait until the run shows it: the next question stands below."""
        try:
            match message:
                case ApprovalSignal():
                    disposition = await self._run.decide(message)
                    if not disposition.accepted:
                        self._say(f"refused: {disposition.reason}")
                        return
                case AnswerSignal():
                    await self._run.signal("answer", message)
                case ResolutionSignal():
                    await self._run.signal("resolution", message)
        except (HoldfastError, RPCError) as error:
            self._say(str(error))
            self._tell_command("decide it later", request)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(RPC_TIMEOUT.total_seconds()):
                while message.request_id in self._open:
                    self._changed.clear()
                    await self._changed.wait()

    def _tell_command(self, words: str, request: Request) -> None:
        """Say how a request is decided elsewhere, in a line that no terminal breaks for us."""
        command = request_details.command(self._run.id, request)
        hang = request_details.find_hang(self._run.id, request)
        self._out.line(f"{words}: {command}", "dim", hang=hang)

    def _say(self, text: str) -> None:
        self._out.line(text, "dim")
