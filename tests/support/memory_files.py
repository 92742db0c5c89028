"""Files in memory, with a checker that compares them: for tests of what is recorded of changes."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.files.content import FINGERPRINT_DIGITS, ChangedFile, ChangeReport, FileVersion

FOLDER = b"\0folder"
"""The content of a path that is an empty folder."""


class MemoryFiles:
    """Files by path; each write is a version of its own."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, int]] = {}
        self._writes = 0
        self.check_count = 0
        self.error: OSError | None = None  # raised by each check

    def write(self, path: str, data: bytes) -> None:
        self._writes += 1
        self._files[path] = data, self._writes

    def remove(self, path: str) -> None:
        del self._files[path]

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None: there is none."""
        return self._files[path][0] if path in self._files else None

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(self._files))

    def version(self, path: str) -> FileVersion:
        data, write = self._files[path]
        return FileVersion(path, len(data), write, write, digest_of(data)[:FINGERPRINT_DIGITS])

    async def versions(self, paths: Sequence[str]) -> tuple[FileVersion, ...]:
        return tuple(self.version(path) for path in paths if path in self._files)

    async def check(self, versions: Sequence[FileVersion]) -> ChangeReport:
        self.check_count += 1
        if self.error is not None:
            raise self.error
        changed = []
        for version in versions:
            if version.path not in self._files:
                changed.append(ChangedFile(version.path, version.fingerprint, is_gone=True))
            elif (after := self.version(version.path).fingerprint) != version.fingerprint:
                changed.append(ChangedFile(version.path, version.fingerprint, after))
        return ChangeReport(tuple(changed))
