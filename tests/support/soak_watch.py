"""What a long run holds on to: memory, tasks, threads, processes, files, iterators. Linux only."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helix_desktop.store.leveldb.database import ReadView

_PASSED = "scan"  # of a view: the one place that every iterator of the store passes


@dataclass(frozen=True)
class Sample:
    """One look, with nothing running. Sizes in KiB.

    `anon` is memory that no file stands behind; `held` is the part of it in which LevelDB keeps what it has
    not written into a table yet, up to 16 MiB: the most that its log ever held, for the room is used again.
    """

    turn: int
    rss: int
    anon: int
    held: int
    tasks: int
    threads: int
    children: int
    files: int
    iterators: int


@dataclass
class Watch:
    """Looks at this process again and again; `known` are children that are none of the product's.

    `folder` is where the stores' logs lie, at any depth.
    """

    folder: Path
    known: frozenset[int] = frozenset()
    samples: list[Sample] = field(default_factory=list)
    opened: int = 0
    closed: int = 0
    _held: int = 0

    def look(self, turn: int) -> Sample:
        """Take a sample, after a collection of what is garbage."""
        gc.collect()
        logs = sum(log.stat().st_size for log in self.folder.rglob("db/*.log"))
        self._held = max(self._held, logs // 1024)
        status = dict(
            line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line
        )
        sample = Sample(
            turn=turn,
            rss=int(status["VmRSS"].split()[0]),
            anon=int(status["RssAnon"].split()[0]),
            held=self._held,
            tasks=len(asyncio.all_tasks()),
            threads=threading.active_count(),
            children=len(_children() - self.known),
            files=len(os.listdir("/proc/self/fd")),
            iterators=self.opened - self.closed,
        )
        self.samples.append(sample)
        return sample

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the iterators that the store opens and closes."""
        scan = ReadView.scan
        watch = self

        def counted(view: ReadView, *given: Any, **more: Any) -> Any:
            watch.opened += 1
            try:
                yield from scan(view, *given, **more)
            finally:
                watch.closed += 1

        setattr(ReadView, _PASSED, counted)
        try:
            yield
        finally:
            setattr(ReadView, _PASSED, scan)


def _children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {int(one) for one in (task / "children").read_text().split()}
    return found


def slope(samples: Sequence[Sample]) -> float:
    """KiB that one turn adds for good, by the line of least squares: memory without what LevelDB held."""
    if len(samples) < 2:
        return 0.0
    kept = [one.anon - one.held for one in samples]
    middle_x = sum(one.turn for one in samples) / len(samples)
    middle_y = sum(kept) / len(kept)
    spread = sum((one.turn - middle_x) ** 2 for one in samples)
    risen = zip(samples, kept, strict=True)
    return sum((one.turn - middle_x) * (size - middle_y) for one, size in risen) / spread


def alive(*kinds: type) -> dict[str, int]:
    """How many objects of these types live."""
    gc.collect()
    found = {kind.__name__: 0 for kind in kinds}
    for one in gc.get_objects():
        if type(one) in kinds:
            found[type(one).__name__] += 1
    return found
