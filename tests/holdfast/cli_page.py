"""The page docs/cli.md, made of what `--help` says. Run as a module, it writes the page anew."""

from collections.abc import Iterator
from pathlib import Path

from typer.core import TyperGroup

from holdfast.cli.main import COMMANDS, build_app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"

WIDTH = 96

HEAD = """# The command line

What `holdfast COMMAND --help` says, of all commands. Each reports an error as one line that
says what to do, and ends with another exit code than 0. The Temporal server is the one that
`TEMPORAL_ADDRESS` and its like name; `holdfast dev` brings one. `holdfast --version` says which
release it is. This page is written by `python -m tests.holdfast.cli_page`, and a test sees that
nobody forgot.
"""


def written() -> str:
    """Write the page."""
    said = (one for name in COMMANDS for one in _said(build_app(name), name, "holdfast"))
    return HEAD + "".join(f"\n## {name}\n\n```\n{text}\n```\n" for name, text in said)


def _said(group: TyperGroup, name: str, above: str) -> Iterator[tuple[str, str]]:
    command, path = group.commands[name], f"{above} {name}"
    if isinstance(command, TyperGroup):
        for inner in command.commands:
            yield from _said(command, inner, path)
    else:
        context = command.context_class(command, info_name=path, terminal_width=WIDTH)
        yield path, command.get_help(context)


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
