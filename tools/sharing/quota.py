"""Places of which no tenant takes those of others."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar

MAX_TOGETHER = 60
"""Of the eighty that runs have which begin: the others are for what is quick, of any tenant."""


class TenantQuota:
    """
    A few of the places in which a worker decides, for what waits there for its turn.

    Of the tenants that have any each has the same share, and all quotas together have no more than
    there is room for.
    """

    _together: ClassVar[int] = 0

    def __init__(self, places: int) -> None:
        self._places = places
        self._taken = Counter[str]()

    @contextmanager
    def take(self, tenant: str) -> Generator[bool]:
        """Have a place within the block; false beyond its share, or where all are taken."""
        taken = self._taken
        share = max(1, self._places // len({tenant, *taken}))
        if taken[tenant] >= share or TenantQuota._together >= MAX_TOGETHER:
            yield False
            return
        taken[tenant] += 1
        TenantQuota._together += 1
        try:
            yield True
        finally:
            TenantQuota._together -= 1
            taken[tenant] -= 1
            if not taken[tenant]:
                del taken[tenant]
