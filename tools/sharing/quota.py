"""Places of which no tenant takes those of others."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager


class TenantQuota:
    """
    A few of the hundred places in which a worker decides, for what waits there for its turn.

    Of the tenants that have any each has the same share.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._taken = Counter[str]()

    @contextmanager
    def take(self, tenant: str) -> Generator[bool]:
        """Have a place within the block; false where the tenant has its share already."""
        taken = self._taken
        if taken[tenant] >= max(1, self._places // len({tenant, *taken})):
            yield False
            return
        taken[tenant] += 1
        try:
            yield True
        finally:
            taken[tenant] -= 1
            if not taken[tenant]:
                del taken[tenant]
