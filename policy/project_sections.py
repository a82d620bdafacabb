"""The sections of a Markdown file that say how to work on a project, by their headings."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from holdfast.contracts.patterns import SPACE, WORD, Pattern
from holdfast.contracts.texts import one_line

if TYPE_CHECKING:
    from markdown_it.token import Token

Topic: TypeAlias = Literal["build", "test", "style", "architecture", "deployment", "security"]

MAX_COMMANDS = 50
MAX_COMMAND_CHARS = 1_000
MAX_RULES = 100
MAX_RULE_CHARS = 500
"""Characters; rules of style and commands beyond these stay in the text alone."""

_TOPICS: dict[Topic, Pattern] = {
    "build": Pattern(" (build|builds|building|compile|compiling) "),
    "test": Pattern(" (test|tests|testing) "),
    "style": Pattern(
        " (code|coding) (styles?|styling|conventions?|standards?|guidelines?) "
        "| style ?guides? |^ style $"
    ),
    "architecture": Pattern(" architectur(e|al) "),
    "deployment": Pattern(" (deploy|deploying|deployments?) "),
    "security": Pattern(" security "),
}
_PLAIN = frozenset({"build", "test", "code style", "architecture", "deployment", "security"})

_SHELLS = frozenset(
    {"", "sh", "bash", "shell", "zsh", "console", "shell-session", "terminal", "text"}
)
_PROMPT = Pattern(rf"(?:\([{WORD}.\-]+\) ?)?[$%>] +([^{SPACE}].*)")
_INTRODUCED = Pattern(rf"(?:^|:|(?:^|[^{WORD}])(?:run|with|use))[{SPACE}]*$", any_case=True)
_RULE = Pattern(rf"(?s)([^:]{{1,60}}):[*_]*[{SPACE}]+([^{SPACE}].*)")
_COMMENT = Pattern(rf"(?:^|[{SPACE}])#")

QUOTED = Pattern(r"""(?s)'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
"""What a shell takes literally, or nearly so."""

_RULES_READ = (
    *("blockquote", "code", "fence", "heading", "hr", "html_block", "lheading", "list"),
    *("backticks", "escape"),
)
"""Of CommonMark only what is needed here: the rest takes long on text that means harm."""


class Section(NamedTuple):
    """A section; `first` is the line of its heading, `end` the line after its last."""

    topics: frozenset[Topic]
    first: int
    end: int
    body: str
    commands: tuple[str, ...]
    rules: tuple[str, ...]


def parse_sections(text: str) -> tuple[Section, ...]:
    """
    Return the sections whose headings name a topic, in their order.

    A section ends where a heading of its level or above begins, or the next such section.
    """
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("zero").enable(list(_RULES_READ)).parse(text)
    headings = tuple(_parse_headings(tokens))
    lines = text.split("\n")
    found: list[Section] = []
    for place, heading in enumerate(headings):
        topics = _find_topics(heading.words)
        if not topics or _is_title(place, headings):
            continue
        end = _find_end(heading, islice(headings, place + 1, None))
        last = end.line if end else len(lines)
        inner = tokens[heading.token + 3 : end.token if end else len(tokens)]
        found.append(
            Section(
                topics=topics,
                first=heading.line,
                end=last,
                body="\n".join(lines[heading.after : last]).strip(),
                commands=tuple(_find_commands(inner))[:MAX_COMMANDS],
                rules=tuple(_find_rules(inner))[:MAX_RULES],
            )
        )
    return tuple(found)


def parse_style(rules: Sequence[str]) -> dict[str, str]:
    """Return rules of style by their keys; those without one have a number."""
    found: dict[str, str] = {}
    for number, rule in enumerate(rules, 1):
        said = _RULE.fullmatch(rule)
        key = said.groups[1].strip("*_` ") if said else ""
        if said and key and key not in found:
            found[key] = said.groups[2]
        else:
            found[str(number)] = rule
    return found


class _Heading(NamedTuple):
    level: int
    words: str
    token: int
    line: int
    after: int


def _parse_headings(tokens: Sequence["Token"]) -> Iterator[_Heading]:
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            words = _normalize_heading(tokens[place + 1].content.lower())
            yield _Heading(int(token.tag[1:]), words, place, *token.map)


def _normalize_heading(heading: str) -> str:
    return " ".join("".join(c if c.isalnum() or c == "_" else " " for c in heading).split())


def _is_title(place: int, headings: Sequence[_Heading]) -> bool:
    """Whether a heading names the whole file, as in "Test tools"; a plain topic never does."""
    return (
        place == 0
        and len(headings) > 1
        and [heading.level for heading in headings].count(1) == 1
        and headings[0].level == 1
        and headings[0].words not in _PLAIN
    )


def _find_topics(words: str) -> frozenset[Topic]:
    return frozenset(topic for topic, pattern in _TOPICS.items() if pattern.found_in(f" {words} "))


def _find_end(heading: _Heading, later: Iterable[_Heading]) -> _Heading | None:
    ends = (other for other in later if other.level <= heading.level or _find_topics(other.words))
    return next(ends, None)


def _find_commands(tokens: Sequence["Token"]) -> Iterator[str]:
    """Yield the commands of code blocks, and those that items of lists begin with or introduce."""
    items = 0
    for token in tokens:
        items += (token.type == "list_item_open") - (token.type == "list_item_close")
        info = token.info.split()[:1]
        if token.type == "code_block" or (
            token.type == "fence" and (not info or info[0].lower() in _SHELLS)
        ):
            yield from _parse_command_lines(token.content)
        elif token.type == "inline" and items:
            yield from _find_inline_commands(token.children or [])


def _parse_command_lines(block: str) -> Iterator[str]:
    lines = [line.strip() for line in block.replace("\\\n", " ").split("\n")]
    # Beside commands with a prompt stands what they print.
    if any(line.startswith("$ ") for line in lines):
        lines = [line for line in lines if line.startswith("$ ")]
    for line in lines:
        typed = _PROMPT.fullmatch(line)
        command = _strip_comment(typed.groups[1] if typed else line)
        if command and len(command) <= MAX_COMMAND_CHARS:
            yield command


def _find_inline_commands(children: Sequence["Token"]) -> Iterator[str]:
    before = ""
    for child in children:
        if child.type != "code_inline":
            before += child.content
            continue
        command = child.content.strip()
        # A name with a slash at its end is a folder.
        if _INTRODUCED.found_in(before) and command and not command.endswith("/"):
            yield from _parse_command_lines(command)
        return


def _strip_comment(line: str) -> str:
    if len(line) > MAX_COMMAND_CHARS:
        return line
    bare = QUOTED.sub(lambda quoted: "x" * (quoted.end - quoted.start), line)
    comment = next(_COMMENT.spans_in(bare), None)
    return line[: comment.start].strip() if comment else line


def _find_rules(tokens: Sequence["Token"]) -> Iterator[str]:
    for place, token in enumerate(tokens):
        if token.type == "inline" and tokens[place - 1].type == "paragraph_open":
            rule = one_line(token.content)
            if rule and len(rule) <= MAX_RULE_CHARS:
                yield rule
