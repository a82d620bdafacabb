"""Everything that a run tells those who watch it, in one text to search."""

from holdfast.cli import standing
from holdfast.client import Run
from holdfast.client.fold import EventFold
from holdfast.trace.reader import read_trace
from holdfast.trace.transcript import Progress
from tests.histories import activities
from tests.running import Runs

QUERIES = ("status", "transcript", "pending", "usage")
"""Those that anybody may ask; what `context` and `prefix` tell has tests of its own."""


async def seen(runs: Runs, run_id: str) -> str:
    """Everything that the server, queries and our own screens tell of a run."""
    handle = runs.client.get_workflow_handle(run_id)
    execution = await handle.describe()
    raw = execution.raw_description
    listed = (await execution.static_summary(), await execution.static_details(), raw)
    answers = [await handle.query(name) for name in QUERIES]
    pages = [await handle.query(name, {}) for name in ("transcript", "pending")]
    history = await Run(runs.client, run_id).history()
    summaries = [one.summary for one in activities(await handle.fetch_history())]
    trace = read_trace(history)
    lines = list(Progress().fresh(trace))
    fold = EventFold()
    events = [told for one in history for event in one.events for told in fold.read(event)]
    shown = await standing.view(Run(runs.client, run_id))
    views = (shown, standing.read_view(trace))
    return "\n".join(map(str, (*listed, *answers, *pages, *summaries, *lines, *events, *views)))
