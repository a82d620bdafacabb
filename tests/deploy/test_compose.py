"""What deploy/ promises, as far as it can be seen without a container engine."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast.contracts.bounds import MAX_BLOB_BYTES
from holdfast.dev_server import MAX_MEMO_BYTES, MAX_UPDATES_BYTES

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy" / "compose.yaml"
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]


@pytest.mark.slow
def test_compose_file_fits_its_schema() -> None:
    """compose.yaml is valid by the schema of the Compose specification."""
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "check_jsonschema",
            "--builtin-schema",
            "vendor.compose-spec",
            COMPOSE,
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout


def test_the_server_takes_no_more_than_we_send() -> None:
    """Strangers' signals have the limit of our own payloads, all updates at once twice that."""
    # T-33
    configs = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["configs"]
    dynamic = yaml.safe_load(configs["temporal-dynamic"]["content"])

    assert dynamic == {
        "limit.blobSize.error": [{"value": MAX_BLOB_BYTES}],
        "history.maxInFlightUpdatePayloads": [{"value": MAX_UPDATES_BYTES}],
        "limit.memoSize.error": [{"value": MAX_MEMO_BYTES}],
    }


def test_services_wait_for_services_that_exist(services: dict[str, dict[str, Any]]) -> None:
    """A service that waits to be healthy for another waits for one with a health check."""
    for service in services.values():
        for name, wanted in service.get("depends_on", {}).items():
            assert (wanted["condition"] == "service_healthy") == ("healthcheck" in services[name])


def test_secrets_come_from_the_environment(services: dict[str, dict[str, Any]]) -> None:
    """What looks like a secret is empty, or a default that a variable replaces."""
    for service in services.values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|PWD|KEY|TOKEN|SECRET", name):
                assert value is None or re.fullmatch(r"\$\{\w+:-\w*\}", value)


def test_workers_are_in_the_environment_that_is_set(services: dict[str, dict[str, Any]]) -> None:
    """All of them, else none would start whose policy is about environments, or they disagree."""
    workers = [one["environment"] for one in services.values() if "build" in one]

    assert len(workers) == 2
    assert all(one.get("HOLDFAST_ENVIRONMENT", "none") is None for one in workers)


def test_build_paths_exist(services: dict[str, dict[str, Any]]) -> None:
    """Everything that the build of the image reads is there."""
    build = services["worker"]["build"]
    context = (COMPOSE.parent / build["context"]).resolve()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    paths = [build["dockerfile"], *" ".join(copied).split()]

    assert [path for path in paths if not (context / path).exists()] == []


def test_app_of_the_image_exists(services: dict[str, dict[str, Any]]) -> None:
    """The app that the worker runs by default is a module that the image holds."""
    default = services["worker"]["environment"]["HOLDFAST_APP"]
    named = re.fullmatch(r"\$\{HOLDFAST_APP:-([\w.]+):\w+\}", default)

    assert named
    assert f"HOLDFAST_APP={named[1]}:" in DOCKERFILE
    assert (ROOT / named[1].replace(".", "/")).with_suffix(".py").exists()


def test_image_does_not_run_as_root() -> None:
    """The last USER of the Dockerfile is a number other than root's."""
    assert int(re.findall(r"^USER (\d+)", DOCKERFILE, re.MULTILINE)[-1]) > 0


def test_locks_are_bare_pins() -> None:
    """Lock files name exact versions only, and the image's is a part of the other."""
    everything, image = (
        set((ROOT / name).read_text(encoding="utf-8").splitlines()[1:])
        for name in ("requirements.lock", "deploy/requirements.lock")
    )

    assert [line for line in everything if not re.fullmatch(r"[\w.-]+==[\w.+]+", line)] == []
    assert image < everything
    assert not any(re.match("temporal-|pytest|pyright", line) for line in image)


def test_what_workers_keep_outlives_their_containers(services: dict[str, dict[str, Any]]) -> None:
    """HOLDFAST_HOME is a volume of each: results, workspaces and keys whose signatures count."""
    home = re.search(r"HOLDFAST_HOME=(\S+)", DOCKERFILE)
    named = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["volumes"]
    kept = {
        name: [one.removesuffix(f":{home and home[1]}") for one in service["volumes"]]
        for name, service in services.items()
        if "HOLDFAST_SANDBOX" in service.get("environment", {})
    }

    assert kept == {"worker": ["worker"], "sandbox": ["sandbox"]}
    assert {"worker", "sandbox"} <= named.keys()
