"""What changed in the files of a workspace, in words: states, diffs, reverts, and what is not covered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import (
    FileChange,
    FileCoverage,
    FileState,
    PlannedFile,
    RevertProblem,
    RevertScope,
    RevertStatus,
    UncoveredReason,
)
from helix_desktop.domain.file_history.diff import MAX_TEXT_BYTES, FileDiff
from helix_desktop.domain.files.content import ChangedFile
from helix_desktop.domain.tools import ANY, AutoRunChange, PermissionRule
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.words.numbers import format_integer, format_size
from helix_desktop.words.translation import Translator, translate

tr = Translator("Changes")
text = TextContext("Changes")


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


def files_changed_text(files: Sequence[ChangedFile]) -> str:
    if len(files) > 1:
        return tr.plural(
            len(files), "%n file changed since it was read", "%n files changed since they were read"
        )
    return changed_file_text(files[0])


def changed_file_text(file: ChangedFile) -> str:
    if file.is_gone:
        return tr("{file} was deleted since it was read", file=file.path)
    return tr("{file} changed since it was read", file=file.path)


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
    return f"+{format_integer(added)}", f"\N{MINUS SIGN}{format_integer(removed)}"


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


_LISTED = 3  # places that the line names
_DETAILED = 30  # places with their reasons
_REASONS: dict[UncoveredReason, TranslatableText] = {
    "pending": text("Not copied yet"),
    "ignored": text("Ignored by git, or a build folder"),
    "secret": text("May contain a secret: only its digest is saved"),
    "too_large": text("Over the size limit"),
    "mount": text("On another file system"),
    "special": text("Not a regular file"),
    "unreadable": text("Can't be read"),
    "hard_links": text("Has other names (hard links)"),
    "name": text("Its name isn't valid text"),
    "quota": text("The file history's limit is reached"),
    "own_data": text("Belongs to Helix Desktop"),
    "git": text("Belongs to git"),
}


def uncovered_reason_text(reason: UncoveredReason) -> str:
    return translate(_REASONS[reason])


def uncovered_line(coverage: FileCoverage) -> str:
    """Return in one line where a call's changes could not be undone; empty: everywhere they can."""
    if coverage.error:
        return tr("Can't be undone: {reason}", reason=escape_hidden(translate(coverage.error)))
    if not coverage.uncovered:
        return "" if coverage.is_complete else tr("Can't be undone in files that are not copied yet")
    names = ", ".join(escape_hidden_name(place.path) for place in coverage.places[:_LISTED])
    if not names:
        return tr.plural(coverage.uncovered, "Can't be undone in %n place", "Can't be undone in %n places")
    more = coverage.uncovered - len(coverage.places[:_LISTED])
    if more <= 0:
        return tr("Can't be undone in {names}", names=names)
    return tr.plural(
        more,
        "Can't be undone in {names} and %n more place",
        "Can't be undone in {names} and %n more places",
        names=names,
    )


def uncovered_details(coverage: FileCoverage) -> tuple[str, ...]:
    """Return each place that is not covered, the first ones, with its reason; one a line."""
    lines = [
        f"{escape_hidden_name(place.path)} · {uncovered_reason_text(place.reason)}"
        for place in coverage.places[:_DETAILED]
    ]
    left = coverage.uncovered - len(lines)
    if left > 0 and lines:
        lines.append(tr.plural(left, "and %n more place", "and %n more places"))
    if lines and not coverage.is_complete and not coverage.error:
        lines.append(tr("Files that are not copied yet"))
    return tuple(lines)


_HASH_DIGITS = 12


def describe_mode(diff: FileDiff) -> str:
    """Return how the permissions changed; empty if they did not."""
    before = diff.before
    after = diff.after
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
            if diff.after_data is not None:  # it can be read
                limit = format_size(MAX_TEXT_BYTES)
                size = format_size(len(diff.after_data))
                lines = [tr("Over {limit}, so lines aren't compared.", limit=limit), size]
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


_PROBLEMS: dict[RevertProblem, TranslatableText] = {
    "not_covered": text("The previous content isn't saved."),
    "content_removed": text("The previous content isn't in the file history."),
    "folder_gone": text("Its folder is gone."),
    "not_a_folder": text("Its folder is something else now."),
    "not_empty": text("The folder holds other files."),
    "no_permission": text("You don't have permission to change it."),
    "disk_full": text("There isn't enough disk space."),
    "hard_links": text("It has other names (hard links) that would change too."),
    "outside": text("A link leads out of the workspace."),
    "busy": text("A command that may change it is running."),
}
_STATUSES: dict[RevertStatus, TranslatableText] = {
    "conflict": text("Changed since in the same lines"),
    "merge": text("Changed since in other lines"),
    "blocked": text("Can't be reverted"),
    "ready": text("Ready"),
    "same": text("Nothing to do"),
}


def problem_text(problem: RevertProblem) -> str:
    return translate(_PROBLEMS[problem]) if problem in _PROBLEMS else tr("It can't be changed now.")


def plan_status_text(status: RevertStatus) -> str:
    return translate(_STATUSES[status])


def revert_name(scope: RevertScope, *, is_redo: bool) -> str:
    if scope == "hunk":
        return tr("Redo of a part") if is_redo else tr("Revert of a part")
    if is_redo:
        return tr("Redo")
    return tr("Rewind") if scope == "rewind" else tr("Revert")


def revert_effect_text(file: PlannedFile) -> str:
    if file.former is None:
        return tr("Delete")
    if file.present is None:
        return tr("Create again")
    return tr("Restore")
