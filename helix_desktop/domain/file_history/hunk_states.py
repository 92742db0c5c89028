"""What became of the hunks of a change: does each still stand in what its file is now?"""

from __future__ import annotations

from typing import Literal

from helix_desktop.domain.file_history.diff import FileDiff, apply_hunks
from helix_desktop.domain.file_history.merge import merge

HunkState = Literal["standing", "taken_back", "changed"]
"""Its lines are there, as it left them; they are as before it; they were changed since in another way."""

_MAX_BYTES = 32 * 1024 * 1024  # that are merged for one diff; more hunks than that count as standing


def hunk_states(
    diff: FileDiff, before: bytes | None, after: bytes | None, present: bytes | None
) -> tuple[HunkState, ...]:
    """Return the state of each hunk of a diff from `before` to `after` in what stands there now.

    A hunk stands if taking it back alone would change the file, and is taken back if that would do nothing.
    """
    if present == after:
        return all_in_state(diff, "standing")
    if present == before:
        return all_in_state(diff, "taken_back")
    if before is None or after is None or present is None:
        return all_in_state(diff, "changed")
    if len(diff.hunks) * (len(after) + len(present)) > _MAX_BYTES:
        return all_in_state(diff, "standing")
    return tuple(
        _state(after, present, apply_hunks(before, diff, (number,))) for number in range(len(diff.hunks))
    )


def all_in_state(diff: FileDiff, state: HunkState) -> tuple[HunkState, ...]:
    """Return one state for each hunk of a diff."""
    return tuple(state for _ in diff.hunks)


def _state(after: bytes, present: bytes, without: bytes) -> HunkState:
    merged = merge(after, present, without)
    if merged is None or not merged.is_clean:
        return "changed"
    return "taken_back" if merged.build() == present else "standing"
