"""Where a key is kept is said once, and why."""

from __future__ import annotations

import pytest

from helix_desktop.app.key_state import KeyState

NO_KEYCHAIN = "this system has no keychain"


@pytest.mark.parametrize(
    ("source", "backend", "problem", "state"),
    [
        ("keychain: Secret Service", "Secret Service", "", KeyState("keychain", "Secret Service")),
        (
            "environment: X_API_KEY",
            "",
            NO_KEYCHAIN,
            KeyState("environment", "environment variable X_API_KEY"),
        ),
        ("this run only", "", NO_KEYCHAIN, KeyState("run", f"this run only: {NO_KEYCHAIN}")),
        ("", "Secret Service", "", KeyState("none", "in the Secret Service")),
        ("", "", NO_KEYCHAIN, KeyState("none", f"for this run only: {NO_KEYCHAIN}")),
    ],
)
def test_a_key_is_where_its_source_says(source: str, backend: str, problem: str, state: KeyState) -> None:
    assert KeyState.of(source, backend, problem) == state
