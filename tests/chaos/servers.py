"""How much is tried on real servers."""

from hypothesis import HealthCheck, Phase, settings

a_dozen = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    # Each smaller example is played on a real server again: the first that fails says enough.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

half_a_dozen = settings(a_dozen, max_examples=6)
