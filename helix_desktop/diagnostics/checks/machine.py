"""Check what the program finds on this machine, and what it writes there."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import sqlite3
import ssl
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from helix_desktop.config.paths import DataDir
from helix_desktop.config.secrets import Keychain, SecretStore, system_keychain
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext, join_sentences

text = TextContext("Self-check")

_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")  # how OpenSSL names the certificates of a folder
_AGAIN = text("Reinstall Helix Desktop.")
_RG_S = 20.0
_STORE_BYTES = 100_000
PROBE = "helix-desktop-self-check"
"""The provider under whose name the key is stored: no real one."""


async def store() -> str:
    """Check a round trip through a real LevelDB that is closed and opened again in between."""
    from helix_desktop.domain.digest import digest_of
    from helix_desktop.domain.store import Commit, Content
    from helix_desktop.store.leveldb_store import LevelDbStore

    data, workspace_id = os.urandom(_STORE_BYTES), "00000000-0000-4000-8000-000000000000"
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            database = await LevelDbStore.open(Path(folder) / "store", workspace_id)
            await database.commit(Commit("self-check", contents=[Content(digest_of(data), data)]))
            read_back = await database.get(digest_of(data))
            await database.close()
            if read_back != data:
                raise HelixError(text("LevelDB returned different bytes than were written."))
    return text("{count} bytes written, closed, read back and verified", count=_STORE_BYTES)


async def search() -> str:
    """Check that ripgrep runs and SQLite finds parts of words."""
    from helix_desktop.tools.process import find_ripgrep

    program = find_ripgrep()
    if program is None:
        raise HelixError(text("ripgrep is missing."), fix=_AGAIN)
    child = await asyncio.create_subprocess_exec(
        *(program, "--version"), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(_RG_S):
        output, _ = await child.communicate()
    if child.returncode or not output.startswith(b"ripgrep "):
        raise HelixError(
            text("{program} doesn't run.", program=program),
            text("It exited with code {code}.", code=str(child.returncode)),
            _AGAIN,
        )
    await asyncio.to_thread(_check_text_index)
    version = output.decode().splitlines()[0]
    return text("{version} in {program}; SQLite with trigrams", version=version, program=program)


def _check_text_index() -> None:
    index = sqlite3.connect(":memory:")
    try:
        index.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram')")
        index.execute("INSERT INTO t VALUES ('nothing is ever lost')")
        if index.execute("SELECT count(*) FROM t WHERE t MATCH 'eve'").fetchone() != (1,):
            raise HelixError(text("SQLite's index doesn't find parts of words."))
    finally:
        index.close()


async def sandbox() -> str:
    """Return the sandbox of the agent's commands; having none is no fault of the installation."""
    from helix_desktop.services.tool_service import NO_SANDBOX_ADVICE
    from helix_desktop.tools.shell.sandbox import describe_sandbox
    from helix_desktop.tools.shell.sandbox_detect import find_sandbox

    kind = (await asyncio.to_thread(find_sandbox)).kind
    description = describe_sandbox(kind, network=kind == "none")
    return join_sentences(description, NO_SANDBOX_ADVICE) if kind == "none" else description


async def certificates() -> str:
    """Check that the trust store for TLS has authorities."""
    from helix_desktop.providers.http import certificates as trusted

    if sys.platform == "darwin":
        await asyncio.to_thread(trusted)
        return text("checked by the system")
    count = await asyncio.to_thread(lambda: _count_authorities(trusted()))
    if not count:
        raise HelixError(
            text("No certificate authorities found."),
            text("Without them, no server can be trusted."),
            text("Install {package}.", package="ca-certificates")
            if sys.platform == "linux"
            else text("Repair the system's trust store."),
        )
    return text.plural(count, "%n certificate authority", "%n certificate authorities")


def _count_authorities(context: ssl.SSLContext) -> int:
    """Count the authorities that a context trusts: loaded ones, and those it would load from a folder."""
    # The store is attached when a connection is prepared, not before.
    context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
    openssl_context = vars(context).get(
        "_ctx", context
    )  # truststore's context tells nothing of what it holds
    loaded = len(openssl_context.get_ca_certs()) or len(ssl.create_default_context().get_ca_certs())
    folder = ssl.get_default_verify_paths().capath
    hashed_files = [name for name in os.listdir(folder) if _HASHED.fullmatch(name)] if folder else []
    return loaded or len(hashed_files)


def data(data_dir: DataDir) -> Callable[[], Awaitable[str]]:
    """Return the check that a data directory can be created and written."""

    async def check() -> str:
        data_dir.ensure()
        return text("{folder} is writable", folder=data_dir.root)

    return check


async def keys() -> str:
    """Return the keychain's name without writing to it; having none is no fault of the installation."""
    secret_store = SecretStore(os.environ)
    try:
        name = await secret_store.keychain_name()
    finally:
        secret_store.close()
    return name or text(
        "no keychain ({problem}); keys come from the environment or last for one run",
        problem=secret_store.problem,
    )


async def try_keychain(find: Callable[[], Keychain] = system_keychain) -> str:
    """Store, read and delete a key; return where. Raises HelixError if the keychain fails at any of it."""
    value = f"probe-{os.getpid()}-{secrets.token_hex(8)}"
    # Each knows nothing but what is kept when it asks.
    writer, reader, checker = (SecretStore({}, find) for _ in range(3))
    try:
        saved = await writer.set(PROBE, value)
        if saved.source == "run":
            raise HelixError(
                text("The keychain didn't save a key: {problem}.", problem=writer.problem),
                fix=text("Unlock the keychain, or start one."),
            )
        read_back = await reader.get(PROBE)
        await reader.delete(PROBE)
        remaining = await checker.get(PROBE)
    finally:
        for secret_store in (writer, reader, checker):
            secret_store.close()
    if read_back.value != value:
        raise HelixError(text("The keychain returned a different key than was saved."))
    if remaining.value:
        raise HelixError(text("The keychain didn't delete a key."))
    return text("a key was saved, read back and deleted (keychain: {name})", name=saved.name)
