"""Where cached contents come from, and what a recall names: a content by its hash, or entries by number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.digest import HEX_DIGITS, MIN_PREFIX, SHORT_DIGITS, is_digest_prefix
from helix_desktop.domain.errors import ContentRedacted, StoreError, ToolError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.files.file_use import tool_kind
from helix_desktop.domain.store import CacheEntry, ContentReader, SessionSummary
from helix_desktop.domain.text_format import ellipsize, format_bytes, utc_minute
from helix_desktop.domain.unicode_safety import escape_hidden_name

_TITLE_CAP = 40  # characters
_COMMAND_CAP = 80  # characters
_NO_END = 2**63  # of a log: more events than any has


class CallingSession(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def transcript(self) -> Transcript: ...


class Origin(msgspec.Struct, frozen=True):
    """Where a content arose, as far as it is known.

    `seq` and `turn` are of the calling session, 0 elsewhere. `session_name`: `this session`, or another
    by its title. `changed_by` is the event since which the content is out of date; 0: none is known.
    """

    seq: int = 0
    turn: int = 0
    at_ms: int = 0
    session_name: str = ""
    changed_by: int = 0

    @property
    def place(self) -> str:
        """Return event, time and session as one phrase; empty if nothing is known."""
        time = f"{self.time} UTC" if self.time else ""
        return ", ".join(part for part in (self.event, time, self.session_name) if part)

    @property
    def time(self) -> str:
        """Return when it arose, in UTC, with the year if it was not in the calling session; may be empty."""
        return utc_minute(self.at_ms, with_year=not self.seq) if self.at_ms else ""

    @property
    def event(self) -> str:
        """Return the number of the event; empty if it is not of the calling session."""
        return f"e{self.seq}" if self.seq else ""

    @property
    def change(self) -> str:
        """Return since which event the content is out of date; empty if none is known."""
        return f"changed since (e{self.changed_by})" if self.changed_by else ""


class Origins:
    """Where contents arose, as the calling session's log and the store tell it. For one call of a tool."""

    def __init__(self, contents: ContentReader, session: CallingSession | None) -> None:
        """Without a calling session only what the store tells is known."""
        self._contents = contents
        self._session = session
        self._seqs: dict[str, int] | None = None
        self._indexes: dict[str, str] | None = None  # of the caller's rewrites, and whose events they number
        self._listed: dict[str, SessionSummary] | None = None

    @property
    def session(self) -> CallingSession | None:
        return self._session

    @property
    def transcript(self) -> Transcript | None:
        return self._session.transcript if self._session is not None else None

    @property
    def continued(self) -> HandoverMade | None:
        """Return the handover of an earlier session that the calling one began with, if it has an index."""
        origin = self.transcript.origin if self.transcript is not None else None
        return origin if origin is not None and origin.index else None

    def is_of_caller(self, session_id: str) -> bool:
        return self._session is not None and session_id == self._session.id

    def session_of_index(self, entry: CacheEntry) -> str:
        """Return the session whose events an index numbers: the one that stored it, or went on in it.

        What a branch's parent noted before the branch left it is the branch's own.
        """
        if self._session is None:
            return entry.session
        if self._indexes is None:
            rewrites = self._session.transcript.rewrites
            self._indexes = {
                rewrite.index: getattr(rewrite, "origin", "") or self._session.id
                for rewrite in (*rewrites.by_seq.values(), *rewrites.observations.values())
                if isinstance(rewrite, FoldMade | HandoverMade | ObservationsMade)
            }
        return self._indexes.get(entry.digest, entry.session)

    async def shared_end(self, session_id: str) -> int:
        """Return the last event that another session's log shares with the caller's; 0 if it shares none."""
        if self._session is None or self.is_of_caller(session_id):
            return 0
        summaries = await self._summaries()
        ends = self._session.transcript.ancestors | {self._session.id: _NO_END}
        upto = _NO_END
        while session_id not in ends and session_id in summaries:
            summary = summaries[session_id]
            upto = min(upto, summary.branch_seq)
            session_id = summary.branch_of
        return min(upto, ends.get(session_id, 0))

    def digests(self, prefix: str) -> list[str]:
        """Return the contents that arose in the calling session and begin with these hex digits."""
        return [digest for digest in self._by_digest() if digest.startswith(prefix)]

    def _by_digest(self) -> dict[str, int]:
        """Return the newest event in which each content came up; what was recalled came up earlier."""
        if self._seqs is None:
            seqs = self._seqs = {}
            for item in self.transcript.messages.items if self.transcript is not None else ():
                event = item.event
                if isinstance(event, ToolAnswered):
                    if not event.recalled:
                        seqs[event.digest] = item.seq
                        seqs.update((image.digest, item.seq) for image in event.images)
                elif isinstance(event, AssistantSpoke):
                    for call in event.short:
                        seqs.update((digest, item.seq) for digest in call.digests)
                else:
                    seqs.update((attachment.digest, item.seq) for attachment in event.attachments)
                    if event.short is not None:
                        seqs.update((digest, item.seq) for digest in event.short.digests)
            seqs.pop("", None)
        return self._seqs

    def of_event(self, seq: int, digest: str = "") -> Origin:
        item = self.transcript.messages.item(seq) if self.transcript is not None else None
        if item is None or self.transcript is None:
            return Origin()
        changed_by = self.transcript.stale_digests.get(digest, 0)
        return Origin(seq, item.turn, item.at_ms, "this session", changed_by)

    async def of_content(self, entry: CacheEntry) -> Origin:
        """Return where a content arose: in the calling session if it did there, else where it was stored."""
        if seq := self._by_digest().get(entry.digest, 0):
            return self.of_event(seq, entry.digest)
        return Origin(at_ms=entry.created, session_name=await self.name_of(entry.session))

    async def name_of(self, session_id: str) -> str:
        """Return `this session`, or another one's title as a phrase; empty if it is not known."""
        if not session_id:
            return ""
        if self.is_of_caller(session_id):
            return "this session"
        summary = (await self._summaries()).get(session_id)
        title = escape_hidden_name(summary.title) if summary is not None else ""
        return f"session “{ellipsize(title, _TITLE_CAP)}”" if title else ""

    async def _summaries(self) -> dict[str, SessionSummary]:
        if self._listed is None:
            self._listed = {summary.id: summary for summary in await self._contents.sessions()}
        return self._listed


def heading(entry: CacheEntry, origin: Origin) -> str:
    """Return the line that a recalled content begins with: what it is and where it arose."""
    parts = (content_name(entry), origin.place, origin.change)
    return " · ".join((f"Recalled {entry.digest[:SHORT_DIGITS]}", *filter(None, parts)))


def content_name(entry: CacheEntry) -> str:
    """Return tool and target of a content on one line; a path is never cut, a long command is."""
    target = " ".join(entry.target.split())
    if tool_kind(entry.tool) == "command":
        target = ellipsize(target, _COMMAND_CAP)
    return escape_hidden_name(f"{entry.tool} {target}".strip()) or entry.kind


_ENTRIES = re.compile(r"(?:([0-9a-f]{8,64})[\s,:]+)?e(\d{1,6})(?:\s*[-–]\s*e?(\d{1,6}))?")
_MAX_NEAR = 5
_NEAR_PREFIX = 4


class EntryRange(msgspec.Struct, frozen=True):
    """The entries `first` to `last`: of the calling session, or of those that an index covers."""

    first: int
    last: int
    index: str = ""

    @property
    def text(self) -> str:
        """Return the range as it stands in notes: `e39` or `e39-e45`."""
        return f"e{self.first}" if self.first == self.last else f"e{self.first}-e{self.last}"


def parse_handle(text: str) -> str | EntryRange:
    """Return the digits of a hash, or the entries that a text names. Raises ToolError for anything else."""
    plain = text.strip().strip("\"'`").rstrip("….").lower()
    if match := _ENTRIES.fullmatch(plain):
        first = int(match[2])
        last = int(match[3] or match[2])
        if last < first:
            raise ToolError(f"{text[:80]!r} ends before it begins.", fix=f"Write e{last}-e{first}.")
        return EntryRange(first, last, match[1] or "")
    if is_digest_prefix(plain) and MIN_PREFIX <= len(plain) <= HEX_DIGITS:
        return plain
    raise ToolError(
        f"{text[:80]!r} is not a hash of cached content.",
        "A hash is the hex digits in a [CACHED] marker, 8 or more of them; an entry is a number such as e39.",
        "Copy it from the marker, or find it by words with search_cached_content.",
    )


class HandleResolver:
    def __init__(self, contents: ContentReader, origins: Origins) -> None:
        self._contents = contents
        self._origins = origins

    async def resolve(self, prefix: str) -> str:
        """Return the digest. Raises ToolError, with the candidates if there are several, or near ones."""
        digests = await self._contents.find(prefix, _MAX_NEAR + 1)
        if len(digests) == 1:
            return digests[0]
        if not digests:
            await self._check_redacted(prefix)
        raise await self._lookup_error(prefix, digests)

    async def _check_redacted(self, prefix: str) -> None:
        """Raise ToolError if the user had it removed, with the new hash of an index entry that named it."""
        for digest in [prefix] if len(prefix) == HEX_DIGITS else self._origins.digests(prefix):
            try:
                await self._contents.get(digest)
            except ContentRedacted as error:
                raise ToolError(error.what, error.why, error.fix) from error
            except StoreError:
                pass

    async def _lookup_error(self, prefix: str, digests: Sequence[str]) -> ToolError:
        near = await self._describe(
            digests[:_MAX_NEAR] or await self._contents.find(prefix[:_NEAR_PREFIX], _MAX_NEAR)
        )
        if digests:
            more = "; and more" if len(digests) > _MAX_NEAR else ""
            return ToolError(f"{prefix} fits several cached contents: {near}{more}.", fix="Give more digits.")
        return ToolError(
            f"This workspace's cache holds nothing under {prefix}.",
            f"Near matches here: {near}." if near else "Nothing here begins alike.",
            "Copy the hash from a [CACHED] marker or an index here; another workspace's cannot be read.",
        )

    async def _describe(self, digests: Sequence[str]) -> str:
        """Return name and size of each content, by as many digits as tell them apart."""
        digits = next(
            count
            for count in range(SHORT_DIGITS, HEX_DIGITS + 1)
            if len({digest[:count] for digest in digests}) == len(set(digests)) or count == HEX_DIGITS
        )
        descriptions = []
        for digest in digests:
            try:
                entry = await self._contents.entry(digest)
            except StoreError:
                continue
            descriptions.append(f"{digest[:digits]} ({content_name(entry)}, {format_bytes(entry.size)})")
        return "; ".join(descriptions)
