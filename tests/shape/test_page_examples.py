"""What the pages show of Python can be used as it stands."""

import re
import sys
from types import ModuleType

import pytest

from tests.shape.tree import ROOT

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WHOLE = re.compile(r"^(?:from|import) holdfast", re.MULTILINE)


SHOWN = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1)
    if WHOLE.search(block)
]
"""Every block that imports what it uses; the rest are pieces of one."""


@pytest.mark.parametrize("block", SHOWN)
def test_what_a_page_shows_is_accepted(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its names exist, and its agents, tools and apps are taken."""
    module = ModuleType("shown_on_a_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    exec(compile(block, "page", "exec"), module.__dict__)  # noqa: S102 -- our own pages
