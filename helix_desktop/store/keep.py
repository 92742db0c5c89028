"""The keeper of a workspace on disk: references, pins, clean-up, trash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from helix_desktop.context.keeping import EVER, GRACE_MS, CleanUp, Plan, Reference, Swept, Trash
from helix_desktop.store import collecting, keys, refusals, session_trash
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec
from helix_desktop.store.commit import Clock
from helix_desktop.store.content import Contents, find
from helix_desktop.store.handle import Handle, View
from helix_desktop.store.record import read_record, write_record
from helix_desktop.store.references import read_named, read_references

SWEEP = 200  # contents per batch

T = TypeVar("T")


class Read(Protocol):
    """Answers a question from the stored rows, on a reader's thread."""

    def __call__(self, ask: Callable[[View], T], /) -> Awaitable[T]:
        """What `ask` makes of them."""
        ...


class Put(Protocol):
    """Has rows staged and written durably, on the writer's thread."""

    def __call__(self, stage: Callable[[Batch], Any], size: int, /) -> Awaitable[None]:
        """Returns when they are; `size` is about their bytes."""
        ...


class LevelKeeper:
    """What stays and what goes in one workspace's LevelDB; lives as long as its store."""

    def __init__(
        self, read: Read, put: Put, handle: Handle, codec: Codec, contents: Contents, clock: Clock
    ) -> None:
        self._read, self._put = read, put
        self._handle, self._codec, self._contents, self._clock = handle, codec, contents, clock

    async def references(self, digest: str) -> list[Reference]:
        """The events that name a content. Raises ValueError for what is no digest."""
        keys.raw(digest)
        return await self._read(lambda view: read_references(view, digest))

    async def named(self, session: str) -> list[str]:
        """The contents that a session names, each once, in the order of their first event."""
        keys.session_bytes(session)
        return await self._read(lambda view: read_named(view, session))

    async def pin(self, digest: str, on: bool) -> None:
        """Keep a content whatever a clean-up says, or no longer. Raises DigestUnknown."""

        def stage(batch: Batch) -> None:
            record = read_record(batch.get, self._codec, digest)
            if record is None:
                raise refusals.unknown(
                    digest, lambda *near: self._handle.read(lambda view: find(view, *near))
                )
            changed = msgspec.structs.replace(record, pinned=on, trashed=0 if on else record.trashed)
            if changed != record:
                write_record(batch, self._codec, digest, changed)

        keys.raw(digest)
        await self._put(stage, 0)

    async def plan(self, asked: CleanUp) -> Plan:
        """What a clean-up would do now; changes nothing."""
        at = self._clock()
        return await self._read(
            lambda view: collecting.read_plan(view, self._codec, self._contents, asked, at)
        )

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> Swept:
        """Move contents of a plan to the trash, as far as they still may go."""
        at, stamp = self._clock(), await self._now()
        free = (await self.plan(CleanUp(grace_ms=grace_ms))).going
        wanted = set(digests)
        chosen = sorted(one.digest for one in free if one.digest in wanted)

        def sweep(batch: Batch, part: Sequence[str]) -> Swept:
            return collecting.stage_trash(batch, self._handle, self._codec, part, grace_ms, at, stamp)

        return await self._swept(sweep, chosen)

    async def trash(self) -> Trash:
        """What lies in the trash."""
        return await self._read(
            lambda view: Trash(
                tuple(collecting.read_trash(view, self._codec)),
                tuple(session_trash.read_trashed(view, self._codec)),
            )
        )

    async def restore(self, digests: Sequence[str]) -> Swept:
        """Bring contents back from the trash."""
        at = await self._now()
        return await self._swept(
            lambda batch, part: collecting.stage_restore(batch, self._codec, part, at), digests
        )

    async def trash_session(self, session: str) -> tuple[str, ...]:
        """Move a session and its subagents' to the trash; the ids that went there."""
        return await self._hide(session, await self._now())

    async def restore_session(self, session: str) -> tuple[str, ...]:
        """Bring a session and its subagents' back from the trash; the ids that came back."""
        return await self._hide(session, 0)

    async def empty_trash(self, before: int = 0) -> Swept:
        """Remove for good what went to the trash before `before` (milliseconds since 1970; 0: all of it)."""
        limit = before or EVER
        lying = await self.trash()
        gone = [one.id for one in lying.sessions if await self._remove(one.id, limit)]
        codec, contents = self._codec, self._contents
        going = await self._read(lambda view: collecting.read_purgeable(view, codec, contents, limit))

        def purge(batch: Batch, part: Sequence[str]) -> Swept:
            return collecting.stage_purge(batch, self._handle, self._codec, part, limit)

        swept = await self._swept(purge, going)
        await self._read(lambda _: self._forget_damaged(swept.digests))
        return msgspec.structs.replace(swept, sessions=tuple(gone))

    async def _now(self) -> int:
        """The time, but not before the newest content: a clock that was set back must not age the trash."""
        return max(self._clock(), await self._read(collecting.read_newest))

    async def _hide(self, session: str, trashed: int) -> tuple[str, ...]:
        keys.session_bytes(session)
        changed: list[str] = []

        def stage(batch: Batch) -> None:
            changed[:] = session_trash.stage_hide(batch, self._handle, self._codec, session, trashed)

        await self._put(stage, 0)
        return tuple(changed)

    async def _remove(self, session: str, before: int) -> bool:
        done: list[bool] = []

        def stage(batch: Batch) -> None:
            done.append(session_trash.stage_remove(batch, self._handle, self._codec, session, before))

        await self._put(stage, 0)
        return done[0]

    async def _swept(self, sweep: Callable[[Batch, Sequence[str]], Swept], digests: Sequence[str]) -> Swept:
        parts: list[Swept] = []

        async def one(part: Sequence[str]) -> None:
            await self._put(lambda batch: parts.append(sweep(batch, part)), 0)

        for at in range(0, len(digests), SWEEP):
            await one(digests[at : at + SWEEP])
        return Swept(
            tuple(digest for one in parts for digest in one.digests),
            stored_size=sum(one.stored_size for one in parts),
        )

    def _forget_damaged(self, digests: Sequence[str]) -> None:
        for digest in digests:
            self._contents.quarantine.remove(digest)
