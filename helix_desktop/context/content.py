"""Contents, entries and sessions as they cross the store's port."""

from __future__ import annotations

from typing import Literal

import msgspec

ContentKind = Literal["output", "index", "argument"]
Order = Literal["newest", "oldest"]


class Content(msgspec.Struct, frozen=True):
    """Bytes to be stored under their SHA-256, and what is known of them."""

    digest: str
    data: bytes
    tool: str = ""
    target: str = ""
    first_line: str = ""
    tokens: int = 0
    kind: ContentKind = "output"


class Entry(msgspec.Struct, frozen=True):
    """A stored content without its bytes; sizes in bytes, times in milliseconds since 1970.

    `trashed` is when it went to the trash; 0: it did not.
    """

    digest: str
    size: int
    stored_size: int
    tokens: int
    tool: str
    target: str
    first_line: str
    kind: ContentKind
    created: int
    last_used: int
    recalls: int = 0
    references: int = 0
    session: str = ""
    pinned: bool = False
    trashed: int = 0


class Page(msgspec.Struct, frozen=True):
    """Some entries in order, and the cursor of the next page (empty: no more)."""

    entries: tuple[Entry, ...]
    cursor: str = ""


class StoreTotals(msgspec.Struct, frozen=True):
    """What a workspace's store holds, its trash included; sizes in bytes before and after compression."""

    entries: int
    size: int
    stored_size: int
    sessions: int


class SessionSummary(msgspec.Struct, frozen=True):
    """A session as the list shows it; always rebuildable from its events.

    `parent` is the session whose subagent it is; `ratios` holds, by model, the provider's tokens per token of
    our count, as its newest reports say; `trashed` is when it went to the trash, 0 when it did not.
    """

    id: str
    title: str
    created: int
    updated: int
    messages: int = 0
    used: int = 0
    window: int = 0
    model: str = ""
    events: int = 0
    parent: str = ""
    ratios: dict[str, float] = msgspec.field(default_factory=dict)
    trashed: int = 0
