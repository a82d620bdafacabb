"""All scenarios by name: one for each thing that the platform can do."""

from tests.histories.attended import ATTENDED
from tests.histories.unattended import UNATTENDED

SCENARIOS = {scenario.name: scenario for scenario in (*ATTENDED, *UNATTENDED)}
