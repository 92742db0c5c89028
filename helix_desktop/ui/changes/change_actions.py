"""What the user does with changes, by menu, key or button."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from helix_desktop.domain.file_history.changes import RecordedChanges, SessionChanges
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


class ChangeActions(QObject):
    """Actions on what is selected in the list; emits what others do."""

    accept_requested = Signal(tuple)
    """Paths; none: all."""
    revert_requested = Signal(object)
    """A RevertSelection."""
    hunk_revert_requested = Signal(object, int)
    """The FileRow of one capture, and the number (from 0) of a hunk of its diff."""
    hunk_redo_requested = Signal(object, int)
    """The same, of a hunk that was taken back."""
    redo_requested = Signal(str, tuple)
    """The capture that was taken back, and the paths to redo; none: all."""
    editor_requested = Signal(str)
    patch_requested = Signal(object)
    """A RevertSelection."""
    chat_requested = Signal(int)
    """The event to show in the chat; 0: none, to write a message."""
    places_requested = Signal()

    def __init__(self, change_list: ChangeListView, keys: PageKeys) -> None:
        super().__init__(change_list)
        self.list, self.keys = change_list, keys
        self.changes: SessionChanges | None = None
        """All that the session changed."""

    @property
    def entry(self) -> Entry | None:
        """The group or file that is selected."""
        return self.list.selected

    def accept(self) -> None:
        """Ask to accept what is selected."""
        entry = self.entry
        if entry is not None and can_accept(entry):
            paths = [path for row in _rows(entry) for path in row.paths]
            self.accept_requested.emit(tuple(dict.fromkeys(paths)))

    def revert(self) -> None:
        """Ask to take back what is selected; what was taken back already, to do it again."""
        entry = self.entry
        if entry is None or not can_change(entry):
            return
        file = file_of(entry)
        if file is not None and not file.is_covered:
            return
        if entry.status != "reverted":
            self.revert_requested.emit(entry.selection)
        else:
            self._redo(entry)

    def _redo(self, entry: Entry) -> None:
        """Ask to do again what was taken back: of several captures what the last revert of them took back."""
        file = file_of(entry)
        paths = file.paths if file is not None else ()
        ids = agent_capture_ids(entry.captures)
        if len(ids) == 1:
            self.redo_requested.emit(ids[0], paths)
            return
        reverts = [
            capture.capture_id
            for capture in (self.changes.captures if self.changes is not None else ())
            if capture.source == "revert"
            and not set(ids).isdisjoint(capture.reverts)
            and _has_standing(capture, paths)
        ]
        if reverts:
            self.redo_requested.emit(reverts[-1], paths)

    def revert_hunk(self, hunk: int) -> None:
        """Ask to take back a hunk of the selected file, by its number (from 0)."""
        file = file_of(self.entry)
        if file is not None:
            self.hunk_revert_requested.emit(file, hunk)

    def redo_hunk(self, hunk: int) -> None:
        """Ask to do a hunk of the selected file again that was taken back, by its number (from 0)."""
        file = file_of(self.entry)
        if file is not None:
            self.hunk_redo_requested.emit(file, hunk)

    def open_in_editor(self) -> None:
        """Ask for the selected file in its own program."""
        file = file_of(self.entry)
        if file is not None and file.after is not None and file.after.kind == "file":
            self.editor_requested.emit(file.path)

    def copy_patch(self) -> None:
        """Ask for the patch of what is selected."""
        if self.entry is not None:
            self.patch_requested.emit(self.entry.selection)


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
