"""The ids of what works for a run: they are written here, and read here. Pure."""

from holdfast.contracts.patterns import is_run_id
from holdfast.contracts.state.run import RunState


def build_run_id(state: RunState, part: str) -> str:
    """Name the run of a part by its parent; one with a long name by what the server calls that."""
    return name_run(state.run_id, state.first_execution_run_id, part)


def name_run(run_id: str, first_execution_run_id: str, part: str) -> str:
    """Name the run of a part by this run, or, where that has a long name, by its execution."""
    name = f"{run_id}.{part}"
    return name if is_run_id(name) else f"{first_execution_run_id}.{part}"


def find_part(run_id: str) -> str:
    """Return the part that a run does for another, from its id."""
    return run_id.rpartition(".")[2]


def name_part(number: int, work: str) -> str:
    """Name what others do for a run: `2-simpler` in its second attempt, `1-billing`."""
    return f"{number}-{work}"


def find_work(run_id: str) -> str:
    """Return what a part does, from the id of its run: `simpler`, `part-1`, `billing`."""
    return find_part(run_id).partition("-")[2]


def name_judgement(guardrail: str, number: int) -> str:
    """Name the part in which an agent judges for a guardrail."""
    return f"{guardrail}-{number}"


def find_judging_guardrail(run_id: str) -> str:
    """Return the guardrail for which an agent would judge in this run."""
    return find_part(run_id).rpartition("-")[0]


def name_command(guardrail: str, number: int) -> str:
    """Name the call of a guardrail's command, as no call of a model is named."""
    return f"{guardrail}~{number}"


def find_commanding_guardrail(call_id: str) -> str:
    """Return the guardrail for which a command would run as this call."""
    return call_id.rpartition("~")[0]


def qualify_request(part: str, request_id: str) -> str:
    """Name a request of a part as the run shows it that the part works for."""
    return f"{part}/{request_id}"
