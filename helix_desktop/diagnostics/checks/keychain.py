"""Check the keychain: store a key, read it back and delete it, as the app does."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

from helix_desktop.config.keychain import Keychain, system_keychain
from helix_desktop.config.secrets import THIS_RUN_SOURCE, SecretStore
from helix_desktop.domain.errors import HelixError

PROBE = "helix-desktop-self-check"
"""The provider under whose name the key is stored: no real one."""


async def try_keychain(find: Callable[[], Keychain] = system_keychain) -> str:
    """Store, read and delete a key; return where. Raises HelixError if the keychain fails at any of it."""
    value = f"probe-{os.getpid()}-{secrets.token_hex(8)}"
    # Each knows nothing but what is kept when it asks.
    writer, reader, checker = (SecretStore({}, find) for _ in range(3))
    try:
        saved = await writer.set(PROBE, value)
        if saved.source == THIS_RUN_SOURCE:
            raise HelixError(
                f"The keychain does not take a key: {writer.problem}.", fix="Unlock it, or start one."
            )
        read_back = await reader.get(PROBE)
        await reader.delete(PROBE)
        remaining = await checker.get(PROBE)
    finally:
        for secret_store in (writer, reader, checker):
            secret_store.close()
    if read_back.value != value:
        raise HelixError("The keychain gave back another key than it was given.")
    if remaining.value:
        raise HelixError("The keychain does not let go of a key.")
    return f"a key was stored, read back and deleted ({saved.source})"
