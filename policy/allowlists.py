"""What of commands and requests is forbidden by a list, and what is risky on any list."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from holdfast.contracts.patterns import Pattern
from holdfast.contracts.tools import Risk
from holdfast.policy.case import CallContext
from holdfast.tools.egress.allowlists import HARMLESS_METHODS, matches_command

RISKY: Mapping[str, str] = {
    "destroys": "rm rmdir unlink shred dd truncate wipefs mkfs mke2fs mkswap fdisk parted",
    "changes rules": "chmod chown chgrp chattr setfacl setcap mount umount sysctl modprobe insmod",
    "ends others": "kill killall pkill shutdown reboot halt poweroff init systemctl service",
    "becomes another": "sudo su doas pkexec runuser chroot unshare nsenter useradd usermod passwd",
    "starts others": "env xargs nohup setsid timeout nice ionice stdbuf time watch parallel flock "
    "strace busybox toybox script eval exec awk gawk mawk crontab at",
    "reaches out": "ssh scp sftp rsync nc ncat netcat socat telnet ftp docker podman kubectl helm",
}
"""Programs that are risky with whatever arguments, by what they do."""

RISKY_PROGRAMS = frozenset(name for names in RISKY.values() for name in names.split())

RISKY_WORDS: Mapping[str, frozenset[str]] = {
    "git": frozenset({"push", "reset", "clean", "filter-branch", "config", "submodule", "rebase"}),
    "find": frozenset(
        {
            *("-delete", "-exec", "-execdir", "-ok", "-okdir"),
            *("-fprint", "-fprint0", "-fprintf", "-fls"),
        }
    ),
    "npm": frozenset({"publish", "install", "exec", "run"}),
    "pip": frozenset({"install", "uninstall"}),
    "sed": frozenset({"-i", "--in-place"}),
    "tar": frozenset({"--to-command", "--checkpoint-action", "--use-compress-program", "-I"}),
}
"""By program: words that make a command risky, wherever they stand in it."""

INTERPRETERS: Mapping[str, str] = {
    "cs": "sh bash dash zsh ksh fish ash csh tcsh",
    "c": "python pypy",
    "epE": "perl ruby node nodejs lua",
    "rBRE": "php",
}
"""By the letters of options that run a text as code: the programs that have them."""

_MAX_METHOD_CHARS = 20

_VERSION = Pattern(r"[0-9.]+$")
_EDITS_IN_PLACE = Pattern(r"(?s)-[nrEsuz]*i.*")
"""An option of sed, with others before it and a suffix behind it, as in `-Ei.bak`."""


def command_is_forbidden(command: tuple[str, ...], entries: tuple[str, ...]) -> bool:
    """
    Whether a command is on a list that forbids: of its program the name counts, and no path.

    One has many paths, and is found by its name where the system looks for programs.
    """
    return matches_command(
        _name_program(command), (" ".join(_name_program(entry.split())) for entry in entries)
    )


def find_risky_operation(case: CallContext) -> str | None:
    """Name what makes a call risky that a rule lists, as in `git push`; null if nothing does."""
    if case.command is not None:
        return find_risky_command(case.command)
    if not case.names_host or "method" not in case.values:
        return None
    method = str(case.values["method"]).upper()
    return None if method in HARMLESS_METHODS else method[:_MAX_METHOD_CHARS]


def is_safe_request(case: CallContext) -> bool:
    """
    Whether a call is a request that changes nothing: it may be made again.

    Of a tool that is declared to change something no word of the model says that it doesn't.
    """
    if case.contract.risk is not Risk.NETWORK_OPEN_WORLD:
        return False
    method = case.values.get("method") if case.names_host else None
    return isinstance(method, str) and method.upper() in HARMLESS_METHODS


def may_repeat(case: CallContext) -> bool:
    """Whether a call may be made again: by its class, or by what it asks, it changes nothing."""
    return case.contract.changes_nothing or is_safe_request(case)


def find_risky_command(command: tuple[str, ...]) -> str | None:
    """
    Name what makes a command risky; null if nothing on the lists above does.

    A program with a version behind its name, as `python3.11`, is the one without.
    """
    program, words = _program(command), command[1:]
    kind = _VERSION.sub("", program)
    if RISKY_PROGRAMS & {program, kind} or program.startswith("mkfs."):
        return program
    for word in words:
        if _option(word) in RISKY_WORDS.get(kind, ()):
            return f"{program} {_option(word)}"
        if kind == "sed" and _EDITS_IN_PLACE.fits(word):
            return f"{program} -i"
    if program == "git" and words and words[0].startswith("-"):
        # Options before the subcommand can make git run any program.
        return f"git {_option(words[0])}"
    letters = next((key for key, names in INTERPRETERS.items() if kind in names.split()), "")
    for word in words:
        if letters and _runs_text(word, letters):
            return f"{program} {_option(word)}"
    return None


def lists_interpreter(entry: str) -> bool:
    """Whether an entry lists a program that does whatever stands in a file that it is given."""
    words = tuple(entry.split())
    if len(words) != 1:
        return False
    kind = _VERSION.sub("", _program(words))
    return kind == "make" or any(kind in names.split() for names in INTERPRETERS.values())


def names_risky_operation(name: str) -> bool:
    """Whether a name is one by which `find_risky_operation` may call something."""
    words = tuple(name.split())
    is_method = name.isascii() and name.isalpha() and name.isupper()
    return bool(words) and (
        find_risky_command(words) == name or (is_method and name not in HARMLESS_METHODS)
    )


def _runs_text(word: str, letters: str) -> bool:
    if word.startswith("--"):
        return _option(word) in {"--command", "--eval", "--print", "--run"}
    return word.startswith("-") and any(letter in word for letter in letters)


def _name_program(command: Sequence[str]) -> list[str]:
    return [_program(command), *command[1:]]


def _program(command: Sequence[str]) -> str:
    return PurePosixPath(command[0]).name


def _option(word: str) -> str:
    return word.partition("=")[0]
