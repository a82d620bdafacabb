"""A run that nobody can read stands in nobody's way."""

from uuid import uuid4

import pytest
from temporalio.client import Client

from holdfast.client import Holdfast, NoWorker
from tests.holdfast.test_client import WithoutAttributes, asked, working
from tests.holdfast.unreadable import start_unreadable

pytestmark = pytest.mark.usefixtures("command_line")


async def test_a_run_that_nobody_can_read_hides_no_other(client: Client) -> None:
    """Where every open run is asked, it is named at the end; others are told before."""
    await start_unreadable(client, name := f"unreadable-{uuid4().hex[:8]}")
    waiting: list[str] = []
    async with working(client) as (holdfast, queue):
        run = await holdfast.start("sender", "go", queue=queue)
        await asked(run)
        asking = Holdfast(Client(client.service_client, interceptors=[WithoutAttributes()]))
        silent = ""
        while run.id not in waiting or name not in silent:  # visibility comes behind
            try:
                async for one in asking.pending(tenant="default"):
                    waiting.append(one.run.id)  # noqa: PERF401 -- those before the error count
            except NoWorker as told:
                silent = str(told)
        await run.cancel()
    await client.get_workflow_handle(name).terminate()

    assert silent.startswith("no worker answers for ")
