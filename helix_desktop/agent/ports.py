"""Everything the agent needs of the outside world, on one page."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Protocol

from helix_desktop.domain.draft import Draft
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.session import Attachment, RecordedEvent
from helix_desktop.domain.messages import ModelInfo, ModelRequest, StreamItem, ToolCall, ToolSpec
from helix_desktop.domain.redaction.redaction import RedactionMatches, RedactionRequest
from helix_desktop.domain.store.entries import (
    DEFAULT_FILTER,
    CacheEntry,
    Content,
    EntryFilter,
    EntryOrder,
    EntryPage,
    HandoverHit,
    SearchResults,
    SessionSummary,
    StoreTotals,
)
from helix_desktop.domain.store.repair_report import IntegrityReport, RepairReport
from helix_desktop.domain.store.retention import (
    GRACE_MS,
    CleanupPlan,
    CleanupResult,
    ContentReference,
    RetentionRule,
    TrashContents,
)
from helix_desktop.domain.tools import (
    ApprovalReply,
    ApprovalRequest,
    OutputCallback,
    PermissionRule,
    ToolResult,
    ignore_output,
)

Clock = Callable[[], int]
"""Milliseconds since 1970."""

OnProgress = Callable[[int, int], None]
"""Hears how many of how many contents were looked through."""


class Model(Protocol):
    """A language model."""

    @property
    def info(self) -> ModelInfo:
        """Its name and its room."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Ask it; yields pieces as they arrive and an `Answer` last.

        Raises ModelError. Closing the generator or cancelling the task ends the call.
        """
        ...


class TokenCounter(Protocol):
    """Counts tokens."""

    async def count(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text, counted off the calling thread."""
        ...


class StoreHealth(Protocol):
    """How sound a store is."""

    @property
    def report(self) -> RepairReport | None:
        """What had to be mended when the store was opened, until somebody was told; usually None."""
        ...

    async def acknowledge(self) -> None:
        """Somebody was told what the report says."""
        ...

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Hear of each damaged content once, with what to do. Call the returned function to stop."""
        ...

    async def check(self, progress: Callable[[int, int], None] | None = None) -> IntegrityReport:
        """Check every content and every row; `progress` hears contents verified, and of how many.

        Others are served meanwhile. Cancelled, it ends soon. What is wrong is mended at the next opening.
        """
        ...


class StoreRetention(Protocol):
    """What stays in a workspace's store and what goes. All may raise StoreClosed, StoreUnreadable."""

    async def references(self, digest: str) -> list[ContentReference]:
        """The events that name a content. Raises ValueError for what is no digest."""
        ...

    async def named(self, session: str) -> list[str]:
        """The contents that a session names, each once, in the order of their first event."""
        ...

    async def pin(self, digest: str, pinned: bool) -> None:
        """Keep a content whatever a clean-up says, or no longer. Raises DigestUnknown."""
        ...

    async def plan(self, rule: RetentionRule) -> CleanupPlan:
        """What a clean-up would do now; changes nothing."""
        ...

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> CleanupResult:
        """Move contents of a plan to the trash, as far as they still may go. Raises StoreWriteFailed."""
        ...

    async def trash(self) -> TrashContents:
        """What lies in the trash: still readable, and back as soon as it is stored, named or recalled."""
        ...

    async def restore(self, digests: Sequence[str]) -> CleanupResult:
        """Bring contents back from the trash. Raises StoreWriteFailed."""
        ...

    async def trash_session(self, session: str) -> tuple[str, ...]:
        """Move a session and its subagents' to the trash; the ids that went. Raises StoreWriteFailed."""
        ...

    async def restore_session(self, session: str) -> tuple[str, ...]:
        """Bring a session and its subagents' back from the trash; the ids that came back."""
        ...

    async def empty_trash(self, before_ms: int = 0) -> CleanupResult:
        """Remove for good what went to the trash before `before` (milliseconds since 1970; 0: all of it).

        The contents that only removed sessions named stay until the next clean-up.
        """
        ...


class StoreRedaction(Protocol):
    """Removes a secret from a workspace's store on the person's word, for good. All may raise StoreClosed."""

    async def preview(self, request: RedactionRequest, on_progress: OnProgress = ...) -> RedactionMatches:
        """Where it stands; changes nothing. Raises InputUnusable."""
        ...

    async def carry_out(self, request: RedactionRequest, on_progress: OnProgress = ...) -> RedactionMatches:
        """Remove it everywhere in the store, also from its files; what was changed.

        Open conversations still hold it until they are read anew. Raises InputUnusable, StoreWriteFailed.
        """
        ...

    async def when(self, digest: str) -> int:
        """When a content was forgotten, in milliseconds since 1970; 0 when it was not, or may come back."""
        ...

    async def lift(self, digest: str) -> bool:
        """Let a forgotten content be stored again; whether it was forgotten."""
        ...


class Store(Protocol):
    """One workspace's durable memory. Every method may raise StoreClosed."""

    @property
    def redaction(self) -> StoreRedaction:
        """How a secret is removed."""
        ...

    @property
    def retention(self) -> StoreRetention:
        """What stays and what goes."""
        ...

    @property
    def health(self) -> StoreHealth:
        """What was mended, what damage is met, and the full check."""
        ...

    async def commit(
        self,
        session: str,
        events: Sequence[RecordedEvent] = (),
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        summary: SessionSummary | None = None,
    ) -> None:
        """Store all of it, or nothing, durably: contents, events, references, recall counts, summary.

        Returns when it would survive a power cut. Raises StoreWriteFailed, ContentTooLarge; ValueError when
        the events do not continue the session's log.
        """
        ...

    async def events(self, session: str) -> list[RecordedEvent]:
        """A session's whole log, in order; empty when there is none."""
        ...

    async def sessions(self) -> list[SessionSummary]:
        """All sessions but those in the trash, last updated first."""
        ...

    async def get(self, digest: str) -> bytes:
        """The bytes of a full digest, verified. Raises DigestUnknown (with near matches), ContentDamaged."""
        ...

    async def entry(self, digest: str) -> CacheEntry:
        """What is known of a content. Raises DigestUnknown."""
        ...

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with `prefix` (1 to 64 hex digits), in order, at most `limit`."""
        ...

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: EntryOrder = "newest",
        prefix: str = "",
        entry_filter: EntryFilter = DEFAULT_FILTER,
    ) -> EntryPage:
        """Entries that pass a filter, in an order or (with a prefix) by digest, from a cursor on.

        Raises ValueError for the cursor of another order.
        """
        ...

    async def digests(
        self, order: EntryOrder = "newest", entry_filter: EntryFilter = DEFAULT_FILTER
    ) -> bytes:
        """The digests of all entries that pass, in order: 32 bytes each, joined."""
        ...

    async def tools(self) -> tuple[str, ...]:
        """The tools by whose name something is stored, in order."""
        ...

    async def search(
        self,
        query: str,
        entry_filter: EntryFilter = DEFAULT_FILTER,
        limit: int = 20,
        cursor: str = "",
        should_continue: Callable[[int], bool] = lambda _: True,
    ) -> SearchResults:
        """The newest contents that hold all words of a query, from a cursor on; each was read to see them.

        It ends at `limit` hits or when `going`, asked with the size of the next content, says no. Raises
        InputUnusable for a query without words, ValueError for what is no cursor.
        """
        ...

    async def search_handovers(self, query: str, limit: int = 20) -> tuple[HandoverHit, ...]:
        """The newest handovers that hold all words of a query. Raises InputUnusable."""
        ...

    async def totals(self) -> StoreTotals:
        """Counts and sizes of the whole store."""
        ...

    async def save_draft(self, session: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save what was typed and attached, and not sent; nothing of both deletes it."""
        ...

    async def draft(self, session: str) -> Draft:
        """Return what was typed and attached, and not sent."""
        ...

    async def close(self) -> None:
        """Write what is queued, then let go of the files. Calls after it raise StoreClosed."""
        ...


class Tools(Protocol):
    """What the agent can do in a workspace."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them, always in the same order."""
        ...

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        """The question a call raises before it may run; None when it needs no approval.

        Raises ToolError when the call is refused whatever the person says.
        """
        ...

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call; `told` hears its output while it runs. Raises ToolError with what the agent is told.

        Cancelling ends what was started; with the message STOPPED, what there is so far may be the answer.
        """
        ...


class Approver(Protocol):
    """The person, asked."""

    async def decide(self, session: str, ask: ApprovalRequest) -> ApprovalReply | None:
        """Wait for the person's answer to one question; None when it is to be looked at again."""
        ...


class WorkspacePermissions(Protocol):
    """A workspace's saved approvals."""

    def rules(self, demo: bool = False) -> tuple[PermissionRule, ...]:
        """The rules that hold, in order; `demo` says that the offline demo model makes the call."""
        ...

    def note_allowed(self, demo: bool) -> bool:
        """Hear that the user allowed a call. Return True if more calls are allowed by that."""
        ...

    async def add(self, rule: PermissionRule) -> None:
        """Save a rule."""
        ...
