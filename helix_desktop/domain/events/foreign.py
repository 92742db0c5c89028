"""The events of a session that another agent wrote: its origin, its compactions, what is kept as data."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.events.session import EventBase
from helix_desktop.domain.messages import Usage


class SessionImported(EventBase, frozen=True, tag="session-imported"):
    """The session is another agent's: `source` is its id there, `folder` the project it worked in.

    `version` is that of the agent, as it wrote it; empty where it did not.
    """

    agent: ForeignAgent
    source: str
    folder: str = ""
    version: str = ""


class RecordCount(msgspec.Struct, frozen=True):
    """Records of one kind, or parts of records, for which a session has no place: kept as data.

    `is_known` is False for a kind that this version does not know.
    """

    kind: str
    count: int
    is_known: bool = True


class ForeignRecords(EventBase, frozen=True, tag="foreign-records"):
    """Records of the other agent that are kept as data: JSON lines, stored under `digest`.

    With `records` an import ended here: it had read so many records of the source, which was being written:
    `waiting` of them stood before the record that they follow, and wait for it. `damaged` of them could
    not be read, in the lines `damaged_lines` (the first ones). `usage` and `cost` (in US dollars) are what
    the other agent said that its model calls took since the event before of this kind, `requests` how many
    of them said so, and `window` the context window of its model in tokens; 0: it said none.
    """

    digest: str = ""
    size: int = 0
    by_kind: tuple[RecordCount, ...] = ()
    records: int = 0
    damaged: int = 0
    damaged_lines: tuple[int, ...] = ()
    usage: Usage | None = None
    cost: float = 0.0
    waiting: int = 0
    window: int = 0
    requests: int = 0


class ForeignCompaction(EventBase, frozen=True, tag="foreign-compaction"):
    """The other agent compacted its context here: what stood before this event became `summary`.

    Nothing leaves the context of this session for it. `before` are the tokens in context before, as that
    agent counted them; 0: not recorded. `trigger` is its own word for what started it. The summary is empty
    where it is encrypted or was not recorded.
    """

    summary: str = ""
    tokens: int = 0
    before: int = 0
    trigger: str = ""
