"""The sections of a project's files are found by their headings, whoever wrote them."""

import pytest

from holdfast.contracts.project import ProjectContext
from tests.policy.project_files import SECTIONS, read


def test_all_sections() -> None:
    """Each section becomes its own field, whatever the case of its heading."""
    # CX-03 CX-04 CX-05 CX-06 CX-07 CX-08
    context = read(SECTIONS)

    assert context.build_commands == ("make all",)
    assert context.test_commands == ("make test",)
    assert context.code_style == {"Indentation": "4 spaces", "2": "No globals"}
    assert context.architecture_notes == "Two parts.\n\n### Storage\nOne table."
    assert context.deployment_notes == "On Fridays never."
    assert context.security_notes == "Keep keys out."


@pytest.mark.parametrize(
    "text", ["", "# The shop\nWords.\n", "## Building\n## Testing\n## Security"]
)
def test_no_sections(text: str) -> None:
    """A file without sections, or with empty ones, leaves the defaults."""
    # CX-03 CX-04 CX-05 CX-06 CX-07 CX-08
    context = read(text)

    assert context.files[0].path == "AGENTS.md"
    assert context == ProjectContext(files=context.files, texts=context.texts)


def test_what_else_a_file_says() -> None:
    """Notes are shown by themselves; the rest of a file stays, with words beside commands."""
    text = read(SECTIONS).texts[0]

    assert text.startswith("# The shop\n\nWords before.\n\n## Build\n")
    assert "Run them all first." in text
    assert text.endswith("- No globals\n## Else\nWords after.")
    assert "Two parts." not in text


@pytest.mark.parametrize(
    ("heading", "fields"),
    [
        ("# Build", "build"),
        ("### Build commands", "build"),
        ("###### How to build it:", "build"),
        ("Building\n--------", "build"),
        ("## **Testing** instructions", "test"),
        ("## Tests ##", "test"),
        ("## Build and test commands", "build test"),
        ("## Unit-test", "test"),
        ("## Rebuild", ""),
        ("## Latest news", ""),
        ("## Attestation", ""),
        ("> ## Test", ""),
        ("- ## Test", ""),
        ("```\n## Test\n```", ""),
        ("\\## Test", ""),
    ],
)
def test_headings(heading: str, fields: str) -> None:
    """A heading of any level names its section by a whole word, and only as a heading."""
    # CX-03 CX-04
    context = read(f"{heading}\n\n```\nmake it\n```\n")

    assert context.build_commands == (("make it",) if "build" in fields else ())
    assert context.test_commands == (("make it",) if "test" in fields else ())


@pytest.mark.parametrize(
    "heading",
    ["Code style", "Coding conventions", "Style guide", "Code-style guidelines", "Style"],
)
def test_headings_of_style(heading: str) -> None:
    """What projects call their style is one thing."""
    # CX-05
    assert read(f"# {heading}\n- Quotes: double\n").code_style == {"Quotes": "double"}


@pytest.mark.parametrize(
    ("heading", "field"),
    [
        ("Architecture overview", "architecture_notes"),
        ("Architectural decisions", "architecture_notes"),
        ("Deploying", "deployment_notes"),
        ("Security considerations", "security_notes"),
    ],
)
def test_headings_of_notes(heading: str, field: str) -> None:
    """A section of notes is shown as it is written."""
    # CX-06 CX-07 CX-08
    notes = "* one\n* `two`\n\n```py\nthree\n```"

    assert getattr(read(f"## {heading}\n{notes}\n"), field) == notes


def test_the_title_is_no_section() -> None:
    """The name of a project isn't a section of it, or all of a README would be about tests."""
    text = "# Test tools\n```\nnpm install\n```\n## Usage\n```\nnpm start\n```\n"

    assert read(text).test_commands == ()
    assert read(text.replace("# Test tools\n", "# Test\n")).test_commands != ()


def test_a_section_in_a_section() -> None:
    """A section ends where another begins, and where a heading of its level does."""
    text = "## Tests\n`x`\n### Security of tests\n- `a`\n### More\n- `b`\n## Usage\n- `c`\n"

    context = read(text)

    assert context.test_commands == ("a",)
    assert context.security_notes == "- `a`"


@pytest.mark.parametrize(
    ("body", "commands"),
    [
        ("```bash\nmake a\nmake b\n```", ["make a", "make b"]),
        ("```\n# first\n\nmake a  # all of it\n  make b\n```", ["make a", "make b"]),
        ("```console\n$ make a\nbuilt a\n$ make b\n```", ["make a", "make b"]),
        ("```sh\n> make a\n% make b\n(venv) $ make c\n```", ["make a", "make b", "make c"]),
        ("```sh\nmake a \\\n  b\n```", ["make a    b"]),
        ("```sh\necho '# no' \"# no\" \\# no # yes\n```", ["echo '# no' \"# no\" \\# no"]),
        ("```python\nimport a\n```", []),
        ("```json\n{}\n```", []),
        ("    make a\n", ["make a"]),
        (
            "- `make a`\n- Run `make b` first\n- All: `make c`, not `make d`",
            ["make a", "make b", "make c"],
        ),
        ("1. Do this:\n   ```\n   make a\n   ```", ["make a"]),
        ("- `tests/` has them\n- see `app.py`\n- words", []),
        ("Words with `code` in them.", []),
        ("- `make a`\n- `make a`", ["make a"]),
        ("```\n" + "x" * 1_000 + "\n```", ["x" * 1_000]),
        ("```\n" + "x" * 1_001 + "\n```", []),
        (
            "```\n" + "\n".join(f"make {n}" for n in range(51)) + "\n```",
            [f"make {n}" for n in range(50)],
        ),
    ],
)
def test_commands(body: str, commands: list[str]) -> None:
    """Commands stand in blocks, or alone in items of lists; prompts and comments aren't theirs."""
    # CX-03 CX-04
    assert read(f"## Test\n{body}\n").test_commands == tuple(commands)


@pytest.mark.parametrize(
    ("body", "style"),
    [
        ("- A: b", {"A": "b"}),
        ("- **A**: b\n- `c`: d: e", {"A": "b", "c": "d: e"}),
        ("- **A:** b", {"A": "b"}),
        ("- do this\n- A: b\n- do that", {"1": "do this", "A": "b", "3": "do that"}),
        ("- A: b\n- A: c", {"A": "b", "2": "A: c"}),
        ("Always type.\n\n1. A: b\n   and c", {"1": "Always type.", "A": "b and c"}),
        ("- see https://a.example/x", {"1": "see https://a.example/x"}),
        ("- " + "k" * 61 + ": v", {"1": "k" * 61 + ": v"}),
        ("- " + "k" * 60 + ": v", {"k" * 60: "v"}),
        ("- " + "x" * 500, {"1": "x" * 500}),
        ("- " + "x" * 501, {}),
    ],
)
def test_code_style(body: str, style: dict[str, str]) -> None:
    """Items with a key have it, others their number."""
    # CX-05
    assert read(f"## Code style\n{body}\n").code_style == style
