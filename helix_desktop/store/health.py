"""The health of a store: what was mended, what damage is met, and the full check."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

from helix_desktop.context.damage import Checked, Mending
from helix_desktop.context.errors import ContentDamaged, HelixError
from helix_desktop.store.check import Checker
from helix_desktop.store.codec import RowDamaged
from helix_desktop.store.content import Contents
from helix_desktop.store.handle import View
from helix_desktop.store.opening import Files

_log = logging.getLogger(__name__)

T = TypeVar("T")
Listener = Callable[[HelixError], None]
Progress = Callable[[int, int], None]
"""Contents verified, of how many."""


class Alarm:
    """Tells listeners of damaged contents, of each once."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._told: set[str] = set()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear of damage from now on. Call the returned function to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def sound(self, digest: str, error: ContentDamaged) -> None:
        """Somebody met damaged bytes."""
        if digest not in self._told:
            self._told.add(digest)
            _log.warning("%s", error)
            for listener in tuple(self._listeners):
                listener(error)

    def healed(self, digests: Iterable[str]) -> None:
        """These contents were stored again: damage to come is news."""
        self._told.difference_update(digests)


class Ask(Protocol):
    """Runs a read of the store off the event loop."""

    def __call__(self, ask: Callable[[View], T]) -> Awaitable[T]:
        """What `ask` makes of the stored rows."""
        ...


class LevelHealth:
    """The health of a store on disk."""

    def __init__(self, files: Files, contents: Contents, read: Ask) -> None:
        self._files, self._contents, self._read = files, contents, read
        self._report = files.report
        self.alarm = Alarm()

    @property
    def report(self) -> Mending | None:
        """What had to be mended at this opening, or at a former one, until somebody was told; else None."""
        return self._report

    async def told(self) -> None:
        """Somebody was told what the report says."""
        self._report = None
        await self._read(lambda _: self._files.layout.notes.told())

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear of each damaged content once, with what to do. Call the returned function to stop."""
        return self.alarm.listen(listener)

    async def check(self, progress: Progress | None = None) -> Checked:
        """Check everything, in slices between which others are served; cancelled, it ends after a slice.

        What is wrong with other rows than contents is mended at the next opening.
        """
        checker = Checker(self._files.codec, self._contents)
        total = await self._read(checker.total)
        while await self._read(checker.step):
            if progress is not None:
                progress(checker.result.contents, total)
        found = checker.result
        if progress is not None:
            progress(found.contents, max(total, found.contents))
        if found.problems:
            self._files.doubt(RowDamaged(found.problems[0]))
        return found
