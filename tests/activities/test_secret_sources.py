"""Where the secrets of a worker come from, and which of them it knows."""

import threading
from pathlib import Path

import pytest

from holdfast import settings
from holdfast.contracts.errors import HoldfastError

SECRET = "correct horse battery staple"
NAMES = "HOLDFAST_SECRET_DB", "HOLDFAST_SECRET_DB_FILE"


def test_a_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret is a variable of the worker's environment, in any letters."""
    monkeypatch.setenv(NAMES[0], SECRET)

    assert settings.secret("db") == settings.secret("DB") == SECRET


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_secret_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: str) -> None:
    """A secret may be in a file, whose last line may end as any; it is read at each use."""
    file = tmp_path / "db"
    monkeypatch.setenv(NAMES[1], str(file))
    file.write_bytes(f"{SECRET}{end}".encode())
    first = settings.secret("db")
    file.write_bytes(f" rotated\nsecret {end}".encode())

    assert (first, settings.secret("db")) == (SECRET, " rotated\nsecret ")


def flaw(name: str = "db") -> str:
    """What is said of a secret that can't be had; never its value."""
    with pytest.raises(HoldfastError) as raised:
        settings.secret(name)
    said = str(raised.value)
    assert "\n" not in said
    assert "hunter" not in said
    return said


def test_no_secret() -> None:
    """Who has no secret is told both ways to give one."""
    assert all(name in flaw() for name in NAMES)


def test_two_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A secret in both places is in none: nobody could say which counts."""
    for name in NAMES:
        monkeypatch.setenv(name, "hunter2hunter2")

    assert flaw() == (
        "secret 'db': HOLDFAST_SECRET_DB and HOLDFAST_SECRET_DB_FILE are both set; unset one"
    )


@pytest.mark.parametrize("in_file", [False, True])
def test_a_short_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, in_file: bool) -> None:
    """A secret that other words have in them couldn't be kept out of history."""
    file = tmp_path / "db"
    file.write_text("hunter2\n", encoding="utf-8")
    monkeypatch.setenv(NAMES[in_file], str(file) if in_file else "hunter2")

    assert "'db' has fewer than 8 characters" in flaw()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"\xff" * 20, "is no text in UTF-8", id="no text"),
        pytest.param(b"x" * 70_000, "has more than 64000 characters", id="too long"),
        pytest.param(None, "No such file or directory", id="missing"),
        pytest.param(b"", "fewer than 8 characters", id="empty"),
    ],
)
def test_a_file_that_holds_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, said: str
) -> None:
    """What is wrong with a file is one line that names it or the secret."""
    file = tmp_path / "db"
    monkeypatch.setenv(NAMES[1], str(file))
    if content is not None:
        file.write_bytes(content)

    assert said in flaw()


@pytest.mark.parametrize("name", ["", "a b", "a-b", "../a", "db_file", "DB_FILE"])
def test_names_that_no_secret_has(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A name stands for one variable, and never for the path of another's file."""
    monkeypatch.setenv(NAMES[1], "/run/secrets/hunter")

    assert flaw(name).startswith(f"no secret can be called {name!r}: ")


def test_what_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Known are secrets, those in files, and what somebody names as a credential."""
    file = tmp_path / "token"
    file.write_text("in the file\n", encoding="utf-8")
    token = tmp_path / "identity"
    token.write_text("in a token file\n", encoding="utf-8")
    for name, value in {
        "HOLDFAST_SECRET_DB": "in the environment",
        "HOLDFAST_SECRET_TOKEN_FILE": str(file),
        "HOLDFAST_SECRET_GONE_FILE": str(tmp_path / "gone"),
        "HOLDFAST_SECRET_SHORT": "short",
        "MY_SERVERS_KEY": "key of my own",
        "MY_IDENTITY_TOKEN_FILE": str(token),
        "TEMPORAL_ADDRESS": "localhost:7233",
        "OTHER_KEY": "nobody named it",
    }.items():
        monkeypatch.setenv(name, value)

    known = settings.KnownSecrets(["MY_SERVERS_KEY", "MY_IDENTITY_TOKEN_FILE"])

    assert known() == {"in the environment", "in the file", "key of my own", "in a token file"}


def test_passwords_in_addresses_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of providers and proxies; as they stand there, and as they are sent."""
    for name, value in {
        "https_proxy": "http://svc:of%20a%20proxy@proxy.example.com:3128",
        "OPENAI_BASE_URL": "https://token-1-in-place-of-a-key@models.example.com/v1",
        "ANTHROPIC_BASE_URL": "https://[models.example.com",
        "NO_PROXY": "localhost,127.0.0.1",
        "HOMEPAGE": "https://svc:not a provider@example.com",
    }.items():
        monkeypatch.setenv(name, value)

    known = settings.KnownSecrets()

    assert known() == {"of%20a%20proxy", "of a proxy", "token-1-in-place-of-a-key"}
    assert settings.find_passwords(["https://example.com/v1"]) == frozenset()


@pytest.mark.parametrize(
    "address",
    [
        "svc:correct-horse-7@proxy.example.com:3128",
        "http://svc:correct-horse-7@proxy.example.com:3128",
        "//svc:correct-horse-7@proxy.example.com:3128",
        " http://svc:correct-horse-7@proxy.example.com",
        "http://:correct-horse-7@proxy.example.com/@",
    ],
)
def test_a_password_is_known_however_its_address_is_written(address: str) -> None:
    """HTTP clients sign in with it where there is no scheme, too."""
    for found in (settings.find_passwords([address]), settings.find_passwords([], [address])):
        assert found == {"correct-horse-7"}


@pytest.mark.parametrize("password", ["pass[word]9", "[word", "of@two:parts", "http:"])
def test_a_password_is_known_whatever_its_signs(password: str) -> None:
    """It ends at the last @ of what stands before a path."""
    assert settings.find_passwords([], [f"http://svc:{password}@example.com/a@b"]) == {password}


@pytest.mark.parametrize(
    "address",
    ["http://example.com/?by=svc:no-password@x", "example.com#svc:no-password@x", "a/b:c@d"],
)
def test_what_stands_behind_the_host_is_no_password(address: str) -> None:
    """Nor is what looks like one in a path, a query or a fragment."""
    assert settings.find_passwords([address], [address]) == frozenset()


@pytest.mark.parametrize("empty", ["", ":"])
def test_a_user_name_is_no_secret_unless_it_looks_like_a_token(
    monkeypatch: pytest.MonkeyPatch, empty: str
) -> None:
    """An ordinary word would be taken out of all that workers and runs tell each other."""
    for name, value in {
        "UNUSED_PROXY": f"http://read_only{empty}@proxy.example.com",
        "HTTPS_PROXY": f"http://a-name-with-20-characters{empty}@proxy.example.com",
        "OPENAI_BASE_URL": f"https://administrator{empty}@models.example.com/v1",
        "ANTHROPIC_BASE_URL": f"https://customers-of-the-shop{empty}@models.example.com/v1",
        "HOUSE_BASE_URL": f"https://tok-6f1d20c3b8a94e75{empty}@models.example.com/v1",
    }.items():
        monkeypatch.setenv(name, value)

    assert settings.KnownSecrets()() == {"tok-6f1d20c3b8a94e75"}


def test_a_rotated_secret_stays_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The new value is known at once, and the old one may still be in a result."""
    file = tmp_path / "db"
    monkeypatch.setenv(NAMES[1], str(file))
    known = settings.KnownSecrets()
    file.write_text("first secret", encoding="utf-8")
    before = known()
    file.write_text("second secret", encoding="utf-8")

    assert {"first secret", "second secret"} <= known()
    assert "second secret" not in before
    assert known() is known()


def test_what_was_given_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever the file says when somebody looks, before and after."""
    file = tmp_path / "db"
    monkeypatch.setenv(NAMES[1], str(file))
    known = settings.KnownSecrets()
    file.write_text("first secret", encoding="utf-8")
    given = known.give("db")
    file.write_text("second secret", encoding="utf-8")

    assert known() == {given, "second secret"}


class Late(str):
    """A text that no set takes the first time before somebody says so."""

    __slots__ = ()
    began, go_on = threading.Event(), threading.Event()

    def __hash__(self) -> int:
        if not self.began.is_set():
            self.began.set()
            self.go_on.wait(20)
        return super().__hash__()


def test_two_threads_that_learn_at_once_forget_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets are rotated together, as mounts are, while results are cleared in threads."""
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"value-of-{name}")
        monkeypatch.setenv(f"HOLDFAST_SECRET_{name.upper()}_FILE", str(tmp_path / name))

    def read(_: str, path: Path) -> str:
        text = path.read_text()
        return Late(text) if path.name == "one" else text

    monkeypatch.setattr(settings, "_read_secret_file", read)
    known = settings.KnownSecrets()
    late = threading.Thread(target=known)
    late.start()
    Late.began.wait(20)
    meanwhile = known()
    Late.go_on.set()
    late.join()

    assert meanwhile == known() == {"value-of-one", "value-of-two"}
