"""What changed in the files of a workspace, in one line each."""

from __future__ import annotations

from collections.abc import Iterable

from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileChange
from helix_desktop.domain.tools import ANY, AutoRunChange, PermissionRule
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.words.direction import with_sign
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import Translator, translate

tr = Translator("Changes")


def recorded_changes_text(event: ChangesRecorded, turn: int = 0, *, is_redo: bool | None = None) -> str:
    """Return what changed by something else than a call of this session; of a revert, how much it took back.

    `turn` is the turn of what a revert takes back, 0 if it is not known. `is_redo` says if it brings back
    what was taken back; None: only its own event is known.
    """
    if event.source == "revert":
        return _revert_text(event, turn, is_redo=event.scope == "redo" if is_redo is None else is_redo)
    file = escape_hidden_name(event.first_path)
    if event.source == "outside":
        if event.files == 1:
            return tr("{file} changed outside the agent", file=file)
        return tr.plural(
            event.files, "%n file changed outside the agent", "%n files changed outside the agent"
        )
    if event.files == 1:
        return tr("{file} changed", file=file)
    return tr.plural(event.files, "%n file changed", "%n files changed")


def changed_files_text(files: int, first_path: str) -> str:
    """Return which file, or how many, a call changed; without a path how many in any case."""
    return (
        escape_hidden_name(first_path)
        if files == 1 and first_path
        else tr.plural(files, "%n file", "%n files")
    )


def change_note(change: FileChange) -> str:
    """Return what happened to a path besides its lines: nothing, if only these changed."""
    match change.kind:
        case "created":
            return tr("created")
        case "deleted":
            return tr("deleted")
        case "moved":
            return tr("moved from {path}", path=escape_hidden_name(change.moved_from))
    return ""


def uncovered_text(files: int) -> str:
    """Return how many files of a call cannot be brought back; empty if all can."""
    return tr.plural(files, "%n file can't be undone", "%n files can't be undone") if files else ""


def line_counts_texts(added: int, removed: int) -> tuple[str, str]:
    """Return the lines added and removed as `+12` and `-4`, with a true minus sign."""
    return with_sign("+", format_integer(added)), with_sign("\N{MINUS SIGN}", format_integer(removed))


def changed_lines_text(added: int, removed: int, binary: int, files: int) -> str:
    """Return lines added and removed, and how many of the files are binary, which have none.

    Empty if nothing is known of lines: of folders, links, permissions, files that are too large.
    """
    if binary and binary == files:
        return tr("binary")
    parts = " ".join(line_counts_texts(added, removed)) if added or removed else ""
    return ", ".join(
        filter(None, (parts, tr.plural(binary, "%n binary file", "%n binary files") if binary else ""))
    )


def _revert_text(event: ChangesRecorded, turn: int, *, is_redo: bool) -> str:
    files = changed_files_text(event.files, event.first_path)
    if is_redo:
        is_part = event.scope == "hunk"
        return (
            tr("Redid part of {files}", files=files) if is_part else tr("Redid changes: {files}", files=files)
        )
    match event.scope:
        case "hunk":
            return tr("Reverted part of {files}", files=files)
        case "turn" if turn:
            return tr("Reverted turn {turn}: {files}", turn=turn, files=files)
        case "session":
            return tr("Reverted the session's changes: {files}", files=files)
        case "rewind":
            return tr("Rewound files: {files}", files=files)
    return tr("Reverted {files}", files=files)


def auto_run_rules_text(changes: Iterable[AutoRunChange]) -> str:
    """Return which rules would have left what was taken back; empty if nothing was."""
    paths = [change.path for change in changes if change.outcome == "removed"]
    words = tuple(escape_hidden(translate(PermissionRule(ANY, path, kind="path").text)) for path in paths)
    if not paths:
        return ""
    return tr.plural(
        len(paths),
        "To keep it, allow it in Settings → Permissions: {rules}",
        "To keep all %n, allow them in Settings → Permissions: {rules}",
        rules=words,
    )


def auto_run_reason(change: AutoRunChange) -> str:
    """Return what other programs would run of a change, or what follows from it, on one line."""
    return "; ".join(map(escape_hidden, change.reasons)) or translate(change.effect)


def auto_run_texts(changes: Iterable[AutoRunChange]) -> list[str]:
    """Return what a call changed that other programs run by themselves: a line for each outcome."""
    lines: dict[str, list[str]] = {"removed": [], "failed": [], "left": []}
    for change in changes:
        name = escape_hidden_name(change.path)
        why = auto_run_reason(change)
        outcome = change.outcome if change.outcome in lines else "left"
        lines[outcome].append(f"{name} ({why})" if why else name)
    texts = []
    if lines["removed"]:
        texts.append(
            tr.plural(
                len(lines["removed"]),
                "Taken back, as programs run it by themselves: {files}",
                "%n files taken back, as programs run them by themselves: {files}",
                files=tuple(lines["removed"]),
            )
        )
    if lines["failed"]:
        texts.append(
            tr.plural(
                len(lines["failed"]),
                "Couldn't be taken back, and programs run it: {files}",
                "%n files couldn't be taken back, and programs run them: {files}",
                files=tuple(lines["failed"]),
            )
        )
    if lines["left"]:
        texts.append(tr("Changed what other programs run: {files}", files=tuple(lines["left"])))
    return texts
