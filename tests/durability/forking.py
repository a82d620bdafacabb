"""An app whose only tool is synchronous: it runs in a process of its own."""

from holdfast import Agent, App, Risk, tool
from holdfast.testing import call, say


@tool(risk=Risk.READ_ONLY, timeout=60)
def look_up(number: int) -> str:
    """Look something up by its number."""
    return f"entry {number}"


app = App(
    agents=[
        Agent(name="clerk", instructions="Look it up.", models=["scripted:clerk"], tools=[look_up])
    ],
    scripts={"clerk": [call("look_up", number=7), say("found")]},
)
