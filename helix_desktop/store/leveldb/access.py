"""What the parts of an open store share: its rows and contents, its threads, its clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.system.clock import ClockMs

T = TypeVar("T")


class RunQuery(Protocol):
    """Run a query on the stored rows, on a reader's thread."""

    def __call__(self, query: Callable[[ReadView], T], /) -> Awaitable[T]:
        """Return the result of `query`."""
        ...


class WriteRows(Protocol):
    """Have rows staged and written durably, on the writer's thread."""

    def __call__(self, stage: Callable[[WriteBatch], Any], size: int = 0, /) -> Awaitable[None]:
        """Return once they are durable; `size` is their approximate size in bytes."""
        ...


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """One open store, as its parts read and write it."""

    run_query: RunQuery
    write: WriteRows
    database: Database
    contents: ContentStore
    clock: ClockMs
