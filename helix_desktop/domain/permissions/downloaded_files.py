"""The files that a command downloads or decodes: nobody knows their text before it runs."""

from __future__ import annotations

import posixpath

from helix_desktop.domain.permissions.program import Program, passes_on
from helix_desktop.domain.permissions.texts_to_run import DECODERS
from helix_desktop.domain.permissions.written_paths import downloaded_paths


class DownloadedFiles:
    """Collects these files as the programs of a command are read."""

    def __init__(self) -> None:
        self._paths: set[str] = set()

    def add(self, program: Program, piped: Program | None) -> None:
        """Add what a program writes with such a text; `piped` is the program whose output it gets."""
        paths = downloaded_paths(program.name, program.words)
        is_passed_on = piped is not None and piped.name in DECODERS and passes_on(program)
        if program.name in DECODERS or is_passed_on:
            paths += program.outputs
        if is_passed_on:
            paths += program.words
        self._paths.update(_joined(program.folder, path) for path in paths)

    def contains(self, folder: str, path: str) -> bool:
        """Return True if a path, seen from a folder, is one of them."""
        return _joined(folder, path) in self._paths


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))
