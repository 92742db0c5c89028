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

from helix_desktop.store.handle import View


@dataclass(frozen=True)
class Sample:
    """One look, with nothing running. Sizes in KiB; `anon` is what no file stands behind."""

    turn: int
    rss: int
    anon: int
    tasks: int
    threads: int
    children: int
    files: int
    iterators: int


@dataclass
class Watch:
    """Looks at this process again and again; `known` are children that are none of the product's."""

    known: frozenset[int] = frozenset()
    samples: list[Sample] = field(default_factory=list)
    opened: int = 0
    closed: int = 0

    def look(self, turn: int) -> Sample:
        """Take a sample, after a collection of what is garbage."""
        gc.collect()
        status = dict(
            line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line
        )
        sample = Sample(
            turn=turn,
            rss=int(status["VmRSS"].split()[0]),
            anon=int(status["RssAnon"].split()[0]),
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
        scan = View.scan
        watch = self

        def counted(view: View, *given: Any, **more: Any) -> Any:
            watch.opened += 1
            try:
                yield from scan(view, *given, **more)
            finally:
                watch.closed += 1

        View.scan = counted  # type: ignore[method-assign] - the only place that every iterator passes
        try:
            yield
        finally:
            View.scan = scan  # type: ignore[method-assign] - as it was


def _children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {int(one) for one in (task / "children").read_text().split()}
    return found


def slope(samples: Sequence[Sample]) -> float:
    """KiB of memory of its own that one turn adds: the line of least squares through the samples."""
    if len(samples) < 2:
        return 0.0
    middle_x = sum(one.turn for one in samples) / len(samples)
    middle_y = sum(one.anon for one in samples) / len(samples)
    spread = sum((one.turn - middle_x) ** 2 for one in samples)
    return sum((one.turn - middle_x) * (one.anon - middle_y) for one in samples) / spread


def alive(*kinds: type) -> dict[str, int]:
    """How many objects of these types live."""
    gc.collect()
    found = {kind.__name__: 0 for kind in kinds}
    for one in gc.get_objects():
        if type(one) in kinds:
            found[type(one).__name__] += 1
    return found
