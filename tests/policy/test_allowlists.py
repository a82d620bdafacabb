"""What a list of commands or hosts lists, and what is risky on any list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.policy.allowlists import INTERPRETERS, RISKY, RISKY_WORDS, find_risky_command
from holdfast.tools.egress.allowlists import (
    Origin,
    is_command_entry,
    is_host_entry,
    matches_command,
    matches_host,
    parse_origin,
)


@pytest.mark.parametrize(
    ("command", "entries", "expected"),
    [
        (["ls"], ["ls"], "listed"),
        (["ls", "-l"], ["ls"], "listed"),
        (["git", "status"], ["git status"], "listed"),
        (["git", "status", "-s"], [" git   status "], "listed"),
        (["anything"], ["*"], "listed"),
        (["git"], ["git status"], "unlisted"),
        (["git status"], ["git status"], "unlisted"),
        (["lsof"], ["ls"], "unlisted"),
        (["/bin/ls"], ["ls"], "unlisted"),
        (["LS"], ["ls"], "unlisted"),
        (["ls"], [], "unlisted"),
        (["ls"], ["", " "], "unlisted"),
        ([], ["*", "ls", ""], "unlisted"),
    ],
)
def test_a_command_is_listed_by_its_first_words(
    command: list[str], entries: list[str], expected: str
) -> None:
    """The words of an entry are the first words of the command, exactly."""
    # RK-16
    assert matches_command(command, entries) == (expected == "listed")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://example.com", ("example.com", 80)),
        ("HTTPS://Example.COM./path?q=a#f", ("example.com", 443)),
        ("http://example.com:8080/", ("example.com", 8080)),
        ("http://example.com:/", ("example.com", 80)),
        ("https://a.example.com/b@c", ("a.example.com", 443)),
        ("http://127.0.0.1:9/", ("127.0.0.1", 9)),
        ("http://[::1]/", ("::1", 80)),
        ("http://[0:0::1]:81/", ("::1", 81)),
        ("http://xn--bcher-kva.example/ü", ("xn--bcher-kva.example", 80)),
        ("http://user@example.com/", None),
        ("http://user:pw@example.com/", None),
        ("http://evil.com\\@example.com/", None),
        ("http://evil.com\\.example.com/", None),
        ("http://exa\tmple.com", None),
        ("http://exam\nple.com", None),
        (" http://example.com", None),
        ("http://example.com ", None),
        ("http://exämple.com", None),
        ("http://\uff45xample.com", None),
        ("http://\u212a.example", None),
        ("http\u017f://a.example", None),
        ("http://example%2ecom/", None),
        ("http://a..b/", None),
        ("http://.a/", None),
        ("http://a;b/", None),
        ("http://[::1%25eth0]/", None),
        ("http://[::1/", None),
        ("http://a:0/", None),
        ("http://a:65536/", None),
        ("http://a:x/", None),
        ("http://", None),
        ("http:example.com", None),
        ("//example.com", None),
        ("ftp://example.com", None),
        ("file:///etc/passwd", None),
        ("javascript:alert(1)", None),
        ("", None),
    ],
)
def test_an_address_is_read_in_one_way(address: str, expected: tuple[str, int] | None) -> None:
    """What two readers could take for two hosts is none."""
    assert parse_origin(address) == expected


@given(st.text(max_size=30))
def test_reading_an_address_never_raises(text: str) -> None:
    """A model may write anything for an address."""
    for address in (text, f"http://{text}", f"http://example.com{text}"):
        origin = parse_origin(address)
        assert origin is None or (origin.host and 0 < origin.port < 65536)


@pytest.mark.parametrize(
    ("origin", "entry", "expected"),
    [
        (("a.example", 443), "a.example", "listed"),
        (("a.example", 80), "A.Example", "listed"),
        (("a.example", 8080), "a.example", "unlisted"),
        (("a.example", 8080), "a.example:8080", "listed"),
        (("a.example", 443), "a.example:8080", "unlisted"),
        (("b.a.example", 443), "*.a.example", "listed"),
        (("c.b.a.example", 443), "*.a.example", "listed"),
        (("a.example", 443), "*.a.example", "unlisted"),
        (("evila.example", 443), "*.a.example", "unlisted"),
        (("b.a.example", 443), "a.example", "unlisted"),
        (("a.example.evil", 443), "a.example", "unlisted"),
        (("b.a.example", 8443), "*.a.example:8443", "listed"),
        (("anything", 443), "*", "listed"),
        (("anything", 8080), "*", "unlisted"),
        (("anything", 8080), "*:8080", "listed"),
        (("127.0.0.1", 9), "127.0.0.1:9", "listed"),
        (("::1", 80), "[::1]", "listed"),
        (("::1", 9), "[0::1]:9", "listed"),
        (("a.example", 443), "https://a.example", "unlisted"),
        (("a.example", 443), "", "unlisted"),
    ],
)
def test_a_host_is_listed_by_name_and_port(
    origin: tuple[str, int], entry: str, expected: str
) -> None:
    """A name lists itself, a star what lies below; without a port only the usual two."""
    # RK-16
    assert matches_host(Origin(*origin), [entry]) == (expected == "listed")
    assert not matches_host(Origin(*origin), [])


@pytest.mark.parametrize(
    "entry",
    [
        "https://a",
        "a/b",
        "a b",
        "a*",
        "*a",
        "*.",
        "*.*",
        "a.*",
        "a:0",
        "a:70000",
        "::1",
        "[zz]",
        "[::ffff:192.0.2.1]",
        "[64:ff9b::c000:201]",
        "2130706433",
        "127.1",
        "ä.example",
        "a..b",
        ".a",
        "a.",
        "user@a",
        "",
        "a:",
    ],
)
def test_what_lists_no_host_is_refused(entry: str) -> None:
    """An entry that could never fit, or fits more than it seems, is a flaw of the policy."""
    assert not is_host_entry(entry)


@pytest.mark.parametrize(
    "entry", ["", " ", "git *", "* git", "* *", "/usr/bin/*", "./*", "curl*", "/usr/bin/", "/"]
)
def test_what_lists_no_command_is_refused(entry: str) -> None:
    """A star stands alone, and an entry has words, of which the first names a program."""
    assert not is_command_entry(entry)


@pytest.mark.parametrize("entry", ["*", "/usr/bin/git", "ls /", "find . -name *.py"])
def test_what_lists_a_command(entry: str) -> None:
    """Behind the program a word may be anything but a star alone."""
    assert is_command_entry(entry)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "/bin/rm x",
        "dd if=/dev/zero",
        "mkfs.ext4 /dev/sda",
        "mkfs -t ext4",
        "chmod 777 x",
        "chown root x",
        "kill -9 1",
        "shutdown now",
        "sudo ls",
        "env ls",
        "xargs rm",
        "timeout 5 rm x",
        "busybox rm x",
        "ssh host",
        "nc -l 1",
        "git push",
        "git push --force",
        "git -c alias.x=!rm x",
        "git --exec-path=/x status",
        "git reset --hard",
        "git clean -fdx",
        "find . -delete",
        "find . -exec rm {} ;",
        "sed -i s/a/b/ f",
        "sed --in-place=.bak s/a/b/ f",
        "bash -c ls",
        "sh -ec ls",
        "/bin/bash -lc ls",
        "bash -s",
        "fish --command=ls",
        "python -c 1",
        "python3 -Ic 1",
        "perl -e 1",
        "perl -ne 1",
        "node --eval 1",
        "php -r 1",
        "tar --to-command=x",
        "npm publish",
        "pip install x",
        "awk {}",
        "python3.11 -c 1",
        "/usr/bin/perl5.36 -e 1",
        "pip3 install x",
        "pip3.11 uninstall x",
        "ksh93 -c ls",
        "sed -Ei s/a/b/ f",
        "sed -i.bak s/a/b/ f",
        "find . -fprintf f x",
    ],
)
def test_risky_commands_are_known(command: str) -> None:
    """What destroys, changes rules, ends others, or runs whatever it is given needs a person."""
    # RK-18
    assert find_risky_command(tuple(command.split()))


@pytest.mark.parametrize(
    "command",
    [
        "ls -l",
        "cat rm",
        "git status",
        "git log --oneline",
        "git diff --stat",
        "find . -name x",
        "sed s/a/b/ f",
        "bash script.sh",
        "python script.py",
        "python -m pytest",
        "make",
        "npm test",
        "tar -czf a.tgz b",
        "echo chmod",
        "grep -c x f",
        "rmx",
        "mkfsx",
        "pip list",
        "pip3 list",
        "python3.11 script.py",
        "sed -En s/i/b/ f",
        "sed -e s/i/j/ f",
        "sha256sum f",
    ],
)
def test_ordinary_commands_are_not_risky(command: str) -> None:
    """What reads, builds and tests runs unattended in its sandbox."""
    assert find_risky_command(tuple(command.split())) is None


def test_no_program_is_risky_twice() -> None:
    """Each program stands in one of the tables, so that each says why."""
    named = [name for names in RISKY.values() for name in names.split()]
    named += [*RISKY_WORDS, *(name for names in INTERPRETERS.values() for name in names.split())]

    assert len(named) == len(set(named))
