"""The source of a key is described once, with its reason."""

from __future__ import annotations

import pytest

from helix_desktop.services.key_status import KeyStatus

NO_KEYCHAIN = "this system has no keychain"


@pytest.mark.parametrize(
    ("source", "backend", "problem", "state"),
    [
        ("keychain: Secret Service", "Secret Service", "", KeyStatus("keychain", "Secret Service")),
        (
            "environment: X_API_KEY",
            "",
            NO_KEYCHAIN,
            KeyStatus("environment", "environment variable X_API_KEY"),
        ),
        ("this run only", "", NO_KEYCHAIN, KeyStatus("run", f"this run only: {NO_KEYCHAIN}")),
        ("", "Secret Service", "", KeyStatus("none", "in the Secret Service")),
        ("", "", NO_KEYCHAIN, KeyStatus("none", f"for this run only: {NO_KEYCHAIN}")),
    ],
)
def test_a_key_s_source_is_described(source: str, backend: str, problem: str, state: KeyStatus) -> None:
    assert KeyStatus.from_secrets(source, backend, problem) == state
