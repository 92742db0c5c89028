"""Finds out which files changed since a tool read or wrote them; always inside the workspace's jail."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Sequence
from contextlib import suppress

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.content import FINGERPRINT_DIGITS, ChangedFile, ChangeReport, FileVersion
from helix_desktop.tools.files.jail import FileStamp, Jail, OpenFile, WorkspaceAway, root_in_place

MAX_HASHED = 8 * 1024 * 1024  # bytes of one file: about 10 ms
MAX_HASHED_TOGETHER = 64 * 1024 * 1024  # bytes of all files in one check: about 0.1 s
_CLOCK_STEP_NS = 2_000_000_000  # the coarsest times of a file system in use: FAT
_GONE = (FileNotFoundError, NotADirectoryError)


def version_of(opened: OpenFile) -> FileVersion:
    """Return the version of an open file; reads it from its beginning, unless it is large.

    A file that is written meanwhile gets no fingerprint, so that its next time counts as a change. One that
    was written just before gets no time, so that it is hashed next time.
    """
    stamp = opened.stamp
    fingerprint = _fingerprint(opened)
    if FileStamp.of(os.fstat(opened.file.fileno())) != stamp:
        fingerprint = ""
    modified_ns = 0 if fingerprint and _is_fresh(stamp) else stamp.mtime_ns
    return FileVersion(opened.path, stamp.size, modified_ns, stamp.inode, fingerprint)


def versions_of(jail: Jail, paths: Sequence[str]) -> tuple[FileVersion, ...]:
    """Return the versions of files, without those that are gone or that no tool may read; blocks."""
    versions: list[FileVersion] = []
    for path in paths:
        with suppress(ToolError), jail.open_file(path) as opened:
            versions.append(version_of(opened))
    return tuple(versions)


def _is_fresh(stamp: FileStamp) -> bool:
    """Return True if a file may be written once more without another time."""
    return time.time_ns() - stamp.mtime_ns < _CLOCK_STEP_NS


def _fingerprint(opened: OpenFile) -> str:
    if opened.stamp.size > MAX_HASHED:
        return ""
    opened.file.seek(0)
    return hashlib.file_digest(opened.file, "sha256").hexdigest()[:FINGERPRINT_DIGITS]


class JailedFileVersionChecker:
    """Compares files of one workspace with how they were.

    A file of another size has changed. One of the same size, but another time or inode, is hashed, so that
    one that was only touched, or written again with the same bytes, has not; it is called changed if it is
    too large, or too many are.
    """

    def __init__(self, jail: Jail) -> None:
        self._jail = jail
        self._touched: dict[FileVersion, FileStamp] = {}  # stamps of files whose bytes proved to be the same

    async def versions(self, paths: Sequence[str]) -> tuple[FileVersion, ...]:
        return await asyncio.to_thread(versions_of, self._jail, tuple(paths))

    async def check(self, versions: Sequence[FileVersion]) -> ChangeReport:
        """Return what changed. Raises WorkspaceAway: then nothing is known."""

        def check() -> ChangeReport:
            with root_in_place(self._jail):
                return self._check(versions)

        return await asyncio.to_thread(check)

    def _check(self, versions: Sequence[FileVersion]) -> ChangeReport:
        changed: list[ChangedFile] = []
        unchecked = 0
        bytes_left = MAX_HASHED_TOGETHER
        for version in versions:
            try:
                with self._jail.open_file(version.path) as opened:
                    if self._is_same(version, opened.stamp):
                        continue
                    after = ""
                    if opened.stamp.size <= bytes_left:
                        after = _fingerprint(opened)
                        bytes_left -= opened.stamp.size if after else 0
                    if after and after == version.fingerprint:
                        if not _is_fresh(opened.stamp):
                            self._touched[version] = opened.stamp
                    else:
                        changed.append(ChangedFile(version.path, version.fingerprint, after))
            except WorkspaceAway:
                raise
            except ToolError as error:
                if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, _GONE):
                    unchecked += 1
                else:  # also if a folder, or a link that leads out, is in its place
                    changed.append(ChangedFile(version.path, version.fingerprint, is_gone=True))
        return ChangeReport(tuple(changed), unchecked)

    def _is_same(self, version: FileVersion, stamp: FileStamp) -> bool:
        then = (version.size, version.modified_ns, version.inode)
        return then == (stamp.size, stamp.mtime_ns, stamp.inode) or self._touched.get(version) == stamp
