"""The parts of a store as another process uses them through its owner: retention, redaction, health."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from helix_desktop.domain.errors import HelixError, StoreWriteFailed
from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.redaction.redaction import RedactionMatches, RedactionRequest
from helix_desktop.domain.store.repair_report import IntegrityReport
from helix_desktop.domain.store.retention import (
    GRACE_MS,
    CleanupPlan,
    CleanupResult,
    ContentReference,
    PermanentDeletion,
    RetentionRule,
    TrashContents,
)
from helix_desktop.store.core import keys
from helix_desktop.store.remote import rpc_methods
from helix_desktop.store.remote.rpc_methods import RpcMethod

T = TypeVar("T")


class CallOwner(Protocol):
    """Call a method of the owner."""

    async def __call__(
        self, method: RpcMethod[T], /, *args: object, on_progress: OnProgress | None = None
    ) -> T:
        """Return the method's result. Raise what it raises, StoreClosed if the owner is gone.

        `on_progress` is called with the progress of the answer.
        """
        ...


class RemoteRetention:
    """Retention, carried out by the owner."""

    def __init__(self, call: CallOwner) -> None:
        self._call = call

    async def references(self, digest: str) -> list[ContentReference]:
        """Return the events that name a content. Raise ValueError if `digest` is not a digest."""
        return await self._call(rpc_methods.REFERENCES, digest)

    async def session_digests(self, session_id: str) -> list[str]:
        """Return the contents that a session names, each once, in the order of their first event."""
        return await self._call(rpc_methods.SESSION_DIGESTS, session_id)

    async def pin(self, digest: str, pinned: bool) -> None:
        """Exempt a content from every clean-up, or end that. Raise DigestUnknown."""
        await self._call(rpc_methods.PIN, digest, pinned)

    async def plan(self, rule: RetentionRule) -> CleanupPlan:
        """Return what a clean-up would do now; change nothing."""
        return await self._call(rpc_methods.PLAN, rule)

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> CleanupResult:
        """Move contents of a plan to the trash, if they are still collectable. Raise StoreWriteFailed."""
        return await self._call(rpc_methods.COLLECT, digests, grace_ms)

    async def trash(self) -> TrashContents:
        """Return the contents of the trash."""
        return await self._call(rpc_methods.TRASH)

    async def restore(self, digests: Sequence[str]) -> CleanupResult:
        """Restore contents from the trash. Raise StoreWriteFailed."""
        return await self._call(rpc_methods.RESTORE, digests)

    async def trash_session(self, session_id: str) -> tuple[str, ...]:
        """Move a session and its subagents' to the trash. Raise StoreLocked if it is open in the owner."""
        return await self._call(rpc_methods.TRASH_SESSION, session_id)

    async def restore_session(self, session_id: str) -> tuple[str, ...]:
        """Restore a session and its subagents' sessions from the trash."""
        return await self._call(rpc_methods.RESTORE_SESSION, session_id)

    async def empty_trash(self, before_ms: int = 0) -> CleanupResult:
        """Delete what was trashed before `before_ms`, in ms since 1970; 0: everything."""
        return await self._call(rpc_methods.EMPTY_TRASH, before_ms)

    async def delete_permanently(
        self, digests: Sequence[str], sessions: Sequence[str], dry_run: bool = False
    ) -> PermanentDeletion:
        """Delete these items of the trash, all at once or not at all; with `dry_run` only say what would."""
        return await self._call(rpc_methods.DELETE_PERMANENTLY, digests, sessions, dry_run)


class RemoteRedaction:
    """Redaction, as far as another process may: only the owner may carry it out.

    The owner's conversations are open, and hold the data to be redacted.
    """

    def __init__(self, call: CallOwner) -> None:
        self._call = call

    async def preview(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Return where the request matches; change nothing. Raise InvalidInput."""
        return await self._call(rpc_methods.PREVIEW, request, on_progress=on_progress)

    async def redact(
        self, request: RedactionRequest, on_progress: OnProgress = no_progress
    ) -> RedactionMatches:
        """Raise StoreLocked: the owner's open conversations would still hold the data."""
        return await self._call(rpc_methods.REDACT, request)

    async def redacted_at(self, digest: str) -> int:
        """Return when a content was redacted, in ms since 1970; 0 if it was not, or may be stored again."""
        keys.digest_bytes(digest)
        return await self._call(rpc_methods.REDACTED_AT, digest)

    async def lift(self, digest: str) -> bool:
        """Allow a redacted content to be stored again; return True if it was redacted."""
        keys.digest_bytes(digest)
        return await self._call(rpc_methods.LIFT, digest)


class RemoteHealth:
    """The health of a store, as its owner sees it; damage and repairs are reported in the owner."""

    report = None

    def __init__(self, call: CallOwner, check_open: Callable[[], None]) -> None:
        self._call, self._check_open = call, check_open

    async def acknowledge(self) -> None:
        """Do nothing: there is no report here to acknowledge. Raise StoreClosed."""
        self._check_open()

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Return a no-op: damage met here is raised here, and reported where the store is open."""
        return lambda: None

    async def missing_files(self) -> StoreWriteFailed | None:
        """Return None: the owner says so when it quits, and when it refuses a write."""
        return None

    async def check(self, on_progress: OnProgress | None = None) -> IntegrityReport:
        """Let the owner check every content and every row."""
        return await self._call(rpc_methods.CHECK, on_progress=on_progress)
