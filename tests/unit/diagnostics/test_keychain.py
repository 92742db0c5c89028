"""The trial of a keychain: it leaves nothing behind, and says what does not work."""

from __future__ import annotations

import pytest

from helix_desktop.config.keychain import Keychain, KeychainUnusable
from helix_desktop.config.secrets import SecretStore
from helix_desktop.diagnostics.checks.keychain import try_keychain
from helix_desktop.domain.errors import HelixError


class Chain:
    """A keychain in memory that may forget what it is given, or refuse to forget."""

    name = "Test Keychain"

    def __init__(self, *, forgets: bool = False, clings: bool = False) -> None:
        self.items: dict[str, str] = {}
        self._forgets, self._clings = forgets, clings

    def get_password(self, _service: str, username: str) -> str | None:
        return self.items.get(username)

    def set_password(self, _service: str, username: str, password: str) -> None:
        if not self._forgets and not (self._clings and self.items):
            self.items[username] = password

    def delete_password(self, _service: str, username: str) -> None:
        if not self._clings:
            self.items.pop(username, None)


async def test_a_key_is_kept_and_goes_again_and_others_stay() -> None:
    chain = Chain()
    others = SecretStore({}, lambda: chain)
    await others.set("openai", "sk-1")
    assert await try_keychain(lambda: chain) == (
        "a key was stored, read back and deleted (keychain: Test Keychain)"
    )
    assert (await others.get("openai")).value == "sk-1"
    assert "probe" not in str(chain.items)
    others.close()


def _none() -> Keychain:
    raise KeychainUnusable("this system has no keychain")


@pytest.mark.parametrize(
    ("chain", "told"),
    [
        (None, "does not take a key: this system has no keychain"),
        (Chain(forgets=True), "another key than it was given"),
        (Chain(clings=True), "does not let go of a key"),
    ],
    ids=["none", "forgetful", "clinging"],
)
async def test_what_a_keychain_does_not_do_is_said(chain: Chain | None, told: str) -> None:
    with pytest.raises(HelixError, match=told):
        await try_keychain(_none if chain is None else lambda: chain)
