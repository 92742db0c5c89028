"""Keys of providers: in the system's keychain, else in the environment, else for this run only."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import queue
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar, cast

from helix_desktop.config.settings import key_variable
from helix_desktop.domain.translatable_text import OptionalText, TextContext, TranslatableText, verbatim

_text = TextContext("Settings")

SERVICE = "helix-desktop"
"""The name under which a keychain lists our items."""

ITEM = "keys"
"""macOS prompts the user for each item, so all keys are in one as long as they fit."""

MAX_ITEM_CHARS = 1_200
"""Characters of one item: Windows takes 1,280."""

_REFUSED_BACKENDS = (
    "keyring.backends.fail",
    "keyring.backends.null",
    "keyring.backends.chainer",
    "keyrings.alt",
)
"""Backends that store nothing, or store plain text."""

_CLOSE_TIMEOUT_S = 0.5

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class KeychainUnavailable(Exception):
    """There is no keychain, or it does not answer; `reason` says so within a sentence."""

    def __init__(self, reason: TranslatableText) -> None:
        super().__init__(reason)
        self.reason = reason


class Keychain(Protocol):
    """The interface of a `keyring` backend; any call may block while the user is asked to unlock it."""

    @property
    def name(self) -> str: ...

    def get_password(self, service: str, username: str) -> str | None:
        """Return an item's text; None if there is no such item."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None: ...

    def delete_password(self, service: str, username: str) -> None:
        """Remove an item; raises if there is none."""
        ...


def system_keychain() -> Keychain:
    """Return the system's keychain. Raises KeychainUnavailable if it has none that keeps secrets secret."""
    import keyring

    keyring_backend = keyring.get_keyring()
    for backend in getattr(keyring_backend, "backends", None) or [keyring_backend]:
        if not type(backend).__module__.startswith(_REFUSED_BACKENDS):
            return cast("Keychain", backend)
    raise KeychainUnavailable(_text("this system has no keychain"))


class KeychainItem:
    """All keys in a keychain's item. Not thread-safe; every method may raise what backends raise."""

    def __init__(self, find_keychain: Callable[[], Keychain]) -> None:
        self._find_keychain = find_keychain
        self._keychain: Keychain | None = None
        self._keys: dict[str, str] | None = None
        self._parts: tuple[str, ...] = ()
        self._generation = 0

    def read(self) -> tuple[str, dict[str, str]]:
        """Return the keychain's name, and the key of each provider; read once, then cached."""
        keychain = self._open()
        if self._keys is None:
            self._keys = self._load(keychain)
        return keychain.name, self._keys

    def change(self, changes: Mapping[str, str]) -> str:
        """Write the keys of some providers at once, without the empty ones; return the keychain's name."""
        keychain = self._open()
        # Another process may have written since: do not write back the cached keys.
        previous = self._load(keychain)
        keys = {name: key for name, key in {**previous, **changes}.items() if key}
        if keys != previous:
            self._save(keychain, keys)
        self._keys = keys
        return keychain.name

    def _open(self) -> Keychain:
        if self._keychain is None:
            self._keychain = self._find_keychain()
        return self._keychain

    def _load(self, keychain: Keychain) -> dict[str, str]:
        text = keychain.get_password(SERVICE, ITEM)
        head = _object(text) if text else {"keys": {}}
        self._parts = ()
        if "parts" in head:
            self._generation = int(str(head.get("generation")))
            self._parts = tuple(f"{ITEM}.{self._generation}.{n}" for n in range(int(str(head["parts"]))))
            text_of_parts = "".join(keychain.get_password(SERVICE, part) or "" for part in self._parts)
            if _digest(text_of_parts) != head.get("sha256"):
                raise KeychainUnavailable(
                    _text("its item {name} is incomplete; delete it, then enter the keys again", name=SERVICE)
                )
            head = {"keys": _object(text_of_parts)}
        keys = head.get("keys")
        return {str(name): str(key) for name, key in keys.items()} if isinstance(keys, dict) else {}

    def _save(self, keychain: Keychain, keys: dict[str, str]) -> None:
        """Write new parts, then the head that names them, then drop the old parts: never a partial set."""
        previous = self._parts
        self._parts = ()
        text = json.dumps({"keys": keys})
        if len(text) > MAX_ITEM_CHARS:
            keys_json = json.dumps(keys)
            chunks = [
                keys_json[offset : offset + MAX_ITEM_CHARS]
                for offset in range(0, len(keys_json), MAX_ITEM_CHARS)
            ]
            self._generation += 1
            self._parts = tuple(f"{ITEM}.{self._generation}.{n}" for n in range(len(chunks)))
            for name, chunk in zip(self._parts, chunks, strict=True):
                keychain.set_password(SERVICE, name, chunk)
            head = {"parts": len(chunks), "generation": self._generation, "sha256": _digest(keys_json)}
            text = json.dumps(head)
        keychain.set_password(SERVICE, ITEM, text)
        _delete_items(keychain, previous)


class KeychainThread:
    """Runs jobs in one daemon thread, so that a keychain that hangs blocks nothing else."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[object], Callable[[], object]] | None] = (
            queue.SimpleQueue()
        )
        self._thread: threading.Thread | None = None
        self._unanswered: Future[object] | None = None

    async def run(self, job: Callable[[], _T], timeout_s: float) -> _T:
        """Run a job, waiting at most `timeout_s` seconds. Raises KeychainUnavailable for any failure."""
        if self._unanswered is not None and not self._unanswered.done():
            raise KeychainUnavailable(
                _text("the keychain hasn't answered yet; it may be waiting to be unlocked")
            )
        future: Future[object] = Future()
        self._start().put((future, job))
        try:
            async with asyncio.timeout(timeout_s):
                return cast("_T", await asyncio.wrap_future(future))
        except TimeoutError as error:
            self._unanswered = future
            raise KeychainUnavailable(
                _text("the keychain didn't answer within {seconds} s", seconds=f"{timeout_s:g}")
            ) from error

    def close(self) -> None:
        """Stop the thread; wait for it for half a second at most."""
        thread = self._thread
        self._thread = None
        if thread is not None:
            self._jobs.put(None)
            thread.join(_CLOSE_TIMEOUT_S)

    def _start(self) -> queue.SimpleQueue[tuple[Future[object], Callable[[], object]] | None]:
        if self._thread is None:
            self._thread = threading.Thread(
                target=_run_jobs, args=(self._jobs,), name="keychain", daemon=True
            )
            self._thread.start()
        return self._jobs


def _run_jobs(jobs: queue.SimpleQueue[tuple[Future[object], Callable[[], object]] | None]) -> None:
    while (item := jobs.get()) is not None:
        future, job = item
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(job())
        except KeychainUnavailable as error:
            future.set_exception(error)
        except Exception as error:  # noqa: BLE001 - backends of keyring raise whatever their systems raise
            _log.info("the keychain failed: %s", type(error).__name__)
            future.set_exception(KeychainUnavailable(verbatim(f"{type(error).__name__}: {error}")))


def _delete_items(keychain: Keychain, names: Iterable[str]) -> None:
    for name in names:
        # Leftover parts are unreadable without their head.
        with suppress(Exception):
            keychain.delete_password(SERVICE, name)


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise KeychainUnavailable(
            _text("its item {name} can't be read; delete it, then enter the keys again", name=SERVICE)
        )
    return value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


KEYCHAIN_TIMEOUT_S = 20.0
"""Seconds to wait for a keychain, which may be asking the user to unlock it."""

KeySource = Literal["keychain", "environment", "run", "none"]
"""Where a key comes from: `run` is this process's memory."""

_KEY_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


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
        self._environ = environ
        self._timeout_s = timeout_s
        self._this_run: dict[str, str] = {}
        self._keychain_thread = KeychainThread()
        self._keychain_item = KeychainItem(find_keychain)
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
        name = await self.set_all({provider: key})
        return ApiKey(key, "keychain", name) if name else ApiKey(key, "run")

    async def set_all(self, keys: Mapping[str, str]) -> str:
        """Save keys at once, and delete the empty ones; return the keychain's name, empty if none works.

        Then the saved ones are for this run only, and deleted ones may still be in the keychain.
        """
        self._this_run.update(keys)
        for name in [name for name, key in keys.items() if not key]:
            del self._this_run[name]
        try:
            keychain = await self._run_job(lambda: self._keychain_item.change(keys))
        except KeychainUnavailable:
            _log.info("the keychain could not be asked to change keys")
            return ""
        for name in keys:
            self._this_run.pop(name, None)
        return keychain

    async def delete(self, provider: str) -> ApiKey:
        """Delete a key and return what remains: the environment's, or one still in the keychain."""
        await self.set_all({provider: ""})
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
