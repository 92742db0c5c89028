"""The parts of a store as another process uses them through its owner: what stays, is forgotten, is sound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from helix_desktop.context.damage import Checked
from helix_desktop.context.errors import HelixError
from helix_desktop.context.forgetting import Finds, Wanted
from helix_desktop.context.keeping import GRACE_MS, CleanUp, Plan, Reference, Swept, Trash
from helix_desktop.store import keys
from helix_desktop.store.remote import calls
from helix_desktop.store.remote.calls import Call

Told = Callable[[int, int], None]
T = TypeVar("T")


class Ask(Protocol):
    """Asks the owner."""

    async def __call__(self, call: Call[T], /, *given: object, told: Told | None = None) -> T:
        """What the method gives. Raises what it raises, StoreClosed when the owner is gone.

        `told` hears how far it is.
        """
        ...


class RemoteKeeper:
    """What stays and what goes, decided by the owner."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def references(self, digest: str) -> list[Reference]:
        """The events that name a content. Raises ValueError for what is no digest."""
        return await self._ask(calls.REFERENCES, digest)

    async def named(self, session: str) -> list[str]:
        """The contents that a session names, each once, in the order of their first event."""
        return await self._ask(calls.NAMED, session)

    async def pin(self, digest: str, on: bool) -> None:
        """Keep a content whatever a clean-up says, or no longer. Raises DigestUnknown."""
        await self._ask(calls.PIN, digest, on)

    async def plan(self, asked: CleanUp) -> Plan:
        """What a clean-up would do now; changes nothing."""
        return await self._ask(calls.PLAN, asked)

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> Swept:
        """Move contents of a plan to the trash, as far as they still may go. Raises StoreWriteFailed."""
        return await self._ask(calls.COLLECT, digests, grace_ms)

    async def trash(self) -> Trash:
        """What lies in the trash."""
        return await self._ask(calls.TRASH)

    async def restore(self, digests: Sequence[str]) -> Swept:
        """Bring contents back from the trash. Raises StoreWriteFailed."""
        return await self._ask(calls.RESTORE, digests)

    async def trash_session(self, session: str) -> tuple[str, ...]:
        """Move a session and its subagents' to the trash. Raises StoreLocked when it is open in the owner."""
        return await self._ask(calls.TRASH_SESSION, session)

    async def restore_session(self, session: str) -> tuple[str, ...]:
        """Bring a session and its subagents' back from the trash."""
        return await self._ask(calls.RESTORE_SESSION, session)

    async def empty_trash(self, before: int = 0) -> Swept:
        """Remove for good what went to the trash before `before`, in ms since 1970; 0: all of it."""
        return await self._ask(calls.EMPTY_TRASH, before)


class RemoteForgetting:
    """Forgetting, as far as another process may: to carry it out is the owner's alone.

    The owner's conversations are open, and hold what is to go.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def preview(self, wanted: Wanted, told: Told = lambda done, total: None) -> Finds:
        """Where it stands; changes nothing. Raises InputUnusable."""
        return await self._ask(calls.PREVIEW, wanted, told=told)

    async def carry_out(self, wanted: Wanted, told: Told = lambda done, total: None) -> Finds:
        """Raises StoreLocked: the owner's open conversations would go on holding it."""
        return await self._ask(calls.CARRY_OUT, wanted)

    async def when(self, digest: str) -> int:
        """When a content was forgotten, in milliseconds since 1970; 0 when it was not, or may come back."""
        keys.raw(digest)
        return await self._ask(calls.WHEN, digest)

    async def lift(self, digest: str) -> bool:
        """Let a forgotten content be stored again; whether it was forgotten."""
        keys.raw(digest)
        return await self._ask(calls.LIFT, digest)


class RemoteHealth:
    """How sound a store is, as its owner sees it; who is told of damage and of mending is told there."""

    report = None

    def __init__(self, ask: Ask, check_open: Callable[[], None]) -> None:
        self._ask, self._check_open = ask, check_open

    async def told(self) -> None:
        """There is no report here that somebody could have been told of. Raises StoreClosed."""
        self._check_open()

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Damage that is met here is raised here, and told where the store is open."""
        return lambda: None

    async def check(self, progress: Told | None = None) -> Checked:
        """Let the owner check every content and every row."""
        return await self._ask(calls.CHECK, told=progress)
