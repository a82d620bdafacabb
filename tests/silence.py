"""A client behind which nobody answers for some runs."""

from temporalio.client import Interceptor, OutboundInterceptor, QueryWorkflowInput
from temporalio.service import RPCError, RPCStatusCode


class Silent(Interceptor, OutboundInterceptor):
    """Lets no query of runs whose ids begin so be answered in its time, and knows which."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self.asked = list[str]()

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        """Stand before what asks the server."""
        OutboundInterceptor.__init__(self, next)
        return self

    async def query_workflow(self, input: QueryWorkflowInput) -> object:
        """Ask the server, or nobody."""
        if input.id.startswith(self._prefix):
            self.asked.append(input.id)
            raise RPCError("timed out", RPCStatusCode.DEADLINE_EXCEEDED, b"")
        return await super().query_workflow(input)
