"""Finds files that a call moved: the same content, gone at one path and new at another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from helix_desktop.domain.file_history.state import FileChange, FileState


def with_moves(changes: Mapping[str, FileChange]) -> list[FileChange]:
    """Return changes in the order of their paths, those of moved files with where they were.

    Each path that is gone is the origin of one at most, rather of one with its name. Empty files are all
    alike: of them only the name tells.
    """
    gone: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(changes, reverse=True):
        if (key := _content(changes[path].before)) and changes[path].after is None:
            gone[key].append(path)
    origins: dict[str, str] = {}
    created = [path for path in sorted(changes) if changes[path].before is None]
    for by_name in (True, False):
        for path in created:
            after = changes[path].after
            if path in origins or not (key := _content(after)):
                continue
            paths = [origin for origin in gone[key] if _name(origin) == _name(path) or not by_name]
            if paths and after is not None and (by_name or after.size):
                origins[path] = paths[-1]
                gone[key].remove(paths[-1])
    return [
        msgspec.structs.replace(changes[path], moved_from=origins.get(path, "")) for path in sorted(changes)
    ]


def _content(state: FileState | None) -> tuple[str, str] | None:
    if state is None or state.kind == "folder":
        return None
    content = state.digest if state.kind == "file" else state.target
    return (state.kind, content) if content else None


def _name(path: str) -> str:
    return path.rpartition("/")[2]
