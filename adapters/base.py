"""The seam between the loop and the providers."""

from typing import Protocol

from contracts.model import ModelReply, ModelRequest


class ModelAdapter(Protocol):
    """
    One provider's dialect.

    `respond` makes exactly one request and never retries: Temporal owns retries. It raises
    `ModelUnavailable` where waiting or another model may help and `ModelRejected` where asking
    the same again can't. A reply holds complete calls only.
    """

    @property
    def provider(self) -> str:
        """The word before the colon in the names of this provider's models."""
        ...

    async def respond(self, request: ModelRequest) -> ModelReply:
        """Ask the model once."""
        ...
