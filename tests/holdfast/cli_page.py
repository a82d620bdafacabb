"""The page docs/cli.md, made of what `--help` says. Run as a module, it writes the page anew."""

from collections.abc import Iterator
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_command

from holdfast.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"

WIDTH = 96

HEAD = """# The command line

What `holdfast COMMAND --help` says, of all commands. Each reports an error as one line that
says what to do, and ends with another exit code than 0. The Temporal server is the one that
`TEMPORAL_ADDRESS` and its like name; `holdfast dev` brings one. This page is written by
`python -m tests.holdfast.cli_page`, and a test sees that nobody forgot.
"""


def written() -> str:
    """Write the page."""
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    return HEAD + "".join(
        f"\n## {name}\n\n```\n{said}\n```\n" for name, said in _said(root, "holdfast")
    )


def _said(group: TyperGroup, above: str) -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        path = f"{above} {name}"
        if isinstance(command, TyperGroup):
            yield from _said(command, path)
        else:
            context = command.context_class(command, info_name=path, terminal_width=WIDTH)
            yield path, command.get_help(context)


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
