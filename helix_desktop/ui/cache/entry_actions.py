"""What the user does with cached contents, by menu, key or button."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from helix_desktop.domain.digest import bare_marker, marker
from helix_desktop.ui.cache.preview.pane import Preview
from helix_desktop.ui.cache.rows import CacheRow
from helix_desktop.ui.cache.table import CacheTable


class EntryActions(QObject):
    """Actions on the entries selected in a table, one of which is in the preview; emits what others do.

    Contents are named by their digests.
    """

    recall_requested = Signal(str, int, int)  # digest, first and last line counted from 1 (0, 0: whole)
    recall_part_requested = Signal(list, int, int)
    """Lines or matches of these are wanted; the first and last line that are selected (0, 0: none)."""
    verify_requested = Signal(list)
    export_requested = Signal(str)
    export_all_requested = Signal(list)  # into a folder
    pin_requested = Signal(list, bool)  # whether no clean-up is to take them
    trash_requested = Signal(list)
    restore_requested = Signal(list)
    redact_requested = Signal(str)
    link_requested = Signal(list)
    chat_requested = Signal(str)
    timeline_requested = Signal(str)

    def __init__(self, table: CacheTable, preview: Preview) -> None:
        super().__init__(table)
        self.table, self.preview = table, preview
        preview.recall_requested.connect(self.recall_requested)
        preview.part_requested.connect(self.recall_part)
        preview.verify_requested.connect(lambda digest: self.verify_requested.emit([digest]))
        preview.export_requested.connect(self.export_requested)

    def recall(self) -> None:
        """Recall the selected lines of the preview, or all of each selected content."""
        rows = self.table.selected_rows()
        if len(rows) > 1:
            self.recall_whole(undamaged(rows))
        else:
            self.preview.recall()

    def recall_part(self) -> None:
        """Ask which part of the selected contents to recall."""
        digests = [row.digest for row in undamaged(self.table.selected_rows())]
        if digests:
            lines = self.preview.lines if digests == [self.preview.digest] else (0, 0)
            self.recall_part_requested.emit(digests, *lines)

    def recall_whole(self, rows: Sequence[CacheRow]) -> None:
        """Recall all of each content."""
        for row in rows:
            self.recall_requested.emit(row.digest, 0, 0)

    def verify(self) -> None:
        """Have the selected contents verified."""
        digests = self.table.selected_digests()
        if digests:
            self.verify_requested.emit(digests)

    def toggle_pin(self) -> None:
        """Have the selected entries pinned, or, where all are, no longer."""
        rows = untrashed(self.table.selected_rows())
        if rows:
            self.pin_requested.emit([row.digest for row in rows], not all(row.is_pinned for row in rows))

    def move_to_trash(self) -> None:
        """Have the selected entries moved to the trash, but for those that lie there."""
        digests = [row.digest for row in untrashed(self.table.selected_rows())]
        if digests:
            self.trash_requested.emit(digests)

    def copy_digests(self) -> None:
        """Copy the SHA-256 of each selected content, one per line."""
        digests = self.table.selected_digests()
        if digests == [self.preview.digest]:
            self.preview.copy_digest()  # its button shows it
        elif digests:
            _copy(digests)

    def copy_markers(self) -> None:
        """Copy the marker of each selected content, one per line."""
        _copy([marker_text(row) for row in self.table.selected_rows()])


def undamaged(rows: Sequence[CacheRow]) -> list[CacheRow]:
    """Return the contents that can be read."""
    return [row for row in rows if row.state not in ("damaged", "in_trash")]


def untrashed(rows: Sequence[CacheRow]) -> list[CacheRow]:
    """Return the contents that do not lie in the trash."""
    return [row for row in rows if row.state != "in_trash"]


def marker_text(row: CacheRow) -> str:
    """Return a content's marker as it stands in the context; of what is no output, its way back alone."""
    if row.state == "index" or row.tool == "argument":
        return bare_marker(row.digest)
    return marker(row.digest, row.tool, row.target, row.size, row.first_line)


def _copy(lines: Sequence[str]) -> None:
    QGuiApplication.clipboard().setText("\n".join(lines))
