"""Places of which no tenant takes those of others, nor all tenants together those of all."""

from contextlib import ExitStack

from holdfast.serving.slots import MAX_OF_A_KIND
from holdfast.tools.sharing.quota import MAX_TOGETHER, TenantQuota


def count_taken(stack: ExitStack, quota: TenantQuota, tenants: list[str]) -> int:
    """Say how many of these have a place then."""
    return sum(stack.enter_context(quota.take(tenant)) for tenant in tenants)


def test_each_tenant_has_the_same_share() -> None:
    """Of one alone that is all; who comes later has a share of its own."""
    quota = TenantQuota(10)
    with ExitStack() as stack:
        assert count_taken(stack, quota, ["acme"] * 12) == 10
        assert count_taken(stack, quota, ["globex"] * 12) == 5
    with quota.take("acme") as free:
        assert free


def test_however_many_tenants_are_named_some_places_are_left() -> None:
    """Whoever starts runs says for which tenant; what is quick has its places all the same."""
    looks, rulings = TenantQuota(20), TenantQuota(20)
    names = [f"tenant-{number}" for number in range(100)]
    with ExitStack() as stack:
        taken = count_taken(stack, looks, names) + count_taken(stack, rulings, names)
        with rulings.take("another") as free:
            assert not free
    with rulings.take("another") as free:
        assert free

    assert taken == MAX_TOGETHER < MAX_OF_A_KIND
