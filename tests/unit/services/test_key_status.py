"""The source of a key is described once, with its reason."""

from __future__ import annotations

import pytest

from helix_desktop.config.secrets import ApiKey
from helix_desktop.services.app_services import KeyStatus

NO_KEYCHAIN = "this system has no keychain"
IN_SERVICE = "Will be kept in Secret Service."
FOR_THIS_RUN = f"Will be kept until Helix Desktop closes: {NO_KEYCHAIN}."


@pytest.mark.parametrize(
    ("key", "keychain", "problem", "state"),
    [
        (
            ApiKey("k", "keychain", "Secret Service"),
            "Secret Service",
            "",
            KeyStatus("keychain", "Kept in Secret Service.", IN_SERVICE),
        ),
        (
            ApiKey("k", "environment", "X_API_KEY"),
            "",
            NO_KEYCHAIN,
            KeyStatus("environment", "From the environment variable X_API_KEY.", FOR_THIS_RUN),
        ),
        (
            ApiKey("k", "run"),
            "",
            NO_KEYCHAIN,
            KeyStatus("run", f"Kept until Helix Desktop closes: {NO_KEYCHAIN}.", FOR_THIS_RUN),
        ),
        (ApiKey(), "Secret Service", "", KeyStatus("none", IN_SERVICE, IN_SERVICE)),
        (ApiKey(), "", NO_KEYCHAIN, KeyStatus("none", FOR_THIS_RUN, FOR_THIS_RUN)),
    ],
)
def test_a_key_s_place_is_described(key: ApiKey, keychain: str, problem: str, state: KeyStatus) -> None:
    assert KeyStatus.from_key(key, keychain, problem) == state
