"""The source of a key is described once, with its reason."""

from __future__ import annotations

import pytest

from helix_desktop.config.secrets import ApiKey
from helix_desktop.services.key_status import KeyStatus

NO_KEYCHAIN = "this system has no keychain"


@pytest.mark.parametrize(
    ("key", "keychain", "problem", "state"),
    [
        (
            ApiKey("k", "keychain", "Secret Service"),
            "Secret Service",
            "",
            KeyStatus("keychain", "Secret Service"),
        ),
        (
            ApiKey("k", "environment", "X_API_KEY"),
            "",
            NO_KEYCHAIN,
            KeyStatus("environment", "environment variable X_API_KEY"),
        ),
        (ApiKey("k", "run"), "", NO_KEYCHAIN, KeyStatus("run", f"this run only: {NO_KEYCHAIN}")),
        (ApiKey(), "Secret Service", "", KeyStatus("none", "in the Secret Service")),
        (ApiKey(), "", NO_KEYCHAIN, KeyStatus("none", f"for this run only: {NO_KEYCHAIN}")),
    ],
)
def test_a_key_s_place_is_described(key: ApiKey, keychain: str, problem: str, state: KeyStatus) -> None:
    assert KeyStatus.from_key(key, keychain, problem) == state
