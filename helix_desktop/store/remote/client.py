"""A workspace's store as another process of the same person uses it: through its owner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from helix_desktop.context.archive import Exported, Imported, Progress, silent
from helix_desktop.context.content import Content, Entry, SessionSummary, StoreTotals
from helix_desktop.context.draft import Draft
from helix_desktop.context.event import Attachment, Recorded
from helix_desktop.store import refusals
from helix_desktop.store.backlog import Backlog
from helix_desktop.store.codec import CONTENT_CAP
from helix_desktop.store.commit import Commit, now
from helix_desktop.store.remote import calls
from helix_desktop.store.remote.calls import Call
from helix_desktop.store.remote.connection import Connection
from helix_desktop.store.remote.finder import RemoteFinder
from helix_desktop.store.remote.parts import RemoteForgetting, RemoteHealth, RemoteKeeper
from helix_desktop.store.remote.way import PATIENCE_S, Place, Reopen, Way
from helix_desktop.store.remote.wire import REQUEST_CAP, Frame

_LONG_S = 3600.0  # for what looks through the whole store

T = TypeVar("T")


class RemoteStore(RemoteFinder):
    """The store port, answered by the process that owns the store. Made by `join`; must be closed."""

    def __init__(self, connection: Connection, owner_pid: int) -> None:
        self._way = Way(connection, owner_pid)
        self._backlog = Backlog()
        self._closed = False
        self.keep = RemoteKeeper(self._ask_long)
        self.forgetting = RemoteForgetting(self._ask_long)
        self.health = RemoteHealth(self._ask_long, self._check_open)

    @property
    def owner_pid(self) -> int:
        """The process that owned the store when it was opened."""
        return self._way.owner_pid

    @property
    def place(self) -> Place:
        """Where its requests go, for a way that leads there too."""
        return self._way.place

    def follow(self, reopen: Reopen) -> None:
        """Go on by opening the store anew when its owner ends."""
        self._way.reopen = reopen

    async def commit(
        self,
        session: str,
        events: Sequence[Recorded] = (),
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        summary: SessionSummary | None = None,
    ) -> None:
        """Store all of it, or nothing, durably. Raises as LevelStore does; StoreLocked when somebody else
        writes this session.

        Contents that do not fit one message go ahead of the rest, each as a whole.
        """
        self._check_open()
        made = Commit(session, 0, tuple(events), tuple(contents), tuple(recalls), summary)
        made.check()
        if made.size > CONTENT_CAP and len(made.contents) > 1:
            for content in made.contents:
                await self._ask(calls.COMMIT, session, (), (content,))
            made = Commit(session, 0, made.events, (), made.recalls, summary)
        if not made.empty:
            given = (made.events, made.contents, made.recalls, summary)
            request = self._request(calls.COMMIT, session, *given)
            async with self._backlog.place(len(request.payload)):
                await self._way.commit(request, session, made.events)

    async def events(self, session: str) -> list[Recorded]:
        """A session's whole log, in order. Raises StoreUnreadable when a part of it is damaged."""
        return await self._ask(calls.EVENTS, session)

    async def sessions(self) -> list[SessionSummary]:
        """All sessions, last updated first."""
        return await self._ask(calls.SESSIONS)

    async def get(self, digest: str) -> bytes:
        """The bytes of a full digest, verified. Raises DigestUnknown (with near matches), ContentDamaged."""
        return await self._ask(calls.GET, digest)

    async def entry(self, digest: str) -> Entry:
        """What is known of a content. Raises DigestUnknown, ContentDamaged."""
        return await self._ask(calls.ENTRY, digest)

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with `prefix` (1 to 64 hex digits), in order. Raises ValueError."""
        return await self._ask(calls.FIND, prefix, limit)

    async def totals(self) -> StoreTotals:
        """Counts and sizes of the whole store."""
        return await self._ask(calls.TOTALS)

    async def save_draft(self, session: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save what was typed and attached, and not sent; nothing of both deletes it.

        Raises StoreWriteFailed.
        """
        await self._ask(calls.SAVE_DRAFT, session, text, attachments)

    async def draft(self, session: str) -> Draft:
        """Return what was typed and attached, and not sent."""
        return await self._ask(calls.DRAFT, session)

    async def export_to(self, path: Path, name: str, progress: Progress = silent) -> Exported:
        """Let the owner write its store to an absolute path. Raises as `export_store`."""
        return await self._ask_long(calls.EXPORT, str(path), name, now(), told=progress)

    async def import_from(self, path: Path, progress: Progress = silent) -> Imported:
        """Let the owner merge the file at an absolute path. Raises as `import_store`."""
        return await self._ask_long(calls.IMPORT, str(path), told=progress)

    async def close(self) -> None:
        """Wait for what was asked, then leave the owner. Idempotent."""
        self._closed = True
        self._backlog.shut()
        await self._way.close()

    def _check_open(self) -> None:
        if self._closed:
            raise refusals.closed()

    async def _ask(
        self,
        call: Call[T],
        *given: object,
        patience_s: float = PATIENCE_S,
        told: Progress | None = None,
    ) -> T:
        request = self._request(call, *given, told=told is not None)
        async with self._backlog.place(len(request.payload)):
            return await self._way.ask(call, request, patience_s, told)

    def _request(self, call: Call[Any], *given: object, told: bool = False) -> Frame:
        self._check_open()
        request = call.request(*given, told=told)
        if len(request.payload) > REQUEST_CAP:
            raise refusals.too_long(len(request.payload), REQUEST_CAP)
        return request

    async def _ask_long(self, call: Call[T], *given: object, told: Progress | None = None) -> T:
        return await self._ask(call, *given, patience_s=_LONG_S, told=told)
