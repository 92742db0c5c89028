"""The parts of a store as another process uses them through its owner: what stays, is forgotten, is sound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.redaction.redaction import RedactionMatches, RedactionRequest
from helix_desktop.domain.store.repair_report import IntegrityReport
from helix_desktop.domain.store.retention import (
    GRACE_MS,
    CleanupPlan,
    CleanupResult,
    ContentReference,
    RetentionRule,
    TrashContents,
)
from helix_desktop.store.core import keys
from helix_desktop.store.remote import rpc_methods
from helix_desktop.store.remote.rpc_methods import RpcMethod

OnProgress = Callable[[int, int], None]
T = TypeVar("T")


class CallOwner(Protocol):
    """Asks the owner."""

    async def __call__(
        self, method: RpcMethod[T], /, *args: object, on_progress: OnProgress | None = None
    ) -> T:
        """Return what the method gives. Raises what it raises, StoreClosed when the owner is gone.

        `told` hears how far it is.
        """
        ...


class RemoteRetention:
    """What stays and what goes, decided by the owner."""

    def __init__(self, call: CallOwner) -> None:
        self._call = call

    async def references(self, digest: str) -> list[ContentReference]:
        """Return the events that name a content. Raise ValueError for what is no digest."""
        return await self._call(rpc_methods.REFERENCES, digest)

    async def named(self, session: str) -> list[str]:
        """Return the contents that a session names, each once, in the order of their first event."""
        return await self._call(rpc_methods.NAMED, session)

    async def pin(self, digest: str, pinned: bool) -> None:
        """Keep a content whatever a clean-up says, or no longer. Raise DigestUnknown."""
        await self._call(rpc_methods.PIN, digest, pinned)

    async def plan(self, rule: RetentionRule) -> CleanupPlan:
        """Return what a clean-up would do now; changes nothing."""
        return await self._call(rpc_methods.PLAN, rule)

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> CleanupResult:
        """Move contents of a plan to the trash, as far as they still may go. Raise StoreWriteFailed."""
        return await self._call(rpc_methods.COLLECT, digests, grace_ms)

    async def trash(self) -> TrashContents:
        """Return what lies in the trash."""
        return await self._call(rpc_methods.TRASH)

    async def restore(self, digests: Sequence[str]) -> CleanupResult:
        """Bring contents back from the trash. Raise StoreWriteFailed."""
        return await self._call(rpc_methods.RESTORE, digests)

    async def trash_session(self, session: str) -> tuple[str, ...]:
        """Move a session and its subagents' to the trash. Raise StoreLocked when it is open in the owner."""
        return await self._call(rpc_methods.TRASH_SESSION, session)

    async def restore_session(self, session: str) -> tuple[str, ...]:
        """Bring a session and its subagents' back from the trash."""
        return await self._call(rpc_methods.RESTORE_SESSION, session)

    async def empty_trash(self, before_ms: int = 0) -> CleanupResult:
        """Remove for good what went to the trash before `before`, in ms since 1970; 0: all of it."""
        return await self._call(rpc_methods.EMPTY_TRASH, before_ms)


class RemoteRedaction:
    """Forgetting, as far as another process may: to carry it out is the owner's alone.

    The owner's conversations are open, and hold what is to go.
    """

    def __init__(self, call: CallOwner) -> None:
        self._call = call

    async def preview(
        self, request: RedactionRequest, on_progress: OnProgress = lambda done, total: None
    ) -> RedactionMatches:
        """Return where it stands; changes nothing. Raise InputUnusable."""
        return await self._call(rpc_methods.PREVIEW, request, on_progress=on_progress)

    async def carry_out(
        self, request: RedactionRequest, on_progress: OnProgress = lambda done, total: None
    ) -> RedactionMatches:
        """Raise StoreLocked: the owner's open conversations would go on holding it."""
        return await self._call(rpc_methods.CARRY_OUT, request)

    async def when(self, digest: str) -> int:
        """Return when a content was redacted, in ms since 1970; 0 if it was not, or may be stored again."""
        keys.digest_bytes(digest)
        return await self._call(rpc_methods.WHEN, digest)

    async def lift(self, digest: str) -> bool:
        """Let a forgotten content be stored again; whether it was forgotten."""
        keys.digest_bytes(digest)
        return await self._call(rpc_methods.LIFT, digest)


class RemoteHealth:
    """How sound a store is, as its owner sees it; who is told of damage and of mending is told there."""

    report = None

    def __init__(self, call: CallOwner, check_open: Callable[[], None]) -> None:
        self._call, self._check_open = call, check_open

    async def acknowledge(self) -> None:
        """There is no report here that somebody could have been told of. Raise StoreClosed."""
        self._check_open()

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Damage that is met here is raised here, and told where the store is open."""
        return lambda: None

    async def check(self, progress: OnProgress | None = None) -> IntegrityReport:
        """Let the owner check every content and every row."""
        return await self._call(rpc_methods.CHECK, on_progress=progress)
