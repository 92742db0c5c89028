"""Measure many recordings, sequentially or in several processes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.replay.measure import MeasureOptions, measure_file
from helix_desktop.replay.message_tokens import MessageTokenCounter
from helix_desktop.replay.ports import Replay
from helix_desktop.replay.recording import require_readable
from helix_desktop.replay.results import MeasuredRecording

text = TextContext("Replay")

ReplayFactory = Callable[[], Replay]
"""Creates a managed session; must be picklable when several processes measure."""


def measure_all(
    paths: Sequence[Path],
    create_replay: ReplayFactory,
    options: MeasureOptions,
    jobs: int,
    on_progress: Callable[[int], None],
) -> list[MeasuredRecording]:
    """Measure recordings, in their order; `on_progress` gets the number done. The first error ends it.

    Raises InvalidRecording, and HelixError when a process dies.
    """
    if jobs == 1 or len(paths) <= 1:
        return list(_measure_sequentially(paths, create_replay, options, on_progress))
    require_readable(paths)  # before any process, each of which takes a second to start
    with _pool(min(jobs, len(paths))) as pool:
        # The largest first: a long recording started last would leave the other processes idle.
        order = sorted(range(len(paths)), key=lambda index: -_size(paths[index]))
        running = {
            pool.submit(_measure_bundled, paths[index], create_replay, options): index for index in order
        }
        return _collect(running, on_progress)


def _measure_bundled(path: Path, create_replay: ReplayFactory, options: MeasureOptions) -> MeasuredRecording:
    """Measure one recording with the bundled vocabulary. Raises InvalidRecording."""
    return measure_file(path, create_replay, MessageTokenCounter.bundled(), options)


def _measure_sequentially(
    paths: Sequence[Path],
    create_replay: ReplayFactory,
    options: MeasureOptions,
    on_progress: Callable[[int], None],
) -> Iterator[MeasuredRecording]:
    for done, path in enumerate(paths, 1):
        yield _measure_bundled(path, create_replay, options)
        on_progress(done)


def _collect(
    running: dict[Future[MeasuredRecording], int], on_progress: Callable[[int], None]
) -> list[MeasuredRecording]:
    results: dict[int, MeasuredRecording] = {}
    try:
        for done, future in enumerate(as_completed(running), 1):
            results[running[future]] = future.result()
            on_progress(done)
    except BrokenProcessPool as error:
        raise HelixError(
            text("A measuring process ended unexpectedly."),
            text("The system may be out of memory."),
            text("Try again with {option}.", option="--jobs 1"),
        ) from error
    return [results[index] for index in sorted(results)]


@contextmanager
def _pool(size: int) -> Iterator[ProcessPoolExecutor]:
    """Open a pool of spawned processes: none inherits threads, loops or locks of this one."""
    pool = ProcessPoolExecutor(size, mp_context=get_context("spawn"), initializer=_ignore_interrupts)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _ignore_interrupts() -> None:
    """Ignore Ctrl+C, which reaches every process of a terminal: the parent process ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # reading the file reports the error
        return 0
