"""What differs between two states of a file, in words: for what has no lines to show."""

from __future__ import annotations

from helix_desktop.domain.file_history.changes import FileState
from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_HASH_DIGITS = 12


def describe_mode(diff: FileDiff) -> str:
    """Return how the permissions changed; empty if they did not."""
    before, after = diff.before, diff.after
    if before is None or after is None or before.mode == after.mode or "link" in (before.kind, after.kind):
        return ""
    return tr("Permissions: {before} → {after}", before=f"{before.mode:o}", after=f"{after.mode:o}")


def missing_line_end_note() -> str:
    return tr("no newline at end of file")


def describe_without_lines(diff: FileDiff) -> list[str]:
    """Return what happened, sentence by sentence, where no lines or images are compared."""
    lines = []
    match diff.kind:
        case "text":
            lines = [] if diff.hunks else [_empty_text(diff)]
        case "binary":
            lines = [tr("Binary file."), *_contents(diff)]
        case "too_large":
            lines = [tr("Too large to compare."), *_contents(diff)]
        case "hash_only":
            lines = [tr("Content not saved, so it can't be shown."), *_contents(diff)]
        case "link" | "folder":
            lines = _replacement(diff)
        case "mode":
            lines = [] if describe_mode(diff) else [tr("No changes.")]
    mode = describe_mode(diff)
    return [*lines, mode] if mode else lines


def describe_state(state: FileState | None) -> str:
    """Return what is at a path: a file's size and the beginning of its hash, where a link leads, a folder."""
    if state is None:
        return tr("Nothing")
    if state.kind == "link":
        return tr("Link to {target}", target=escape_hidden_name(state.target))
    if state.kind == "folder":
        return tr("Folder")
    if not state.digest:
        return format_size(state.size)
    return tr("{size}, SHA-256 {digest}…", size=format_size(state.size), digest=state.digest[:_HASH_DIGITS])


def _contents(diff: FileDiff) -> list[str]:
    lines = []
    if diff.before is not None:
        lines.append(tr("Before: {content}", content=describe_state(diff.before)))
    if diff.after is not None:
        lines.append(tr("After: {content}", content=describe_state(diff.after)))
    return lines


def _empty_text(diff: FileDiff) -> str:
    if diff.before is None and diff.after is not None:
        return tr("Empty file created.")
    if diff.before is not None and diff.after is None:
        return tr("Empty file deleted.")
    return tr("No changes.")


def _replacement(diff: FileDiff) -> list[str]:
    if diff.before is None:
        return [tr("Created: {content}", content=describe_state(diff.after))]
    if diff.after is None:
        return [tr("Deleted: {content}", content=describe_state(diff.before))]
    return _contents(diff)
