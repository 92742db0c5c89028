"""The words of the page of changes."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.domain.file_history.changes import (
    ChangedFileStatus,
    ChangeSource,
    FileCoverage,
    RecordedChanges,
    RevertScope,
    UncoveredReason,
)
from helix_desktop.domain.file_history.diff import HunkState
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.changes.change_groups import (
    ChangeGroup,
    ChangesState,
    Entry,
    FileRow,
    GroupedChanges,
    LineCounts,
    Obstacle,
    RowKind,
)
from helix_desktop.ui.design.diff.rows import HunkMark
from helix_desktop.ui.design.pill import Tone
from helix_desktop.words.direction import dotted
from helix_desktop.words.file_changes import changed_lines_text, line_counts_texts
from helix_desktop.words.file_coverage import uncovered_reason_text
from helix_desktop.words.numbers import format_size, format_whole_percent
from helix_desktop.words.revert_plans import plan_status_text
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator, translate

text = TextContext("Changes")
tr = Translator("Changes")

_COMMAND_CHARS = 60  # of a command that are shown in a list

KIND_ICONS: dict[RowKind, tuple[str, str]] = {
    "created": ("file-plus", "ok"),
    "changed": ("file-pen", "muted"),
    "deleted": ("file-minus", "error"),
    "moved": ("arrow-right", "accent_text"),
    "mode": ("key-round", "muted"),
    "link": ("link", "muted"),
    "folder": ("folder", "muted"),
    "same": ("circle-check", "muted"),
}
"""The icon of what happened to a file, and the token of its color."""
_KINDS: dict[RowKind, TranslatableText] = {
    "created": text("created"),
    "changed": text("changed"),
    "deleted": text("deleted"),
    "moved": text("moved"),
    "mode": text("permissions changed"),
    "link": text("link"),
    "folder": text("folder"),
    "same": text("as before"),
}
_SOURCES: dict[ChangeSource, TranslatableText] = {
    "tool": text("Edits"),
    "command": text("Commands"),
    "outside": text("You or another program"),
    "revert": text("Reverts, redos, rewinds"),
}
_REVERTS: dict[RevertScope, TranslatableText] = {
    "hunk": text("Revert of a part"),
    "rewind": text("Rewind"),
}
STATUSES: dict[ChangedFileStatus, tuple[TranslatableText, Tone]] = {
    "open": (text("Open"), "neutral"),
    "accepted": (text("Reviewed"), "ok"),
    "reverted": (text("Reverted"), "warn"),
}
"""What became of a change, and the tone of its pill."""


def kind_text(kind: RowKind) -> str:
    """Return what happened to a file, in lower case."""
    return translate(_KINDS[kind])


def change_source_text(source: ChangeSource) -> str:
    return translate(_SOURCES[source])


def change_status_text(entry: Entry) -> str:
    """Return what became of a change; of a revert that it was undone."""
    if entry.is_revert and entry.status == "reverted":
        return tr("Undone")
    return translate(STATUSES[entry.status][0])


def hunk_marks(row: FileRow, states: Sequence[HunkState]) -> tuple[HunkMark, ...]:
    return tuple(_hunk_mark(row, state) for state in states)


def _hunk_mark(row: FileRow, state: HunkState) -> HunkMark:
    match state:
        case "taken_back":
            return HunkMark(
                tr("Undone") if row.is_revert else translate(STATUSES["reverted"][0]), is_over=True
            )
        case "changed":
            return HunkMark(plan_status_text("conflict"))
    return HunkMark()


def split_path(path: str) -> tuple[str, str]:
    """Return the folder of a path (empty: none) and its name, as they are shown."""
    folder, _, name = escape_hidden_name(path).rpartition("/")
    return folder, name


def who_text(capture: RecordedChanges) -> str:
    """Return who made a change; empty for what differs from the last commit: nobody knows."""
    if not capture.capture_id:
        return ""
    match capture.source:
        case "outside":
            return change_source_text("outside")
        case "revert":
            return revert_name(capture.scope, is_redo=capture.is_redo)
        case "command":
            return _during_text((capture.target or display_name(capture.tool), *capture.others))
    tool = display_name(capture.tool)
    return _during_text((tool, *capture.others)) if capture.others else tool


def revert_name(scope: RevertScope, *, is_redo: bool) -> str:
    if is_redo:
        return tr("Redo of a part") if scope == "hunk" else tr("Redo")
    return translate(_REVERTS[scope]) if scope in _REVERTS else tr("Revert")


def when_text(capture: RecordedChanges, now_ms: int, *, with_time: bool = False) -> str:
    """Return when a change was made, or only found; empty where that is not known."""
    if not capture.at_ms:
        return ""
    time = format_relative_time(capture.at_ms, now_ms, with_time=with_time)
    return tr("found {time}", time=time) if capture.is_after_crash else time


def makers_text(captures: Sequence[RecordedChanges]) -> str:
    names = list(dict.fromkeys(who_text(capture) for capture in captures))
    if len(names) == 1:
        return names[0]
    return tr.plural(len(names) - 1, "{first} and %n other", "{first} and %n others", first=names[0])


def _during_text(calls: Sequence[str]) -> str:
    names = [f"“{ellipsize(' '.join(escape_hidden_name(call).split()), _COMMAND_CHARS)}”" for call in calls]
    if len(names) == 1:
        return tr("During {command}", command=names[0])
    return tr.plural(
        len(names) - 1, "During {command} and %n other", "During {command} and %n others", command=names[0]
    )


def counts_texts(counts: LineCounts | None) -> tuple[str, str]:
    """Return lines added and removed with their signs; empty where there are none, or nobody counted."""
    if counts is None:
        return "", ""
    plus, minus = line_counts_texts(counts.added, counts.removed)
    return plus if counts.added else "", minus if counts.removed else ""


def binary_text() -> str:
    return changed_lines_text(0, 0, binary=1, files=1)


def changes_total_text(grouped: GroupedChanges, counts: LineCounts | None) -> str:
    """Return how many files are not as before, and their lines, if these are counted."""
    heads = [group.head for group in grouped.by_file if group.head is not None]
    is_counted = [head for head in heads if not head.is_folder] or heads
    files, differing = len(is_counted), sum(head.kind != "same" for head in is_counted)
    if not differing and files:
        return tr.plural(files, "%n file as before", "%n files as before")
    words = files_text(files)
    if differing < files:
        words = tr.plural(
            files, "{differing} of %n file changed", "{differing} of %n files changed", differing=differing
        )
    return dotted((words, " ".join(filter(None, counts_texts(counts)))))


def _accessible_counts(counts: LineCounts | None) -> str:
    if counts is None or not any(counts):
        return ""
    if counts.is_binary:
        return binary_text()
    added, removed, _ = counts
    parts = (
        tr.plural(added, "%n line added", "%n lines added") if added else "",
        tr.plural(removed, "%n line removed", "%n lines removed") if removed else "",
    )
    return ", ".join(filter(None, parts))


def turn_text(group: ChangeGroup) -> str:
    """Return the heading of a turn, or of what the user took back or did again."""
    capture = group.first
    if group.is_revert:
        return tr("You: {what}", what=who_text(capture))
    if not capture.turn:
        return tr("Before the first message")
    title = " ".join(capture.turn_title.split())
    return title or tr("Turn {number}", number=capture.turn)


def group_files_text(group: ChangeGroup) -> str:
    """Return how many files a group is of; of folders alone how many these are."""
    if not group.rows:
        return tr("not in the file history")
    if all(row.is_folder for row in group.rows):
        return tr.plural(group.files, "%n folder", "%n folders")
    return files_text(group.files)


def files_text(count: int) -> str:
    return tr.plural(count, "%n file", "%n files")


def accessible_row_text(row: FileRow, counts: LineCounts | None) -> str:
    parts = (
        who_text(row.last) if row.is_one_capture else escape_hidden_name(row.path),
        kind_text(row.kind),
        _accessible_counts(counts),
        "" if row.is_one_capture else makers_text(row.captures),
        change_status_text(row) if row.status != "open" else "",
        "" if row.is_covered else tr("can't be undone"),
    )
    return ", ".join(filter(None, parts))


def empty_text(state: ChangesState) -> str:
    match state.obstacle:
        case "untrusted":
            return tr("This folder isn't trusted, so the agent can't change files here.")
        case "missing":
            return tr("The folder of this workspace is missing. Its changes can't be read or undone.")
    if state.source == "commit":
        return tr("Nothing differs from the last commit.")
    if count := state.removed_captures:
        return tr.plural(
            count,
            "%n step of this session changed files. The file history of this computer doesn't have them: the "
            "session was imported, or they were removed.",
            "%n steps of this session changed files. The file history of this computer doesn't have them: "
            "the session was imported, or they were removed.",
        )
    return _unchanged_text(state.coverage)


def _unchanged_text(coverage: FileCoverage) -> str:
    if not coverage.is_complete and not coverage.error:
        if coverage.is_paused:
            return tr("Copying files is paused. Changes to files that aren't copied yet can't be undone.")
        return tr(
            "Your files are being copied, so that every change can be undone. Changes appear here as the "
            "agent works."
        )
    return tr("No files changed yet. Files that the agent or its commands change appear here.")


def empty_button_text(obstacle: Obstacle) -> str:
    match obstacle:
        case "untrusted":
            return tr("Trust folder…")
        case "missing":
            return tr("Go to chat")
    return tr("Write a message")


def file_coverage_text(coverage: FileCoverage, obstacle: Obstacle = "") -> str:
    if obstacle:
        return ""
    if coverage.error:
        return tr("Copying files stopped: {reason}", reason=coverage.error)
    if not coverage.is_complete:
        share = copied_share(coverage)
        if coverage.is_paused:
            return tr("Copying files paused: {share}", share=format_whole_percent(share))
        return (
            tr("Copying files: {share}", share=format_whole_percent(share)) if share else tr("Copying files…")
        )
    return tr("Changes here can be undone")


def copied_share(coverage: FileCoverage) -> float:
    """Return how much of the first copy is done, from 0 to 1."""
    return coverage.files / (coverage.files + coverage.pending) if coverage.files else 0.0


def place_note(reason: UncoveredReason, files: int, size: int) -> str:
    parts = (
        uncovered_reason_text(reason),
        files_text(files) if files else "",
        format_size(size) if size else "",
    )
    return " · ".join(filter(None, parts))
