"""What a store holds, takes and gives: contents, entries, sessions, one commit, and readers of contents."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec
from msgspec.structs import astuple

from helix_desktop.domain.choices import SortColumn
from helix_desktop.domain.events.conversation import Attachment, MessageQueued, TurnRetried, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import BranchKind, SessionArchived, SessionBranched, SessionPinned
from helix_desktop.domain.events.summary import checkpoint_in
from helix_desktop.domain.text_search import MatchSummary, normalize
from helix_desktop.domain.translatable_text import TextContext, TranslatableText

_text = TextContext("Session")


class MessageCounts(msgspec.Struct, frozen=True):
    """Messages of the user and of the agent that have a text, and tool calls that have their output."""

    messages: int = 0
    calls: int = 0

    @property
    def text(self) -> TranslatableText:
        """Return both in words: `6 messages, 21 tool calls`; only those that there are any of."""
        messages = _text.plural(self.messages, "%n message", "%n messages")
        if not self.calls:
            return messages
        calls = _text.plural(self.calls, "%n tool call", "%n tool calls")
        return _text("{messages}, {calls}", messages=messages, calls=calls) if self.messages else calls


class SavedCondition(msgspec.Struct, frozen=True):
    """One condition: what it is about, its value, and the name of what that stands for (of a session)."""

    about: str
    value: str = ""
    label: str = ""


class SavedFilter(msgspec.Struct, frozen=True):
    """What the table is narrowed to: words, the session on screen only, conditions."""

    name: str
    text: str = ""
    session_only: bool = False
    conditions: tuple[SavedCondition, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Return all that the user or the workspace wrote in it."""
        values = (word for condition in self.conditions for word in (condition.value, condition.label))
        return self.name, self.text, *values


PLACE_EVENTS = (SessionPinned, SessionArchived)
"""What moves a session in the list and changes nothing else: it does not count as a use of the session."""


def is_no_use(event: Event) -> bool:
    """Return True if an event is no use of the session: it moves it in the list, or is a checkpoint."""
    return isinstance(event, PLACE_EVENTS) or checkpoint_in(event) is not None


class ListPlace(msgspec.Struct, frozen=True):
    """If the user pinned a session to the top of the list, and if they archived it: that outranks a pin."""

    pinned: bool = False
    archived: bool = False

    @property
    def rank(self) -> int:
        """Return the order of the groups: 0 pinned, 1 dated, 2 archived."""
        if self.archived:
            return 2
        return 0 if self.pinned else 1

    def after(self, event: Event) -> ListPlace:
        """Return the place after one more event of the session's log.

        What the user sends brings a session back from the archive; what waited in its queue was sent before.
        A branch begins in no group of its parent's.
        """
        match event:
            case SessionPinned(pinned=pinned):
                return ListPlace(pinned, self.archived)
            case SessionArchived(archived=archived):
                return ListPlace(self.pinned, archived)
            case UserSpoke(queued=0) | MessageQueued() | TurnRetried() if self.archived:
                return ListPlace(self.pinned)
            case SessionBranched():
                return ListPlace()
        return self

    def is_below(self, parent: ListPlace) -> bool:
        """Return True if a branch at this place is listed below its parent, not in a group of its own.

        A pin takes along what is below it. The archive takes the session alone, as the trash does: what is
        still in use must not leave the list with the session that it began with.
        """
        if self.archived or parent.archived:
            return self.archived and parent.archived
        return parent.pinned or not self.pinned


ContentKind = Literal["output", "index", "argument", "record"]
"""`record`: of another agent's session, what is kept as data: no output of a tool, but recalled as one."""
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


class EntryRecord(msgspec.Struct, frozen=True, array_like=True):
    """What is said of a stored content; sizes in bytes, times in milliseconds since 1970.

    `session` is the one that stored it first; `trashed` is when it went to the trash; 0: it did not.
    It is stored as a list in this order: fields are only added, last and with a default.
    """

    created: int
    last_used: int
    size: int
    stored_size: int
    tokens: int
    tool: str
    target: str
    first_line: str
    kind: ContentKind
    recalls: int = 0
    references: int = 0
    session: str = ""
    pinned: bool = False
    trashed: int = 0

    def to_entry(self, digest: str) -> CacheEntry:
        return CacheEntry(*astuple(self), digest=digest)

    @property
    def is_estimated(self) -> bool:
        """Return True if its tokens are an estimate: those of an index are not counted."""
        return self.kind == "index"


class CacheEntry(EntryRecord, frozen=True, kw_only=True, array_like=False):
    """The record of a stored content with its digest."""

    digest: str


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

    def __add__(self, change: StoreTotals) -> StoreTotals:
        return StoreTotals(
            self.entries + change.entries,
            self.size + change.size,
            self.stored_size + change.stored_size,
            self.sessions + change.sessions,
        )


NO_TOTALS = StoreTotals(0, 0, 0, 0)


class ReportedUsage(msgspec.Struct, frozen=True):
    """What a model reported of the requests it answered in a session.

    `input` are the tokens of the newest one, for which our count was `estimate`; `ratio` is the model's
    tokens per token of ours over its newest `reports`. `unchanged`: nothing was rewritten since that
    request was sent; `newest`: nothing was said since. `least_input` and `least_estimate` are the same of the
    shortest request among the reported ones.
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

    `entries` are the tokens of all entries, `images` what markers in place of images save of them, `reported`
    what its models reported, by their labels. `quoted` is the room in tokens for the user's words
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
    None: not counted yet, as of an import or a new branch. `origin` is the session that it continues,
    `branch_of` the one whose log it begins with, up to event `branch_seq`. Of a session that `is_removed`
    only the part of its log is left that branches begin with. `used` and `window` are what the gauge said
    when it was stored; `count` is what it says it from, whichever model and policy hold now; None: not
    counted yet. `updated` is when it was last used: pinning and archiving do not count. `messages` have a
    text of the user or the agent, `calls` are the tool calls with an output; None: not counted yet, after a
    repair. `failure` is what the newest turn failed with, and why; empty while one runs, and if none failed.
    `budget_spent` says that it failed because the budget is spent, `stopped` that the user stopped the newest
    turn, `interrupted` that it runs, or ended with the app and the user has not seen that yet.
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
    interrupted: bool = False

    @property
    def counts(self) -> MessageCounts | None:
        """Return how much of a conversation it is; None if it is not counted yet."""
        return None if self.calls is None else MessageCounts(self.messages, self.calls)

    @property
    def place(self) -> ListPlace:
        return ListPlace(self.pinned, self.archived)

    @property
    def is_version(self) -> bool:
        """Return True if an edit or a retry made it: lists show it as a version of its parent."""
        return bool(self.branch_of) and self.branch_how in ("edit", "retry")


NEWEST = EntrySort("created", descending=True)
OLDEST = EntrySort("created")
_KEY_CHARACTERS = 120  # of a text, by which it is sorted
_TIE_DIGITS = 16  # of a digest: they tell apart what was stored in the same millisecond
_MAX_TIEBREAK = 2**63 - 1  # of the whole numbers that a database takes

Position = tuple[int | str, ...]
"""The sort key of an entry: the column's value, then its age and a part of its digest."""


def matches_filter(entry: CacheEntry, entry_filter: EntryFilter) -> bool:
    return (
        entry.digest.startswith(entry_filter.prefix)
        and (not entry_filter.tool or entry.tool == entry_filter.tool)
        and entry.tool not in entry_filter.except_tools
        and (not entry_filter.kinds or entry.kind in entry_filter.kinds)
        and (not entry_filter.session or entry.session == entry_filter.session)
        and (not entry_filter.target or normalize(entry_filter.target) in normalize(entry.target))
        and entry.size >= entry_filter.min_size
        and (entry_filter.max_size is None or entry.size <= entry_filter.max_size)
        and entry.created >= entry_filter.since
        and (entry_filter.until is None or entry.created <= entry_filter.until)
        and not (entry_filter.unused and entry.recalls)
        and not (entry_filter.orphan and entry.references)
        and entry_filter.pinned in (None, entry.pinned)
        and entry_filter.trashed in (None, bool(entry.trashed))
    )


def sort_position(entry: CacheEntry, column: SortColumn) -> Position:
    """Return the sort key of an entry; no two entries have the same."""
    if column == "digest":
        return (entry.digest,)
    ends = (entry.created, tiebreak(entry.digest))
    if column == "created":
        return ends
    return (_sorted_value(entry, column), *ends)


def _sorted_value(entry: CacheEntry, column: SortColumn) -> int | str:
    match column:
        case "target":
            return text_key(entry.target)
        case "line":
            return text_key(entry.first_line)
        case "used":
            return entry.last_used
        case "stored":
            return entry.stored_size
        case "created" | "size" | "tokens" | "recalls" | "references" | "tool" | "digest":
            value: int | str = getattr(entry, column)
            return value


def tiebreak(digest: str) -> int:
    """Return a 64-bit number that decreases with the digest's order."""
    return _MAX_TIEBREAK - int(digest[:_TIE_DIGITS], 16)


def text_key(text: str) -> str:
    """Return the key by which a text is sorted and compared, regardless of case."""
    return normalize(text)[:_KEY_CHARACTERS]


class SessionVersions:
    """Which sessions are versions of one: an edit or a retry makes one, which has no row of its own in lists.

    Branches and rewinds are sessions of their own. A version whose parent is not listed is one of those that
    have the same parent.
    """

    def __init__(self, listed: Iterable[SessionSummary]) -> None:
        by_id = {summary.id: summary for summary in listed}
        self.groups: dict[str, tuple[SessionSummary, ...]] = {}  # by id of each that has other versions
        members: dict[str, list[SessionSummary]] = {}
        for summary in by_id.values():
            if not summary.is_version:
                continue
            origin = summary
            seen = {summary.id}
            while origin.is_version and origin.branch_of in by_id and origin.branch_of not in seen:
                origin = by_id[origin.branch_of]
                seen.add(origin.id)
            first = origin.branch_of if origin.is_version and origin.branch_of not in seen else origin.id
            members.setdefault(first, []).append(summary)
        for first, group in members.items():
            versions = [*group, by_id[first]] if first in by_id else group
            if len(versions) > 1:
                ordered = tuple(sorted(versions, key=lambda summary: (summary.created, summary.id)))
                self.groups |= dict.fromkeys((summary.id for summary in ordered), ordered)

    def of(self, summary: SessionSummary) -> tuple[SessionSummary, ...]:
        """Return all versions of a listed session, oldest first; itself alone where there are no others."""
        return self.groups.get(summary.id, (summary,))

    def ids_of(self, session_id: str) -> tuple[str, ...]:
        """Return the ids of all versions of a session, oldest first, its own among them."""
        return tuple(summary.id for summary in self.groups.get(session_id, ())) or (session_id,)

    def row_of(self, summary: SessionSummary) -> SessionSummary:
        """Return the version that a list shows: the one that was used last."""
        group = self.groups.get(summary.id)
        if group is None:  # as are most of 10,000
            return summary
        return max(group, key=lambda version: (version.updated, version.created, version.id))

    def place_of(self, summary: SessionSummary) -> ListPlace:
        """Return where a session is listed: older apps pinned and archived each version alone."""
        if summary.id not in self.groups:
            return summary.place
        places = [version.place for version in self.of(summary)]
        return ListPlace(any(place.pinned for place in places), all(place.archived for place in places))

    def parent_of(self, summary: SessionSummary) -> str:
        """Return the session that a session with its versions branched from; empty if from none."""
        first = self.of(summary)[0]
        return "" if first.is_version else first.branch_of


def log_parts(session_id: str, last_seq: int, by_id: Mapping[str, SessionSummary]) -> dict[str, int]:
    """Return the sessions that a log is made of, each with the last event that it takes from it."""
    parts: dict[str, int] = {}
    while session_id and session_id not in parts:
        parts[session_id] = last_seq
        summary = by_id.get(session_id)
        if summary is None:
            break
        last_seq = min(last_seq, summary.branch_seq)
        session_id = summary.branch_of
    return parts


def versions_with(by_id: Mapping[str, SessionSummary], session_id: str, seq: int) -> list[str]:
    """Return the versions of a session whose logs have its event `seq`, oldest first; 0: any of its log."""
    versions = SessionVersions(by_id.values()).ids_of(session_id)
    return [each for each in versions if log_parts(each, seq, by_id).get(session_id, -1) >= seq]


class TreeRow(msgspec.Struct, frozen=True):
    """A session in a list, how many of its ancestors are listed above it, and the ids of its versions."""

    depth: int
    summary: SessionSummary
    versions: tuple[str, ...] = ()


def session_tree(
    summaries: Sequence[SessionSummary], *, with_versions: bool = False, with_archived: bool = True
) -> list[TreeRow]:
    """Return the sessions that are no subagents', each before its branches, of them the newest first.

    A branch whose parent is not among them, or is listed elsewhere (`ListPlace.is_below`), stands at the top.
    A tree is as new as the newest in it; pinned ones come first, archived ones last. Of several versions the
    one used last is listed, or each `with_versions`.
    """
    versions = SessionVersions(summary for summary in summaries if not summary.parent)
    rows_of = {
        summary.id: summary if with_versions else versions.row_of(summary)
        for summary in summaries
        if not summary.parent
    }
    listed = {row.id: row for row in rows_of.values() if with_archived or not versions.place_of(row).archived}
    places = {session_id: versions.place_of(row) for session_id, row in listed.items()}
    above: dict[str, str] = {}
    for session_id, row in listed.items():
        origin = rows_of.get(row.branch_of if with_versions else versions.parent_of(row))
        above[session_id] = origin.id if origin is not None else ""
    parents = _listed_parents(above, places)
    newest = {
        session_id: max(version.updated for version in versions.of(listed[session_id]))
        for session_id in parents
    }
    for session_id, parent in reversed(parents.items()):
        if parent:
            newest[parent] = max(newest[parent], newest[session_id])
    branches: dict[str, list[str]] = {}
    for session_id, parent in sorted(
        parents.items(), key=lambda pair: (-places[pair[0]].rank, newest[pair[0]], pair[0])
    ):
        branches.setdefault(parent, []).append(session_id)
    rows: list[TreeRow] = []
    waiting = [(session_id, 0) for session_id in branches.get("", ())]
    while waiting:
        session_id, depth = waiting.pop()
        rows.append(TreeRow(depth, listed[session_id], versions.ids_of(session_id)))
        waiting += [(branch, depth + 1) for branch in branches.get(session_id, ())]
    return rows


def related_branches(summaries: Sequence[SessionSummary], session_id: str) -> list[SessionSummary]:
    """Return the sessions that share a beginning with one, directly or through others; not itself."""
    related = {session_id}
    size = 0
    while len(related) > size:
        size = len(related)
        for summary in summaries:
            if summary.branch_of and (summary.id in related or summary.branch_of in related):
                related |= {summary.id, summary.branch_of}
    return [summary for summary in summaries if summary.id in related and summary.id != session_id]


def _listed_parents(above: Mapping[str, str], places: Mapping[str, ListPlace]) -> dict[str, str]:
    """Return the listed parent of each session, empty for none, with parents before their branches.

    `above` has the session that each branched from, listed or not. One of those that would be each other's
    ancestors has none.
    """
    children: dict[str, list[str]] = {}
    for session_id, parent in above.items():
        is_below = parent in above and places[session_id].is_below(places[parent])
        children.setdefault(parent if is_below else "", []).append(session_id)
    parents: dict[str, str] = {}
    for root in (*children.get("", ()), *above):
        waiting = [] if root in parents else [root]
        parents.setdefault(root, "")
        while waiting:
            session_id = waiting.pop()
            found = [child for child in children.get(session_id, ()) if child not in parents]
            parents |= dict.fromkeys(found, session_id)
            waiting += found
    return parents


class ContentReader(Protocol):
    """The contents of one workspace, and of no other. Every method may raise StoreClosed."""

    async def get(self, digest: str) -> bytes:
        """Return a full digest's verified bytes. Raises DigestUnknown (with near matches), ContentDamaged."""
        ...

    async def entry(self, digest: str) -> CacheEntry:
        """Return a content's metadata. Raises DigestUnknown."""
        ...

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """Return the digests that begin with `prefix` (1 to 64 hex digits), in order, at most `limit`."""
        ...

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: EntryOrder = "newest",
        prefix: str = "",
        entry_filter: EntryFilter = DEFAULT_FILTER,
    ) -> EntryPage:
        """Return entries that match a filter, in an order or (with a prefix) by digest, from a cursor on.

        Raises ValueError for the cursor of another order.
        """
        ...

    async def tools(self) -> tuple[str, ...]:
        """Return the names of all tools that stored an entry, in order."""
        ...

    async def search(
        self,
        query: str,
        entry_filter: EntryFilter = DEFAULT_FILTER,
        limit: int = 20,
        cursor: str = "",
        should_continue: Callable[[int], bool] = lambda _: True,
    ) -> SearchResults:
        """Return the newest contents that hold all words of a query, from a cursor on; each is read.

        Ends at `limit` hits or when `should_continue`, called with the size of the next content, returns
        False. Raises InvalidInput for a query without words, ValueError for an invalid cursor.
        """
        ...

    async def sessions(self) -> list[SessionSummary]:
        """Return all sessions except those in the trash, last updated first."""
        ...

    async def totals(self) -> StoreTotals: ...


class PartialOutput(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of what a running call has printed so far.

    `duration_ms` is for how many milliseconds it had run when this was saved.
    """

    call_id: str
    text: str
    duration_ms: int = 0


class Draft(msgspec.Struct, frozen=True, omit_defaults=True):
    """An unsent message: its text and attachments.

    With it is stored what came so far of an answer: as it would be recorded, with the seq of the event that
    it follows; and what running calls printed.
    """

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    partial_answer: RecordedEvent | None = None
    partial_outputs: tuple[PartialOutput, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text or self.attachments)

    @property
    def digests(self) -> frozenset[str]:
        """The digests of the stored contents it refers to; clean-ups must keep them."""
        image_digests = {
            attachment.image.digest for attachment in self.attachments if attachment.image is not None
        }
        return frozenset(image_digests | {attachment.digest for attachment in self.attachments})

    @property
    def size(self) -> int:
        """The length of the message's texts, in characters."""
        return len(self.text) + sum(len(attachment.text) for attachment in self.attachments)


def without_partial_answer(draft: Draft) -> Draft:
    return msgspec.structs.replace(draft, partial_answer=None)


class BranchPoint(msgspec.Struct, frozen=True):
    """The session whose log a branch begins with, and the last event that the two share."""

    parent: str
    seq: int


def point_in(recorded: RecordedEvent) -> BranchPoint | None:
    """Return the point at which an event begins a branch; None for any other event."""
    event = recorded.event
    if not isinstance(event, SessionBranched) or recorded.seq != event.seq + 1:
        return None
    return BranchPoint(event.parent, event.seq)


def listed_session(
    session_id: str, seq: int, hidden: Container[str], points: Mapping[str, BranchPoint]
) -> str:
    """Return a session that has event `seq` of `session_id` and is not hidden: itself, or a branch of it."""
    if session_id not in hidden:
        return session_id
    having = {session_id}
    for _ in points:
        more = {
            name for name, point in points.items() if point.parent in having and seq <= point.seq
        } - having
        if not more:
            break
        having |= more
    return min((name for name in having if name not in hidden), default=session_id)


_EVENT_BYTES = 512  # size in bytes assumed for an event when queued work is bounded


class Commit(msgspec.Struct, frozen=True, array_like=True):
    """Events, contents, recalled contents and the summary of one session: all of it is stored, or nothing.

    With `ends_partial_answer`, what was saved of an answer that was still being received is deleted.
    It crosses the wire as a list in this order: fields are only added, last and with a default.
    """

    session_id: str
    events: Sequence[RecordedEvent] = ()
    contents: Sequence[Content] = ()
    recalls: Sequence[str] = ()
    summary: SessionSummary | None = None
    ends_partial_answer: bool = False

    def __post_init__(self) -> None:
        """Keep what was passed, whatever the caller does with its lists meanwhile."""
        for name in ("events", "contents", "recalls"):
            msgspec.structs.force_setattr(self, name, tuple(getattr(self, name)))

    @property
    def size(self) -> int:
        """Return the approximate size in memory, in bytes."""
        return _EVENT_BYTES * (1 + len(self.events)) + sum(len(content.data) for content in self.contents)

    @property
    def is_empty(self) -> bool:
        return not (self.events or self.contents or self.recalls or self.summary)

    @property
    def changes_session(self) -> bool:
        """Return True if the session itself changes: its log, or its place in the list."""
        return bool(self.events or self.summary)
