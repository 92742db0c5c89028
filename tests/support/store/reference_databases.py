"""Reference databases for measurements: the same bytes stored durably in other databases, unchanged."""

from __future__ import annotations

import importlib
import importlib.util
import sqlite3
from pathlib import Path
from typing import Any, Protocol

import plyvel
import zstandard

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import Content

_MAP_SIZE = 16 * 1024**3  # the most an LMDB may grow to, in bytes


class ReferenceDatabase(Protocol):
    """A database used from one thread."""

    name: str

    def write(self, contents: list[Content]) -> None: ...

    def read(self, digest: str) -> bytes: ...

    def close(self) -> None: ...


class RawLevelDb:
    """LevelDB, a synced batch."""

    name = "raw plyvel"

    def __init__(self, folder: Path) -> None:
        self._db: Any = plyvel.DB(
            str(folder), create_if_missing=True, compression=None, write_buffer_size=16 * 1024 * 1024
        )

    def write(self, contents: list[Content]) -> None:
        batch = self._db.write_batch(sync=True)
        for content in contents:
            batch.put(bytes.fromhex(content.digest), content.data)
        batch.write()

    def read(self, digest: str) -> bytes:
        data: bytes = self._db.get(bytes.fromhex(digest))
        return data

    def close(self) -> None:
        self._db.close()


class ContentAddressedLevelDb(RawLevelDb):
    """The minimum that the store's guarantees cost: SHA-256 and zstd on the caller's thread."""

    name = "plyvel with SHA-256 and zstd"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._pack = zstandard.ZstdCompressor(level=1)
        self._unpack = zstandard.ZstdDecompressor()

    def write(self, contents: list[Content]) -> None:
        """Put the bytes, packed, under the digest they have."""
        batch = self._db.write_batch(sync=True)
        for content in contents:
            batch.put(bytes.fromhex(digest_of(content.data)), self._pack.compress(content.data))
        batch.write()

    def read(self, digest: str) -> bytes:
        data = self._unpack.decompress(super().read(digest))
        assert digest_of(data) == digest
        return data


class Sqlite:
    """SQLite with a write-ahead log that is synced at every commit."""

    name = "SQLite"

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._db = sqlite3.connect(folder / "peer.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE contents (digest BLOB PRIMARY KEY, data BLOB)")

    def write(self, contents: list[Content]) -> None:
        self._db.execute("BEGIN")
        rows = [(bytes.fromhex(content.digest), content.data) for content in contents]
        self._db.executemany("INSERT OR IGNORE INTO contents VALUES (?, ?)", rows)
        self._db.execute("COMMIT")

    def read(self, digest: str) -> bytes:
        cursor = self._db.execute("SELECT data FROM contents WHERE digest = ?", (bytes.fromhex(digest),))
        data: bytes = cursor.fetchone()[0]
        return data

    def close(self) -> None:
        self._db.close()


class Lmdb:
    """LMDB, a synced transaction."""

    name = "LMDB"

    def __init__(self, folder: Path) -> None:
        self._env: Any = importlib.import_module("lmdb").open(str(folder), map_size=_MAP_SIZE)

    def write(self, contents: list[Content]) -> None:
        with self._env.begin(write=True) as transaction:
            for content in contents:
                transaction.put(bytes.fromhex(content.digest), content.data)

    def read(self, digest: str) -> bytes:
        with self._env.begin() as transaction:
            data: bytes = transaction.get(bytes.fromhex(digest))
        return data

    def close(self) -> None:
        self._env.close()


def open_reference_databases(folder: Path) -> list[ReferenceDatabase]:
    databases: list[ReferenceDatabase] = [
        RawLevelDb(folder / "raw"),
        ContentAddressedLevelDb(folder / "addressed"),
        Sqlite(folder / "sqlite"),
    ]
    if importlib.util.find_spec("lmdb"):
        databases.append(Lmdb(folder / "lmdb"))
    return databases
