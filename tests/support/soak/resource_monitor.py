"""The resources that a long run retains: memory, tasks, threads, processes, files, iterators. Linux only."""

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

from helix_desktop.store.database import ReadView

_SCAN_METHOD = "scan"  # of a view: every iterator of the store is created here


@dataclass(frozen=True)
class ResourceSample:
    """A sample, taken with nothing running. Sizes in KiB.

    `anon` is memory without a file; `leveldb_log` is the part of it that LevelDB has not written into a
    table yet, up to 16 MiB: the maximum that its log ever contained, for the memory is reused.
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
    """Samples this process repeatedly; `ignored_children` are children that do not belong to the product.

    `folder` contains the stores' logs, at any depth.
    """

    folder: Path
    ignored_children: frozenset[int] = frozenset()
    samples: list[ResourceSample] = field(default_factory=list)
    iterators_opened: int = 0
    iterators_closed: int = 0
    _max_leveldb_log: int = 0

    def take_sample(self, turn: int) -> ResourceSample:
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

        def counted(view: ReadView, *args: Any, **more: Any) -> Any:
            watch.iterators_opened += 1
            try:
                yield from scan(view, *args, **more)
            finally:
                watch.iterators_closed += 1

        setattr(ReadView, _SCAN_METHOD, counted)
        try:
            yield
        finally:
            setattr(ReadView, _SCAN_METHOD, scan)


def _child_pids() -> set[int]:
    pids: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        pids |= {int(pid) for pid in (task / "children").read_text().split()}
    return pids


def memory_slope(samples: Sequence[ResourceSample]) -> float:
    """Return the KiB that one turn adds permanently, by least squares: memory without LevelDB's buffers."""
    if len(samples) < 2:
        return 0.0
    sizes = [sample.anon - sample.leveldb_log for sample in samples]
    middle_x = sum(sample.turn for sample in samples) / len(samples)
    middle_y = sum(sizes) / len(sizes)
    spread = sum((sample.turn - middle_x) ** 2 for sample in samples)
    risen = zip(samples, sizes, strict=True)
    return sum((sample.turn - middle_x) * (size - middle_y) for sample, size in risen) / spread


def count_live_objects(*types: type) -> dict[str, int]:
    """How many objects of these types live."""
    gc.collect()
    counts = {kind.__name__: 0 for kind in types}
    for obj in gc.get_objects():
        if type(obj) in types:
            counts[type(obj).__name__] += 1
    return counts
