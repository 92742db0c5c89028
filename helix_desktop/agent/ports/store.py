"""Ports: the store of one workspace, with its health, retention and redaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from helix_desktop.domain.errors import HelixError, StoreWriteFailed
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.redaction.redaction import RedactionMatches, RedactionRequest
from helix_desktop.domain.store.commit import Commit, Draft, PartialOutput
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.domain.store.entries import (
    DEFAULT_FILTER,
    CacheEntry,
    EntryFilter,
    EntryOrder,
    HandoverHit,
)
from helix_desktop.domain.store.reports import IntegrityReport, RepairReport
from helix_desktop.domain.store.retention import (
    GRACE_MS,
    CleanupPlan,
    CleanupResult,
    ContentReference,
    PermanentDeletion,
    RetentionRule,
    TrashContents,
)


class StoreHealth(Protocol):
    """The integrity of one store."""

    @property
    def report(self) -> RepairReport | None:
        """What was repaired when the store was opened, until it is acknowledged; usually None."""
        ...

    async def acknowledge(self) -> None:
        """Mark the report as shown to the user."""
        ...

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Subscribe to damaged contents, each reported once. Call the returned function to unsubscribe."""
        ...

    async def missing_files(self) -> StoreWriteFailed | None:
        """Return why nothing can be saved while the store's files are gone; None: they are there."""
        ...

    async def check(self, on_progress: OnProgress | None = None) -> IntegrityReport:
        """Check every content and row; `on_progress` is called with contents verified and their total.

        Other calls are served meanwhile. Canceling ends it soon. Damage is repaired at the next opening.
        """
        ...


class StoreRetention(Protocol):
    """Retention and trash of a workspace's store. Every method may raise StoreClosed, StoreUnreadable."""

    async def references(self, digest: str) -> list[ContentReference]:
        """Return the events that name a content. Raises ValueError if `digest` is not a digest."""
        ...

    async def session_digests(self, session_id: str) -> list[str]:
        """Return the contents that a session names, each once, in the order of their first event."""
        ...

    async def pin(self, digest: str, pinned: bool) -> None:
        """Pin a content against clean-ups, or unpin it. Raises DigestUnknown."""
        ...

    async def plan(self, rule: RetentionRule) -> CleanupPlan:
        """Return what a clean-up would do now, without doing it."""
        ...

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> CleanupResult:
        """Move contents of a plan to the trash, where that is still allowed. Raises StoreWriteFailed."""
        ...

    async def trash(self) -> TrashContents:
        """Return what is in the trash: still readable, restored when stored, named or recalled again."""
        ...

    async def restore(self, digests: Sequence[str]) -> CleanupResult:
        """Restore contents from the trash. Raises StoreWriteFailed."""
        ...

    async def trash_session(self, session_id: str) -> tuple[str, ...]:
        """Move a session and its subagents' to the trash; return their ids. Raises StoreWriteFailed.

        Its branches stay, and with them the subagents.
        """
        ...

    async def restore_session(self, session_id: str) -> tuple[str, ...]:
        """Restore a session and its subagents' from the trash; return their ids."""
        ...

    async def empty_trash(self, before_ms: int = 0) -> CleanupResult:
        """Delete what was trashed before `before_ms` (milliseconds since 1970; 0: all of it).

        Contents named only by deleted sessions stay until the next clean-up. Of a session that branches begin
        with stays what they need, hidden, until the last of them is deleted.
        """
        ...

    async def delete_permanently(
        self, digests: Sequence[str], sessions: Sequence[str], dry_run: bool = False
    ) -> PermanentDeletion:
        """Delete these items of the trash, all at once or not at all; with `dry_run` only say what would go.

        With the sessions go their subagents in the trash and the contents that nothing else needs. Items that
        are not in the trash stay. Raises StoreWriteFailed.
        """
        ...


class StoreRedaction(Protocol):
    """Redaction: removes a secret from a workspace's store. Every method may raise StoreClosed."""

    async def preview(self, request: RedactionRequest, on_progress: OnProgress = ...) -> RedactionMatches:
        """Return where the secret occurs, without changing anything. Raises InvalidInput."""
        ...

    async def redact(self, request: RedactionRequest, on_progress: OnProgress = ...) -> RedactionMatches:
        """Remove the secret everywhere in the store, files included; return what was changed.

        Open conversations still hold it until they are read again. Raises InvalidInput, StoreWriteFailed.
        """
        ...

    async def redacted_at(self, digest: str) -> int:
        """Return when a content was redacted, in milliseconds since 1970; 0 if it was not, or was lifted."""
        ...

    async def lift(self, digest: str) -> bool:
        """Allow a redacted content to be stored again. Return True if it was redacted."""
        ...


class Store(ContentReader, Protocol):
    """The durable store of one workspace. Every method may raise StoreClosed."""

    @property
    def redaction(self) -> StoreRedaction:
        """The removal of secrets."""
        ...

    @property
    def retention(self) -> StoreRetention:
        """Retention and trash."""
        ...

    @property
    def health(self) -> StoreHealth:
        """The repair report, damage notices, and the full check."""
        ...

    async def commit(self, commit: Commit) -> None:
        """Store all of it durably, or nothing: contents, events, references, recall counts, summary.

        A new session whose first event is SessionBranched begins with the events of its parent up to there,
        by reference. Returns once it would survive a power cut. Raises StoreWriteFailed, ContentTooLarge;
        ValueError if the events do not continue the session's log.
        """
        ...

    async def events(self, session_id: str) -> list[RecordedEvent]:
        """Return a session's whole log, with the part of its parent, in order; empty if there is none."""
        ...

    async def digests(
        self, order: EntryOrder = "newest", entry_filter: EntryFilter = DEFAULT_FILTER
    ) -> bytes:
        """Return the digests of all entries that match, in order: 32 bytes each, joined."""
        ...

    async def previous_version(self, digest: str) -> CacheEntry | None:
        """Return the newest entry of the same kind, tool and target stored before this one; None without.

        Raises DigestUnknown.
        """
        ...

    async def search_handovers(self, query: str, limit: int = 20) -> tuple[HandoverHit, ...]:
        """Return the newest handovers and checkpoints with all words of a query. Raises InvalidInput."""
        ...

    async def save_draft(self, session_id: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save the unsent text and attachments; if both are empty, delete the draft."""
        ...

    async def save_partial_answer(self, session_id: str, answer: RecordedEvent | None) -> None:
        """Save what came so far of an answer, until it is recorded; None: delete it."""
        ...

    async def save_partial_outputs(self, session_id: str, outputs: Sequence[PartialOutput]) -> None:
        """Save what running calls printed so far, until their answers are recorded; empty: delete it."""
        ...

    async def draft(self, session_id: str) -> Draft:
        """Return the unsent text and attachments, and what came of answers and outputs not recorded yet."""
        ...

    async def close(self) -> None:
        """Write what is queued, then close the files. Later calls raise StoreClosed."""
        ...
