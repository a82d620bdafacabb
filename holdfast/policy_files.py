"""Policy files, read from disk."""

from dataclasses import replace
from pathlib import Path

from holdfast.contracts.errors import AppError
from holdfast.policy.document import PolicySource, parse_authorities, parse_source
from holdfast.policy.rules import Authority, Policy

MAX_FILE_BYTES = 4_000_000
"""Bytes; more than any policy that may be read, so that no wrong file is read whole."""


def load_policy(path: str | Path, name: str = "") -> Policy:
    """
    Read the policy file at a path; *name* is what its flaws call it, if that is another.

    Raises AppError with the line where it says what no policy may.
    """
    return load_source(path, name).policy


def load_source(path: str | Path, name: str = "") -> PolicySource:
    """Read a policy file, and keep what stands where in it."""
    file, name = Path(path), name or str(path)
    source = parse_source(read_text(file, name), name, file.absolute().parent)
    return source._replace(policy=replace(source.policy, file=file.absolute()))


def load_authorities(policy: Policy) -> tuple[Authority, ...]:
    """Read what the rules of a policy rest on. Raises AppError, with the line of a flaw."""
    file = policy.authorities
    return () if file is None else parse_authorities(read_text(file, file.name), file.name)


def read_text(file: Path, name: str) -> str:
    """Read a YAML file. Raises AppError where that can't be."""
    try:
        if file.is_file() and file.stat().st_size > MAX_FILE_BYTES:
            raise AppError(f"{name} is too large to be read: {MAX_FILE_BYTES:,} bytes is most")
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise AppError(f"{name} is no text in UTF-8") from None
    except OSError as error:
        raise AppError(f"{name}: {error.strerror}") from None
