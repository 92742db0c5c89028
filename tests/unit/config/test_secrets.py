"""Keys: found in every source, stored where possible, and never blocking."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator

import keyring.errors
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.config.secrets import (
    ITEM,
    MAX_ITEM_CHARS,
    ApiKey,
    Keychain,
    KeychainItem,
    KeychainUnavailable,
    SecretStore,
)
from helix_desktop.domain.translatable_text import verbatim

ENVIRON = {"OPENAI_API_KEY": "from-environment"}


class MemoryKeychain:
    """An in-memory keychain, with Windows' size limit, that can be made to fail or to hang."""

    name = "Test Keychain"

    def __init__(self) -> None:
        self.items: dict[str, str] = {}
        self.error: Exception | None = None
        self.called = threading.Event()
        self.unlocked = threading.Event()
        self.unlocked.set()
        self.writes_left = -1

    def _answer(self) -> None:
        self.called.set()
        self.unlocked.wait()
        if self.error is not None:
            raise self.error

    def get_password(self, _service: str, username: str) -> str | None:
        self._answer()
        return self.items.get(username)

    def set_password(self, _service: str, username: str, password: str) -> None:
        self._answer()
        if self.writes_left == 0:
            raise keyring.errors.PasswordSetError("no more room")
        self.writes_left -= 1
        assert len(password) <= 1280
        self.items[username] = password

    def delete_password(self, _service: str, username: str) -> None:
        self._answer()
        if username not in self.items:
            raise keyring.errors.PasswordDeleteError("not there")
        del self.items[username]


@pytest.fixture
def chain() -> Iterator[MemoryKeychain]:
    keychain = MemoryKeychain()
    yield keychain
    keychain.unlocked.set()


@pytest.fixture
def secrets(chain: MemoryKeychain) -> Iterator[SecretStore]:
    store = SecretStore(ENVIRON, lambda: chain, timeout_s=60)
    yield store
    chain.unlocked.set()
    store.close()


def no_keychain() -> Keychain:
    raise KeychainUnavailable(verbatim("this system has no keychain"))


async def test_a_key_in_the_keychain_wins_over_the_environment(
    secrets: SecretStore, chain: MemoryKeychain
) -> None:
    assert await secrets.get("openai") == ApiKey("from-environment", "environment", "OPENAI_API_KEY")
    assert await secrets.set("openai", " sk-1 \n") == ApiKey("sk-1", "keychain", "Test Keychain")
    assert await secrets.get("openai") == ApiKey("sk-1", "keychain", "Test Keychain")
    assert list(chain.items) == [ITEM]
    assert await secrets.delete("openai") == ApiKey("from-environment", "environment", "OPENAI_API_KEY")
    assert await secrets.get("other") == ApiKey()


async def test_all_keys_share_one_item_and_survive_a_restart(chain: MemoryKeychain) -> None:
    for number in range(3):
        once = SecretStore({}, lambda: chain)
        await once.set(f"p{number}", f"k{number}")
        once.close()
    again = SecretStore({}, lambda: chain)
    assert [(await again.get(f"p{number}")).value for number in range(3)] == ["k0", "k1", "k2"]
    assert await again.keychain_name() == "Test Keychain"
    again.close()
    assert list(chain.items) == [ITEM]


KEYS = st.text("ab-é漢", min_size=1, max_size=500)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", "e"]), KEYS | st.just("")), max_size=8))
def test_long_keys_are_split_and_come_back(changes: list[tuple[str, str]]) -> None:
    chain = MemoryKeychain()
    expected: dict[str, str] = {}
    for provider, key in changes:
        expected[provider] = key
        KeychainItem(lambda: chain).change({provider: key})
    expected = {provider: key for provider, key in expected.items() if key}
    assert KeychainItem(lambda: chain).read() == ("Test Keychain", expected)
    assert all(len(text) <= MAX_ITEM_CHARS for text in chain.items.values())
    head = json.loads(chain.items.get(ITEM, '{"keys": {}}'))
    assert len(chain.items) <= 1 + head.get("parts", 0), "old parts are dropped"


def test_an_interrupted_write_keeps_the_old_keys() -> None:
    chain = MemoryKeychain()
    KeychainItem(lambda: chain).change({"a": "x" * 1500})
    for writes in range(3):
        chain.writes_left = writes
        with pytest.raises(keyring.errors.PasswordSetError):
            KeychainItem(lambda: chain).change({"a": "y" * 2600})
        assert KeychainItem(lambda: chain).read()[1] == {"a": "x" * 1500}


async def test_keys_are_saved_and_deleted_together(secrets: SecretStore, chain: MemoryKeychain) -> None:
    assert await secrets.set_all({"a": "1", "b": "2"}) == "Test Keychain"
    chain.writes_left = 1
    assert await secrets.set_all({"a": "", "b": "", "c": "3"}) == "Test Keychain", "one write"
    assert [(await secrets.get(name)).value for name in "abc"] == ["", "", "3"]
    chain.error = OSError("locked")
    assert await secrets.set_all({"a": "4", "c": ""}) == ""
    assert await secrets.get("a") == ApiKey("4", "run")
    chain.error = None
    assert (await secrets.get("c")).value == "3", "it is still there, and the caller was told so"


async def test_without_a_keychain_a_key_is_for_this_run_only() -> None:
    secrets = SecretStore(ENVIRON, no_keychain)
    assert await secrets.keychain_name() == ""
    assert secrets.problem == "this system has no keychain"
    assert (await secrets.get("openai")).name == "OPENAI_API_KEY"
    assert await secrets.set("openai", "sk-typed") == ApiKey("sk-typed", "run")
    assert await secrets.get("openai") == ApiKey("sk-typed", "run")
    assert (await secrets.delete("openai")).name == "OPENAI_API_KEY"
    secrets.close()


async def test_the_system_backend_may_be_missing() -> None:
    """The test run has keyring's fail backend, as a machine without D-Bus has."""
    secrets = SecretStore({})
    assert await secrets.keychain_name() == ""
    assert (await secrets.set("x", "k")).source == "run"
    secrets.close()


@pytest.mark.parametrize(
    "error", [keyring.errors.InitError("locked"), keyring.errors.KeyringLocked("no"), OSError("bus")]
)
async def test_a_failing_keychain_is_treated_as_missing_and_recovers(
    secrets: SecretStore, chain: MemoryKeychain, error: Exception
) -> None:
    chain.error = error
    assert (await secrets.set("other", "k")).source == "run"
    assert str(error) in secrets.problem
    chain.error = None
    assert await secrets.get("other") == ApiKey("k", "run")
    assert (await secrets.set("other", "k")).name == "Test Keychain"
    assert secrets.problem == ""


async def test_an_unanswered_prompt_times_out_and_later_calls_do_not_wait(chain: MemoryKeychain) -> None:
    chain.unlocked.clear()
    secrets = SecretStore(ENVIRON, lambda: chain, timeout_s=0.05)
    assert (await secrets.get("openai")).name == "OPENAI_API_KEY"
    assert "didn't answer" in secrets.problem
    assert (await secrets.get("openai")).name == "OPENAI_API_KEY"
    assert "hasn't answered yet" in secrets.problem
    chain.unlocked.set()
    secrets.close()


async def test_waiting_for_the_keychain_can_be_canceled(secrets: SecretStore, chain: MemoryKeychain) -> None:
    chain.unlocked.clear()
    async with asyncio.TaskGroup() as group:
        pending = group.create_task(secrets.get("openai"))
        await asyncio.to_thread(chain.called.wait)
        pending.cancel()
    assert pending.cancelled()
    chain.unlocked.set()
    assert (await secrets.get("openai")).name == "OPENAI_API_KEY"


@pytest.mark.parametrize("text", ["not json", "[1]", '{"parts": 2, "generation": 1, "sha256": "x"}'])
async def test_an_item_that_is_not_ours_is_not_overwritten(
    secrets: SecretStore, chain: MemoryKeychain, text: str
) -> None:
    chain.items[ITEM] = text
    assert (await secrets.set("openai", "k")).source == "run"
    assert chain.items == {ITEM: text}


def test_a_key_is_in_no_repr() -> None:
    assert "sk-1" not in repr(ApiKey("sk-1", "run"))
