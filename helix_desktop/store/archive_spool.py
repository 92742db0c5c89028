"""Collects sessions and contents on disk, in any order, and writes them as an archive that can be imported.

What was made elsewhere, as another agent's session, comes into a store this way: by the same merging as
everything else, in little memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from helix_desktop import __version__
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.store import BranchPoint, Content, EntryRecord, SessionSummary
from helix_desktop.domain.store_reports import ArchiveTotals
from helix_desktop.store.archive_file import (
    END,
    FORMAT,
    LOG_PART_BYTES,
    MANIFEST,
    ArchiveManifest,
    SessionHeader,
    TarStreamWriter,
)


class ArchiveSpool:
    """Every method raises OSError when the disk takes no more."""

    def __init__(self, folder: Path) -> None:
        """`folder` is empty, and somebody else deletes it."""
        self._stack, self._folder = ExitStack(), folder
        self._contents: BinaryIO = self._stack.enter_context((self._folder / "contents").open("w+b"))
        self._places: dict[str, tuple[int, EntryRecord]] = {}
        self._logs: dict[str, BinaryIO] = {}
        self._counts: dict[str, int] = {}
        self._end = 0
        self._references: set[bytes] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add_content(self, content: Content, at_ms: int, session_id: str) -> None:
        """Add a content that was stored at a time, by a session first; what is here already stays."""
        if content.digest in self._places:
            return
        size = len(content.data)
        record = EntryRecord(
            at_ms, at_ms, size, size, content.tokens, content.tool, content.target, content.first_line,
            content.kind, session=session_id,
        )  # fmt: skip
        self._contents.write(content.data)
        self._places[content.digest] = self._end, record
        self._end += size

    def add_event(self, session_id: str, recorded: RecordedEvent) -> None:
        log = self._logs.get(session_id)
        if log is None:
            path = self._folder / f"log-{len(self._logs)}"
            log = self._logs[session_id] = self._stack.enter_context(path.open("w+b"))
        log.write(msgspec.json.encode(recorded) + b"\n")
        self._counts[session_id] = self._counts.get(session_id, 0) + 1
        self._references.update(map(bytes.fromhex, digests_in(recorded.event)))

    def write(
        self, name: str, at_ms: int, sessions: Iterable[tuple[SessionSummary, BranchPoint | None]]
    ) -> tuple[Path, ArchiveTotals]:
        """Write the sessions, parents before branches, to an archive in the folder; return both."""
        listed, path = list(sessions), self._folder / "sessions.helix"
        with path.open("wb") as file:
            os.chmod(path, 0o600)
            tar = TarStreamWriter(file)
            totals = (len(self._places), self._end, len(listed))
            _add(tar, MANIFEST, ArchiveManifest(FORMAT, __version__, "", name, at_ms, *totals))
            for digest in sorted(self._places):
                offset, record = self._places[digest]
                self._contents.seek(offset)
                _add(tar, f"contents/{digest}.json", msgspec.structs.asdict(record))
                tar.add(f"contents/{digest}", self._contents.read(record.size))
            for number, (summary, branch) in enumerate(listed, 1):
                count = self._counts.get(summary.id, 0)
                header = SessionHeader(summary.id, count, summary, branch=branch)
                _add(tar, f"sessions/{number}/session.json", header)
                for part_number, part in enumerate(self._log_parts(summary.id), 1):
                    tar.add(f"sessions/{number}/events-{part_number}.jsonl", part)
            events = sum(self._counts.get(summary.id, 0) for summary, _ in listed)
            missing = sorted(digest.hex() for digest in self._references if digest.hex() not in self._places)
            end = ArchiveTotals(*totals, events, tuple(missing))
            _add(tar, END, end)
            tar.close()
        return path, end

    def _log_parts(self, session_id: str) -> Iterator[bytes]:
        log = self._logs[session_id]
        log.seek(0)
        while lines := log.readlines(LOG_PART_BYTES):
            yield b"".join(lines)


def _add(tar: TarStreamWriter, name: str, note: object) -> None:
    tar.add(name, msgspec.json.encode(note))
