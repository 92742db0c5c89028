"""The checks of the keychain and of child processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop.config.secrets import Keychain, KeychainUnavailable, SecretStore
from helix_desktop.diagnostics.self_check import bundle_dir, leaked_variables, try_keychain
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import verbatim


class Chain:
    """An in-memory keychain that may forget its values, or refuse to delete them."""

    name = "Test Keychain"

    def __init__(self, *, forgets_values: bool = False, refuses_deletes: bool = False) -> None:
        self.items: dict[str, str] = {}
        self._forgets_values = forgets_values
        self._refuses_deletes = refuses_deletes

    def get_password(self, _service: str, username: str) -> str | None:
        return self.items.get(username)

    def set_password(self, _service: str, username: str, password: str) -> None:
        if not self._forgets_values and not (self._refuses_deletes and self.items):
            self.items[username] = password

    def delete_password(self, _service: str, username: str) -> None:
        if not self._refuses_deletes:
            self.items.pop(username, None)


async def test_the_trial_key_is_stored_and_deleted_and_others_stay() -> None:
    chain = Chain()
    others = SecretStore({}, lambda: chain)
    await others.set("openai", "sk-1")
    assert await try_keychain(lambda: chain) == (
        "a key was saved, read back and deleted (keychain: Test Keychain)"
    )
    assert (await others.get("openai")).value == "sk-1"
    assert "probe" not in str(chain.items)
    others.close()


def _none() -> Keychain:
    raise KeychainUnavailable(verbatim("this system has no keychain"))


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        (None, "didn't save a key: this system has no keychain"),
        (Chain(forgets_values=True), "a different key than was saved"),
        (Chain(refuses_deletes=True), "didn't delete a key"),
    ],
    ids=["none", "forgetful", "clinging"],
)
async def test_a_keychain_s_faults_are_reported(chain: Chain | None, expected: str) -> None:
    with pytest.raises(HelixError, match=expected):
        await try_keychain(_none if chain is None else lambda: chain)


APP = Path("/usr/lib/helix-desktop")


def test_variables_that_leak_from_the_frozen_app_are_listed() -> None:
    environ = {
        "HOME": "/home/mara",
        "PATH": f"{APP}:/usr/bin",
        "LD_LIBRARY_PATH": f"{APP}/_internal",
        "QT_PLUGIN_PATH": f"/mine:{APP}/_internal/PySide6/Qt/plugins",
        "SSL_CERT_FILE": f"{APP}/_internal/certifi/cacert.pem",
        "QML2_IMPORT_PATH": "/mine/qml",
        "_PYI_ARCHIVE_FILE": "x",
        "_MEIPASS2": "x",
    }
    assert leaked_variables(environ, APP) == [
        "LD_LIBRARY_PATH", "QT_PLUGIN_PATH", "SSL_CERT_FILE", "_MEIPASS2", "_PYI_ARCHIVE_FILE",
    ]  # fmt: skip
    assert leaked_variables(environ, None) == ["_MEIPASS2", "_PYI_ARCHIVE_FILE"]


def test_a_checkout_leaks_no_variables() -> None:
    assert bundle_dir() is None
