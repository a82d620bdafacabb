"""The activity `notify`: somebody outside learns that a run waits for a person."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol
from urllib.parse import urlsplit

from temporalio import activity
from temporalio.exceptions import ApplicationError

from holdfast.activities.callers import require_app, require_run_caller
from holdfast.contracts.errors import AppError, HoldfastError
from holdfast.contracts.journal import Notice
from holdfast.policy.trust import is_loopback
from holdfast.tools.egress.allowlists import Origin, parse_origin


@dataclass(frozen=True)
class Webhook:
    """
    Where notices are posted: an https:// address, and the name of the secret that signs them.

    The address is not shown: often its path is all that keeps strangers from posting there.
    Raises AppError for an address that can't be used.
    """

    url: str = field(repr=False)
    secret: str

    def __post_init__(self) -> None:
        # First where it goes: what can't be read has no scheme either.
        host = self.origin.host
        if urlsplit(self.url).scheme != "https" and not is_loopback(host):
            raise AppError(
                f"the webhook's address at {self.origin} must begin with https://; http:// is for "
                "this machine alone"
            )

    @property
    def origin(self) -> Origin:
        """The part of the address that may be shown."""
        if (origin := parse_origin(self.url)) is None:
            raise AppError(
                "the webhook's address can't be used: give https://HOST/PATH, without a name or "
                "password in it"
            )
        return origin


class Undelivered(HoldfastError):
    """
    A notice didn't arrive, and why. A `final` one never will.

    `retry_after` is in seconds, if the other side says so.
    """

    def __init__(
        self, reason: str, *, final: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(reason)
        self.final = final
        self.retry_after = retry_after


class Messenger(Protocol):
    """Takes notices to where people read them."""

    async def deliver(self, notice: Notice) -> None:
        """Deliver a notice once; raises HoldfastError where it didn't arrive."""
        ...


class OpenRequests(Protocol):
    """Knows what the run waits for that asked for this activity."""

    async def waits_for(self, request_id: str) -> bool:
        """Whether it still waits for this; where nobody can tell it may."""
        ...


class NotificationActivities:
    """Tells somebody outside."""

    def __init__(self, messenger: Messenger, requests: OpenRequests, app: str = "") -> None:
        self._messenger = messenger
        self._requests = requests
        self._app = app

    @activity.defn
    async def notify(self, notice: Notice) -> None:
        """
        Tell somebody of a request. What may work later fails so that Temporal repeats it.

        Nobody is told late of what has been decided meanwhile.
        """
        require_run_caller(notice.run_id)
        require_app(notice.app, self._app)
        again = activity.info().attempt > 1
        if again and not await self._requests.waits_for(notice.request_id):
            return
        try:
            await self._messenger.deliver(notice)
        except Undelivered as error:
            wait = error.retry_after
            raise ApplicationError(
                str(error),
                type=Undelivered.__name__,
                non_retryable=error.final,
                next_retry_delay=None if wait is None else timedelta(seconds=wait),
            ) from None
