"""What comes from the environment; nothing else reads it."""

import getpass
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, TypeAlias, get_args
from urllib.parse import unquote

from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.patterns import Pattern

MIN_SECRET_CHARS = 8
"""Characters."""

MAX_SECRET_CHARS = 64_000

_SECRET = "HOLDFAST_SECRET_"  # noqa: S105 -- the beginning of a name
_FILE = "_FILE"
_NAMED_FILES = frozenset(
    {
        *(
            "TEMPORAL_TLS_CLIENT_CERT_PATH",
            "TEMPORAL_TLS_SERVER_CA_CERT_PATH",
            "HOLDFAST_LOG_FILE",
        ),
        *("SSL_CERT_FILE", "SSLKEYLOGFILE", "OPENSSL_CONF", "OPENSSL_MODULES"),
        *("OPENSSL_ENGINES", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC", "KRB5_CONFIG"),
        *("OPENSSL_CONF_INCLUDE", "HOSTALIASES", "PYTHONHOME", "PYTHONSTARTUP"),
    }
)
_SECRET_FILES = frozenset({"TEMPORAL_CONFIG_FILE", "TEMPORAL_TLS_CLIENT_KEY_PATH"})
_FILE_LISTS = {
    "LD_LIBRARY_PATH": ":;",
    "LD_PRELOAD": ": \t\n",
    "LD_AUDIT": ":",
    "GCONV_PATH": ":",
    "LOCPATH": ":",
    "SSL_CERT_DIR": ":",
}
"""What stands between the paths: ld.so(8), iconv(3), locale(7), SSL_CTX_load_verify_dir(3)."""
_PROVIDER, _PROXY = "_BASE_URL", "_PROXY"
"""How variables end that say where a provider is, and how it is reached, also in small letters."""
_SIGN_IN = Pattern(r"\s*(?:(?:[a-z][a-z0-9+.-]*:)?//)?([^/?#]*)@", any_case=True)
"""The name and the password of an address, as HTTP clients read it: its scheme may be left out."""
_MIN_TOKEN_CHARS = 20
_SECRET_NAME = Pattern("[A-Za-z0-9_]+")
_HEADER_NAME = Pattern("[A-Za-z0-9!#$%&'*+.^_`|~-]+")

SandboxPlace: TypeAlias = Literal["local", "only", "elsewhere", "none"]

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

LogFormat: TypeAlias = Literal["people", "json"]


@dataclass(frozen=True)
class Settings:
    """
    Settings of a process. Temporal's own (TEMPORAL_ADDRESS, ...) are read by its SDK.

    `app` is the app as module:attribute (HOLDFAST_APP), `task_queue` where runs are
    (HOLDFAST_TASK_QUEUE; null leaves it to the app), `home` the folder for local state
    (HOLDFAST_HOME), `user` the name that approvals are sent under unless another is given.
    `approvers` are the public keys whose signatures count (HOLDFAST_APPROVERS), `keys` the folder
    of this user's own keys (HOLDFAST_KEYS). `environment` is what rules of a policy may name, as
    in "production" (HOLDFAST_ENVIRONMENT). `sandbox` is where sandboxed calls run
    (HOLDFAST_SANDBOX, docs/sandbox.md): in this worker, in nothing but this one, in others, or
    nowhere.
    """

    app: str | None
    task_queue: str | None
    home: Path
    user: str
    approvers: Path
    keys: Path
    environment: str
    sandbox: SandboxPlace

    @classmethod
    def load(cls) -> Self:
        """Read the environment of this process."""
        home = Path(os.environ.get("HOLDFAST_HOME") or ".holdfast")
        approvers = os.environ.get("HOLDFAST_APPROVERS")
        keys = os.environ.get("HOLDFAST_KEYS")
        return cls(
            app=os.environ.get("HOLDFAST_APP") or None,
            task_queue=os.environ.get("HOLDFAST_TASK_QUEUE") or None,
            home=home,
            user=_user(),
            approvers=Path(approvers) if approvers else home / "approvers.json",
            keys=Path(keys) if keys else _find_config_folder("holdfast") / "keys",
            environment=os.environ.get("HOLDFAST_ENVIRONMENT", ""),
            sandbox=_sandbox(),
        )

    @property
    def private_files(self) -> tuple[Path, ...]:
        """What no code in a sandbox sees, wherever it lies: state, keys, files with secrets."""
        return self.home, self.approvers, self.keys, *_find_secret_files()

    @property
    def own_files(self) -> tuple[Path, ...]:
        """What a process itself goes by: no tool works on it, and no project brings it along."""
        server = _find_config_folder("temporalio")  # where Temporal's SDK looks for its file
        return self.home, self.approvers, self.keys, server, *_find_named_files()


@dataclass(frozen=True)
class LogSettings:
    """
    How a worker logs, where somebody says so.

    HOLDFAST_LOG has a level, a format or both, as in "info,json"; HOLDFAST_LOG_FILE is a file in
    place of standard error.
    """

    level: LogLevel | None
    format: LogFormat | None
    file: Path | None

    @classmethod
    def load(cls) -> Self:
        """Read the environment of this process."""
        said = os.environ.get("HOLDFAST_LOG") or ""
        words = {word.strip() for word in said.split(",")} - {""}
        levels: tuple[LogLevel, ...] = get_args(LogLevel)
        formats: tuple[LogFormat, ...] = get_args(LogFormat)
        level: list[LogLevel] = [one for one in levels if one in words]
        shape: list[LogFormat] = [one for one in formats if one in words]
        if words - {*level, *shape} or len(level) > 1 or len(shape) > 1:
            raise HoldfastError(
                f"HOLDFAST_LOG is {said!r}: use a level ({', '.join(levels)}), a format "
                f"({', '.join(formats)}), or both, as in info,json"
            )
        file = os.environ.get("HOLDFAST_LOG_FILE")
        return cls(
            level=level[0] if level else None,
            format=shape[0] if shape else None,
            file=Path(file) if file else None,
        )


def _sandbox() -> SandboxPlace:
    said = os.environ.get("HOLDFAST_SANDBOX") or "local"
    places: tuple[SandboxPlace, ...] = get_args(SandboxPlace)
    for place in places:
        if said == place:
            return place
    raise HoldfastError(f"HOLDFAST_SANDBOX is {said!r}: use one of {', '.join(places)}")


def _find_secret_files() -> Iterator[Path]:
    """Yield what variables name that holds a secret of the app, or Temporal's key."""
    for name, value in os.environ.items():
        is_secret = name.startswith(_SECRET) and name.endswith(_FILE)
        if value and (is_secret or name in _SECRET_FILES):
            yield Path(value)


def _find_named_files() -> Iterator[Path]:
    """Yield what variables name: secrets, keys, whom TLS trusts, the log, and libraries."""
    yield from _find_secret_files()
    for name, value in os.environ.items():
        if value and name in _NAMED_FILES:
            yield Path(value)
        if name in _FILE_LISTS:
            between = dict.fromkeys(map(ord, _FILE_LISTS[name]), "\n")
            yield from map(Path, filter(None, value.translate(between).split("\n")))


def _find_config_folder(program: str) -> Path:
    """Where one of a user's programs keeps what is theirs alone (XDG Base Directory)."""
    if base := os.environ.get("XDG_CONFIG_HOME"):
        return Path(base, program)
    try:
        return Path.home() / ".config" / program
    except RuntimeError:
        # As with the user's name: a number may have no home.
        return Path(".holdfast")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that no user has.
        return f"user {os.getuid()}"


def load_otlp_headers() -> dict[str, str]:
    """
    Return the headers that an OpenTelemetry collector wants (OTEL_EXPORTER_OTLP_HEADERS).

    They are written as there: `name=value`, with commas between them, values percent-encoded.
    Raises HoldfastError where they are anything else, without a word of them.
    """
    said = os.environ.get("OTEL_EXPORTER_OTLP_HEADERS") or ""
    pairs = [one.partition("=") for one in said.split(",") if one.strip()]
    headers = {name.strip(): unquote(value.strip()) for name, _, value in pairs}
    if not all(_HEADER_NAME.fits(name) for name in headers) or not all(
        equals and value.strip() for _, equals, value in pairs
    ):
        raise HoldfastError(
            "OTEL_EXPORTER_OTLP_HEADERS can't be read: write name=value, with commas between them"
        )
    return headers


def find_passwords(providers: Iterable[str], proxies: Iterable[str] = ()) -> frozenset[str]:
    """
    Return the passwords that are in addresses, in both spellings.

    The name in a provider's address that has no password is one where it looks like a token.
    """
    found = {password for _, password in map(_read_sign_in, proxies)}
    for name, password in map(_read_sign_in, providers):
        found.add(name if not password and _is_like_a_token(name) else password)
    return frozenset({*found, *map(unquote, found)} - {""})


def _read_sign_in(address: str) -> tuple[str, str]:
    match = _SIGN_IN.match(address)
    name, _, password = (match.groups[1] if match else "").partition(":")
    return name, password


def _is_like_a_token(name: str) -> bool:
    """Whether it can be redacted: an ordinary word may be one that workers and runs go by."""
    said = unquote(name)
    return len(said) >= _MIN_TOKEN_CHARS and any(one.isdigit() for one in said)


def variable(name: str) -> str | None:
    """Return a variable of the environment, for a setting that the app names."""
    return os.environ.get(name) or None


def secret(name: str) -> str:
    """
    Return a secret of this process; its value is never logged, and no message has it.

    It is HOLDFAST_SECRET_<NAME>, or what is in the file that HOLDFAST_SECRET_<NAME>_FILE names: a
    file is read each time, so that a secret can be rotated. Raises HoldfastError without one.
    """
    named = f"{_SECRET}{name.upper()}"
    if not _SECRET_NAME.fits(name) or named.endswith(_FILE):
        raise HoldfastError(
            f"no secret can be called {name!r}: use letters, digits and _, and no _file at the end"
        )
    value, file = os.environ.get(named), os.environ.get(named + _FILE)
    if value and file:
        raise HoldfastError(f"secret {name!r}: {named} and {named}{_FILE} are both set; unset one")
    if not value and not file:
        raise HoldfastError(
            f"no secret {name!r}: set {named} for the worker, or {named}{_FILE} to the path of a "
            "file that holds it"
        )
    return _require_valid(
        _read_secret_file(named + _FILE, Path(file)) if file else value or "", name
    )


def _require_valid(value: str, name: str) -> str:
    if len(value) < MIN_SECRET_CHARS:
        raise HoldfastError(
            f"secret {name!r} has fewer than {MIN_SECRET_CHARS} characters: other words may have "
            "it in them, so nothing could keep it out of history; use a longer one"
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise HoldfastError(f"secret {name!r} is no text in UTF-8") from None
    return value


def _read_secret_file(named: str, path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            text = file.read(MAX_SECRET_CHARS + 1)
    except UnicodeDecodeError:
        raise HoldfastError(f"{named}: {path} is no text in UTF-8") from None
    except OSError as error:
        raise HoldfastError(f"{named}: {path}: {error.strerror}") from None
    if len(text) > MAX_SECRET_CHARS:
        raise HoldfastError(f"{named}: {path} has more than {MAX_SECRET_CHARS} characters")
    return text.removesuffix("\n").removesuffix("\r")


class KnownSecrets:
    """
    Every secret that this process can reach, and those that it could reach before.

    A secret that was rotated meanwhile may still be in a result. The environment is read once,
    because nothing outside can change it; files are read whenever they have changed. Beside those
    of the app's own name, *credentials* are the variables that hold what the worker proves itself
    with: each provider and each connection names its own. So are passwords in addresses of
    providers and proxies. *values* are known already, and so is each that was given away: a file
    may have another one before and after.
    """

    def __init__(
        self, credentials: Iterable[str] = (), values: frozenset[str] = frozenset()
    ) -> None:
        named = frozenset(credentials)
        # Only ever added to, which no other thread can undo.
        self._noted = set(values)
        self._seen = values
        self._files: dict[str, tuple[int, int, int]] = {}
        for name, value in os.environ.items():
            if name.upper().endswith(_PROVIDER):
                self._note(*find_passwords([value]))
            if name.upper().endswith(_PROXY):
                self._note(*find_passwords([], [value]))
            if not name.startswith(_SECRET) and name not in named:
                continue
            if name.endswith(_FILE):
                self._files[value] = (0, 0, 0)
            else:
                self._note(value)

    def __call__(self) -> frozenset[str]:
        """Return the values; the same set as long as there is no other."""
        for path, known in self._files.items():
            try:
                found = Path(path).stat()
                state = (found.st_mtime_ns, found.st_ino, found.st_size)
                if state != known:
                    self._note(_read_secret_file(path, Path(path)))
                    self._files[path] = state
            except (OSError, HoldfastError):
                continue  # whoever asks for it is told
        seen = self._seen
        if len(seen) != len(self._noted):
            self._seen = seen = frozenset(self._noted)
        return seen

    def give(self, name: str) -> str:
        """Return a secret as `secret` does, known from then on whatever its file says next."""
        value = secret(name)
        self._noted.add(value)  # at once: somebody else may just be looking at the files
        return value

    def _note(self, *values: str) -> None:
        self._noted.update(one for one in values if len(one) >= MIN_SECRET_CHARS)
