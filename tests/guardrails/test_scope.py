"""What leads out of the project is seen by its words alone."""

import pytest

from holdfast.guardrails.detectors.scope import find_paths, leads_out
from tests.guardrails.disguises import wide

ROOT = "/srv/project"


def outside(text: str) -> list[str]:
    return [path for path in find_paths(text) if leads_out(path, ROOT)]


@pytest.mark.parametrize(
    "text",
    [
        "read ../../etc/passwd",
        "cat /etc/passwd.",
        "see `~/.ssh/id_rsa`",
        "~root/.ssh",
        "$HOME/x and ${HOME}/y",
        "%USERPROFILE%\\x",
        "open file:///etc/shadow",
        "FILE:/etc/shadow",
        "file://server/share/x",
        "C:\\Windows\\system32",
        "c:/windows",
        "\\\\server\\share",
        "..\\..\\x",
        "src/../../x",
        "a/../..",
        "/srv/project/../x",
        "/srv/projects/a",
        "list files in /",
        "rm -rf /*",
        "go to ..",
        "%2e%2e%2fetc/passwd",
        "%252e%252e/x",
        wide("../etc"),
        "..\u2215..\u2215etc",
        "..\u200b/x",
        "--config=/etc/x",
        "-I/usr/include",
        "curl -d @/etc/passwd",
        "host:/etc/passwd",
        "[x](/etc/passwd)",
        '<img src="/etc/x">',
        'read "../my notes/x"',
    ],
)
def test_what_leads_out_is_seen(text: str) -> None:
    """Absolute, climbing, home, file URLs, drives and shares; quoted, encoded or disguised."""
    assert outside(text)  # GR-02, GR-17


@pytest.mark.parametrize(
    "text",
    [
        "fix src/a.py and ./b/c.py",
        "src/../src/a.py",
        "/srv/project/src/a.py",
        "file:///srv/project/a.py",
        "src\\a.py",
        "this and/or that, 24/7, on 3/4/2026",
        "https://example.com/a/../b",
        "git@github.com:org/repo",
        "~5 minutes",
        "yes / no",
        "wait... what",
        "the <div>x</div> and <br/>",
        "// a comment",
        "/* another */ x",
        "from 1..5",
        "100% of %s%s",
        "",
    ],
)
def test_what_stays_inside_passes(text: str) -> None:
    """Paths within the project pass, and so does what only looks like a path."""
    assert outside(text) == []  # GR-02
