"""Contents, entries and sessions as they cross the store's port."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from helix_desktop.domain.events.session import BranchKind
from helix_desktop.domain.message_counts import MessageCounts
from helix_desktop.domain.store.list_place import ListPlace
from helix_desktop.domain.store.sort_column import SortColumn
from helix_desktop.domain.text_search import MatchSummary

ContentKind = Literal["output", "index", "argument"]
AGENT_KINDS: tuple[ContentKind, ...] = ("output", "argument")
"""Kinds of contents that tools and the agent made, in contrast to our own indexes."""


class EntrySort(msgspec.Struct, frozen=True):
    """An order of entries: equal ones follow newest first when descending, oldest first otherwise."""

    column: SortColumn
    descending: bool = False


EntryOrder = Literal["newest", "oldest"] | EntrySort


class Content(msgspec.Struct, frozen=True):
    """Bytes to be stored under their SHA-256, and what is known of them."""

    digest: str
    data: bytes
    tool: str = ""
    target: str = ""
    first_line: str = ""
    tokens: int = 0
    kind: ContentKind = "output"


class CacheEntry(msgspec.Struct, frozen=True):
    """A stored content without its bytes; sizes in bytes, times in milliseconds since 1970.

    `session` is the one that stored it first; `trashed` is when it went to the trash; 0: it did not.
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

    @property
    def is_estimated(self) -> bool:
        """Return True if its tokens are an estimate: those of an index are not counted."""
        return self.kind == "index"


class EntryPage(msgspec.Struct, frozen=True):
    """Some entries in order, and the cursor of the next page (empty: no more).

    `unindexed` counts the contents of the store whose text is not in the index yet: the pages of a search
    have all of them, whatever they hold.
    """

    entries: tuple[CacheEntry, ...]
    cursor: str = ""
    unindexed: int = 0


class EntryFilter(msgspec.Struct, frozen=True):
    """Which entries are listed or searched; as it is made, all pass but those in the trash.

    `target` is a part of the target, whatever its case; `except_tools` are tools left out. Sizes are in
    bytes, times in milliseconds since 1970, ends included. None: both answers pass.
    """

    prefix: str = ""
    tool: str = ""
    except_tools: tuple[str, ...] = msgspec.field(default=(), name="besides")
    kinds: tuple[ContentKind, ...] = ()
    session: str = ""
    target: str = ""
    min_size: int = msgspec.field(default=0, name="least_size")
    max_size: int | None = msgspec.field(default=None, name="most_size")
    since: int = 0
    until: int | None = None
    unused: bool = False
    orphan: bool = False
    pinned: bool | None = None
    trashed: bool | None = False


DEFAULT_FILTER = EntryFilter()


class ContentHit(msgspec.Struct, frozen=True):
    """A content that holds the words of a search; `cursor` goes on behind it."""

    entry: CacheEntry
    matches: MatchSummary = msgspec.field(name="sighting")  # as it crosses to other versions
    cursor: str


class HandoverHit(msgspec.Struct, frozen=True):
    """A handover or checkpoint that holds the words of a search: session, seq of its event, and where."""

    session: str
    seq: int
    matches: MatchSummary = msgspec.field(name="sighting")  # as it crosses to other versions
    is_checkpoint: bool = False


class SearchResults(msgspec.Struct, frozen=True):
    """What a search found, newest first, and the cursor to go on from (empty: all was searched).

    `unreadable` counts the damaged contents that were skipped, `unindexed` those of the whole store that each
    search has to read, because their text is not in the index yet.
    """

    hits: tuple[ContentHit, ...] = ()
    cursor: str = ""
    unreadable: int = 0
    unindexed: int = 0


class StoreTotals(msgspec.Struct, frozen=True):
    """What a workspace's store holds, its trash included; sizes in bytes before and after compression."""

    entries: int
    size: int
    stored_size: int
    sessions: int


class ReportedUsage(msgspec.Struct, frozen=True):
    """What a model reported of the requests it answered in a session.

    `input` are the tokens of the newest one, for which our count was `estimate`; `ratio` is the model's
    tokens per token of ours over its newest `reports`. `unchanged`: nothing was rewritten since that
    request was sent; `newest`: nothing was said since. `least_input` and `least_estimate` are the same of the
    shortest request among the reported ones; 0 in counts of older versions.
    """

    input: int
    estimate: int
    ratio: float
    reports: int
    unchanged: bool
    newest: bool
    least_input: int = 0
    least_estimate: int = 0


class WindowCount(msgspec.Struct, frozen=True):
    """What of a session stands in its next request, by our own count: enough to tell how full it is.

    `entries` are the tokens of all entries, `images` the part of them that a model without eyes is not sent,
    `reported` what its models reported, by their labels. `quoted` is the room in tokens for the user's words
    that a handover in it was counted with; None: none is in it. `chosen` is the model of this session alone,
    empty where the workspace's answers. `opening` are the tokens of what was told at its start. `policy` has
    the fields of the session's own context policy, as its event; empty where the workspace's manages it.
    """

    entries: int = 0
    images: int = 0
    quoted: int | None = None
    reported: dict[str, ReportedUsage] = msgspec.field(default_factory=dict)
    chosen: str = ""
    opening: int = 0
    policy: dict[str, Any] = msgspec.field(default_factory=dict)


class SessionSummary(msgspec.Struct, frozen=True):
    """A session as the list shows it; always rebuildable from its events.

    `parent` is the session whose subagent it is; `ratios` holds, by model, the provider's tokens per token of
    our count, as its newest reports say; `trashed` is when it went to the trash, 0 when it did not. `spent`
    and `cost` are what its model calls took, in tokens and US dollars, those of its subagents not among them;
    `estimated`: some by our count, `unpriced`: the tokens whose price is not known, which `cost` leaves out;
    None: an older version stored it. `origin` is the session that it continues, `branch_of` the one whose log
    it begins with, up to event `branch_seq`. Of a session that `is_removed` only the part of its log is left
    that branches begin with.
    `used` and `window` are what the gauge said when it was stored; `count` is what it says it from, whichever
    model and policy hold now. None: an older version stored it. `updated` is when it was last used: pinning
    and archiving do not count. `messages` have a text of the user or the agent, `calls` are the tool calls
    with an output. None: an older version stored it, and counted these among the messages. `failure` is what
    the newest turn failed with, and why; empty while one runs, and if none failed. `budget_spent` says that
    it failed because the budget is spent, `stopped` that the user stopped the newest turn.
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
    spent: int = 0
    cost: float = 0.0
    count: WindowCount | None = None
    origin: str = ""
    branch_of: str = ""
    branch_seq: int = 0
    branch_how: BranchKind = ""
    is_removed: bool = False
    pinned: bool = False
    archived: bool = False
    calls: int | None = None
    estimated: bool = False
    failure: tuple[str, ...] = ()
    budget_spent: bool = False
    unpriced: int | None = None
    stopped: bool = False

    @property
    def counts(self) -> MessageCounts | None:
        """Return how much of a conversation it is; None if an older version stored it."""
        return None if self.calls is None else MessageCounts(self.messages, self.calls)

    @property
    def place(self) -> ListPlace:
        """Return where the session is listed."""
        return ListPlace(self.pinned, self.archived)
