"""What the activities that decide and the tools ask before they let anything run."""

from typing import Protocol

from holdfast.contracts.switches import Switch


class KillSwitch(Protocol):
    """Knows what is switched off now."""

    async def current(self) -> tuple[Switch, ...]:
        """Return everything that is switched off; waits rather than answer with what was."""
        ...
