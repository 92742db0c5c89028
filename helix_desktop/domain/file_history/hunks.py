"""Hunks of a diff that are taken back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from helix_desktop.domain.file_history.diff import FileDiff, encode_text, split_lines
from helix_desktop.domain.file_history.three_way_merge import merge

HunkState = Literal["standing", "taken_back", "changed"]
"""Its lines are there, as it left them; they are as before it; they were changed since in another way."""

_MAX_BYTES = 32 * 1024 * 1024  # that are merged for one diff; more hunks than that count as standing


def apply_hunks(before: bytes, diff: FileDiff, undone: Collection[int]) -> bytes:
    """Return the later content without the hunks `undone` (numbers from 0): with all of them, `before`.

    Raises ValueError if `diff` is none of texts, or not one from `before` on.
    """
    if diff.kind == "mode":
        return before
    if diff.kind != "text":
        raise ValueError(f"a diff of kind {diff.kind} has no hunks")
    lines = split_lines(before, diff.before_encoding)
    if set(undone).issuperset(range(len(diff.hunks))):
        return before
    parts: list[str] = []
    at = 0
    for number, hunk in enumerate(diff.hunks):
        start = hunk.old_start - 1
        old = [line.full_text for line in hunk.lines if line.kind != "added"]
        if start < at or lines[start : start + len(old)] != old:
            raise ValueError(f"hunk {number} does not fit this content")
        parts += lines[at:start]
        parts += (
            old if number in undone else [line.full_text for line in hunk.lines if line.kind != "removed"]
        )
        at = start + len(old)
    return encode_text("".join([*parts, *lines[at:]]), diff.after_encoding)


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
    return tuple(state for _ in diff.hunks)


def _state(after: bytes, present: bytes, without: bytes) -> HunkState:
    merged = merge(after, present, without)
    if merged is None or not merged.is_clean:
        return "changed"
    return "taken_back" if merged.build() == present else "standing"
