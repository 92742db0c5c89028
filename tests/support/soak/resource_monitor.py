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

_SCAN_METHOD = "scan"  # of a view: the one place that every iterator of the store passes


@dataclass(frozen=True)
class ResourceSample:
    """One look, with nothing running. Sizes in KiB.

    `anon` is memory that no file stands behind; `held` is the part of it in which LevelDB keeps what it has
    not written into a table yet, up to 16 MiB: the most that its log ever held, for the room is used again.
    """

    turn: int
    rss: int
    anon: int
    leveldb_log: int
    tasks: int
    threads: int
    children: int
    files: int
    iterators: int


@dataclass
class ResourceMonitor:
    """Looks at this process again and again; `known` are children that are none of the product's.

    `folder` is where the stores' logs lie, at any depth.
    """

    folder: Path
    ignored_children: frozenset[int] = frozenset()
    samples: list[ResourceSample] = field(default_factory=list)
    iterators_opened: int = 0
    iterators_closed: int = 0
    _max_leveldb_log: int = 0

    def take_sample(self, turn: int) -> ResourceSample:
        """Take a sample, after a collection of what is garbage."""
        gc.collect()
        logs = sum(log.stat().st_size for log in self.folder.rglob("db/*.log"))
        self._max_leveldb_log = max(self._max_leveldb_log, logs // 1024)
        status = dict(
            line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line
        )
        sample = ResourceSample(
            turn=turn,
            rss=int(status["VmRSS"].split()[0]),
            anon=int(status["RssAnon"].split()[0]),
            leveldb_log=self._max_leveldb_log,
            tasks=len(asyncio.all_tasks()),
            threads=threading.active_count(),
            children=len(_child_pids() - self.ignored_children),
            files=len(os.listdir("/proc/self/fd")),
            iterators=self.iterators_opened - self.iterators_closed,
        )
        self.samples.append(sample)
        return sample

    @contextmanager
    def count_iterators(self) -> Iterator[None]:
        """Count the iterators that the store opens and closes."""
        scan = ReadView.scan
        watch = self

        def counted(view: ReadView, *given: Any, **more: Any) -> Any:
            watch.iterators_opened += 1
            try:
                yield from scan(view, *given, **more)
            finally:
                watch.iterators_closed += 1

        setattr(ReadView, _SCAN_METHOD, counted)
        try:
            yield
        finally:
            setattr(ReadView, _SCAN_METHOD, scan)


def _child_pids() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {int(one) for one in (task / "children").read_text().split()}
    return found


def memory_slope(samples: Sequence[ResourceSample]) -> float:
    """KiB that one turn adds for good, by the line of least squares: memory without what LevelDB held."""
    if len(samples) < 2:
        return 0.0
    kept = [one.anon - one.leveldb_log for one in samples]
    middle_x = sum(one.turn for one in samples) / len(samples)
    middle_y = sum(kept) / len(kept)
    spread = sum((one.turn - middle_x) ** 2 for one in samples)
    risen = zip(samples, kept, strict=True)
    return sum((one.turn - middle_x) * (size - middle_y) for one, size in risen) / spread


def count_live_objects(*types: type) -> dict[str, int]:
    """How many objects of these types live."""
    gc.collect()
    found = {kind.__name__: 0 for kind in types}
    for one in gc.get_objects():
        if type(one) in types:
            found[type(one).__name__] += 1
    return found
