"""Notes that tell the model which files it knows changed, by the user or in another session; sent once."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.domain.files.version import ChangedFile
from helix_desktop.domain.unicode_safety import escape_hidden_name

_MAX_NAMED = 20


def files_note(files: Sequence[ChangedFile]) -> str:
    """Return the note on files that changed since they were read or written; empty without any."""
    changed = _names([file for file in files if not file.is_gone])
    gone = _names([file for file in files if file.is_gone])
    parts = [*([f"changed: {changed}"] if changed else []), *([f"gone: {gone}"] if gone else [])]
    if not parts:
        return ""
    return f"[Files on disk since you last saw them: {'; '.join(parts)}. What stands above of them is old.]"


def _names(files: Sequence[ChangedFile]) -> str:
    names = ", ".join(escape_hidden_name(file.path) for file in files[:_MAX_NAMED])
    return f"{names} and {len(files) - _MAX_NAMED} more" if len(files) > _MAX_NAMED else names
