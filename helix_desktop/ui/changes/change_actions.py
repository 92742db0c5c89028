"""What the user does with changes, by menu, key or button."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.domain.file_history.changes import RecordedChanges, RevertSelection, SessionChanges
from helix_desktop.ui.changes.change_list_view import ChangeListView
from helix_desktop.ui.changes.rows import (
    ChangeGroup,
    Entry,
    FileRow,
    agent_capture_ids,
    can_accept,
    can_change,
    file_of,
)
from helix_desktop.ui.kit.commands import PageKeys
from helix_desktop.ui.kit.intents import Intent, perform

# What entries of the page of changes want.
# fmt: off

class AcceptChanges(Intent, frozen=True):  # no paths: all
    paths: tuple[str, ...] = ()
class RevertChanges(Intent, frozen=True):
    selection: RevertSelection
# of captures that were taken back, or that took something back; no paths: all
class RedoChanges(Intent, frozen=True):
    capture_id: str
    paths: tuple[str, ...]
# a hunk of the diff of one capture, by its number (from 0); one that was taken back is done again
class RevertHunk(Intent, frozen=True):
    file: FileRow
    hunk: int
    is_redo: bool
class OpenInEditor(Intent, frozen=True):
    path: str
class CopyPatch(Intent, frozen=True):
    selection: RevertSelection
class ShowUncoveredPlaces(Intent, frozen=True): ...  # what can't be undone

# fmt: on


class ChangeActions(QObject):
    def __init__(self, change_list: ChangeListView, keys: PageKeys) -> None:
        super().__init__(change_list)
        self.list, self.keys = change_list, keys
        self.changes: SessionChanges | None = None
        """All that the session changed."""

    @property
    def entry(self) -> Entry | None:
        return self.list.selected

    def perform(self, intent: Intent) -> None:
        perform(self.list, intent)

    def accept(self) -> None:
        entry = self.entry
        if entry is not None and can_accept(entry):
            paths = [path for row in _rows(entry) for path in row.paths]
            self.perform(AcceptChanges(tuple(dict.fromkeys(paths))))

    def revert(self) -> None:
        """Ask to take back what is selected; what was taken back already, to do it again."""
        entry = self.entry
        if entry is None or not can_change(entry):
            return
        file = file_of(entry)
        if file is not None and not file.is_covered:
            return
        if entry.status != "reverted":
            self.perform(RevertChanges(entry.selection))
        else:
            self._redo(entry)

    def _redo(self, entry: Entry) -> None:
        """Ask to do again what was taken back: of several captures what the last revert of them took back."""
        file = file_of(entry)
        paths = file.paths if file is not None else ()
        ids = agent_capture_ids(entry.captures)
        if len(ids) == 1:
            self.perform(RedoChanges(ids[0], paths))
            return
        reverts = [
            capture.capture_id
            for capture in (self.changes.captures if self.changes is not None else ())
            if capture.source == "revert"
            and not set(ids).isdisjoint(capture.reverts)
            and _has_standing(capture, paths)
        ]
        if reverts:
            self.perform(RedoChanges(reverts[-1], paths))

    def open_in_editor(self) -> None:
        file = file_of(self.entry)
        if file is not None and file.after is not None and file.after.kind == "file":
            self.perform(OpenInEditor(file.path))

    def copy_patch(self) -> None:
        if self.entry is not None:
            self.perform(CopyPatch(self.entry.selection))


def _has_standing(capture: RecordedChanges, paths: tuple[str, ...]) -> bool:
    """Return True if a capture changed one of these paths (none: any), and that was not taken back."""
    standing = {change.path for change in capture.changes} - set(capture.reverted)
    return bool(standing.intersection(paths) if paths else standing)


def _rows(entry: Entry) -> tuple[FileRow, ...]:
    """Return the files of a turn, or a file."""
    file = file_of(entry)
    if file is not None:
        return (file,)
    return entry.rows if isinstance(entry, ChangeGroup) else ()
