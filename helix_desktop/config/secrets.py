"""Keys of providers: in the system's keychain, else in the environment, else for this run only."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeVar

from helix_desktop.config.keychain import (
    Keychain,
    KeychainItem,
    KeychainThread,
    KeychainUnavailable,
    system_keychain,
)
from helix_desktop.config.settings import key_variable
from helix_desktop.domain.translatable_text import OptionalText

KEYCHAIN_TIMEOUT_S = 20.0
"""Seconds to wait for a keychain, which may be asking the user to unlock it."""

KeySource = Literal["keychain", "environment", "run", "none"]
"""Where a key comes from: `run` is this process's memory."""

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_KEY_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


SecretHeaders = Mapping[tuple[str, str], str]
"""Values of secret headers by model (empty: of the whole provider) and name."""

NO_SECRET_HEADERS: SecretHeaders = MappingProxyType({})


@dataclass(frozen=True)
class ApiKey:
    """A provider's key and its source; `name` is that of the keychain or variable. The key is in no repr."""

    value: str = field(default="", repr=False)
    source: KeySource = "none"
    name: str = ""


class SecretStore:
    """The keys of all providers. A keychain that fails or hangs is never fatal: `problem` is the reason.

    A key that was set while the keychain refused it comes first, then the keychain, then the environment.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        find_keychain: Callable[[], Keychain] = system_keychain,
        timeout_s: float = KEYCHAIN_TIMEOUT_S,
    ) -> None:
        self._environ, self._timeout_s = environ, timeout_s
        self._this_run: dict[str, str] = {}
        self._keychain_thread, self._keychain_item = KeychainThread(), KeychainItem(find_keychain)
        self.problem: OptionalText = ""
        """Why the keychain could not be used when it was last used; empty if it could."""

    async def keychain_name(self) -> str:
        """Return the keychain's name, tested by reading from it; empty if none works."""
        try:
            return (await self._run_job(self._keychain_item.read))[0]
        except KeychainUnavailable:
            return ""

    async def get(self, provider: str) -> ApiKey:
        """Return a provider's key and its place. Cancellable, also while the keychain prompts the user."""
        if provider in self._this_run:
            return ApiKey(self._this_run[provider], "run")
        try:
            name, keys = await self._run_job(self._keychain_item.read)
        except KeychainUnavailable:
            return self.from_environment(provider)
        if keys.get(provider):
            return ApiKey(keys[provider], "keychain", name)
        return self.from_environment(provider)

    async def set(self, provider: str, key: str) -> ApiKey:
        """Save a key and return it with its place. An empty key deletes."""
        key = key.strip()
        if not key:
            return await self.delete(provider)
        self._this_run[provider] = key
        try:
            name = await self._run_job(lambda: self._keychain_item.change(provider, key))
        except KeychainUnavailable:
            return ApiKey(key, "run")
        self._this_run.pop(provider, None)
        return ApiKey(key, "keychain", name)

    async def delete(self, provider: str) -> ApiKey:
        """Delete a key and return what remains: the environment's, or one still in the keychain."""
        self._this_run.pop(provider, None)
        try:
            await self._run_job(lambda: self._keychain_item.change(provider, ""))
        except KeychainUnavailable:
            _log.info("the keychain could not be asked to forget a key")
        return await self.get(provider)

    async def secret_header(self, provider: str, model: str, name: str) -> str:
        """Return the value of a secret header; empty if there is none."""
        stored = await self.get(_header_key(provider, model, name))
        return stored.value or self.from_environment(_header_key(provider, "", name)).value

    async def set_secret_header(self, provider: str, model: str, name: str, value: str) -> KeySource:
        """Save the value of a secret header and return where it is. An empty one deletes."""
        return (await self.set(_header_key(provider, model, name), value)).source

    async def all_values(self) -> tuple[str, ...]:
        """Return every value that must not be in a report, each once.

        Those of this run, of the keychain (`problem` says why it could not be read), and of the environment's
        variables that are named like keys.
        """
        stored: Mapping[str, str] = {}
        with contextlib.suppress(KeychainUnavailable):
            _, stored = await self._run_job(self._keychain_item.read)
        variables = (value for name, value in self._environ.items() if _KEY_VARIABLE.search(name))
        return tuple(dict.fromkeys((*self._this_run.values(), *stored.values(), *variables)))

    def close(self) -> None:
        """Stop the keychain's thread; one that hangs is abandoned and does not delay the exit."""
        self._keychain_thread.close()

    async def _run_job(self, job: Callable[[], _T]) -> _T:
        try:
            answer = await self._keychain_thread.run(job, self._timeout_s)
        except KeychainUnavailable as error:
            self.problem = error.reason
            raise
        self.problem = ""
        return answer

    def from_environment(self, provider: str) -> ApiKey:
        """Return the key from the environment, regardless of stored ones; empty if there is none."""
        return self.from_variables((key_variable(provider),))

    def from_variables(self, variables: Sequence[str]) -> ApiKey:
        """Return the key in the first of these environment variables that is set; empty if none is."""
        values = ((variable, self._environ.get(variable, "").strip()) for variable in variables)
        return next((ApiKey(value, "environment", variable) for variable, value in values if value), ApiKey())


def _header_key(provider: str, model: str, name: str) -> str:
    """Return the name under which a header's value is kept; no provider's name has a slash."""
    return "/".join(part for part in (provider, model, name.lower()) if part)
