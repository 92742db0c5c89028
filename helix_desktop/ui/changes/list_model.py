"""The list of changes as a model: headings of turns and their files, or files and their captures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QAbstractListModel, QMimeData, QModelIndex, QObject, QPersistentModelIndex, Qt

from helix_desktop.domain.files.mention import format_mention
from helix_desktop.ui.changes.rows import ChangeGroup, Entry, FileRow, LineCounts, file_of
from helix_desktop.ui.changes.texts import (
    accessible_row_text,
    change_status_text,
    group_files_text,
    makers_text,
    path_text,
    turn_text,
    who_text,
)
from helix_desktop.ui.design.drops import mentions_data
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

ENTRY_ROLE = int(Qt.ItemDataRole.UserRole)

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
CountsOf = Callable[[FileRow], LineCounts | None]


class ChangeListModel(QAbstractListModel):
    """Rows are groups, and below each one that is unfolded its files or captures."""

    def __init__(self, counts_of: CountsOf, parent: QObject | None = None) -> None:
        """`counts_of` returns the lines that a file gained and lost, None while nobody counted."""
        super().__init__(parent)
        self.counts_of = counts_of
        self.folder: Path | None = None  # of the workspace
        self._groups: Sequence[ChangeGroup] = ()
        self._entries: list[Entry] = []
        self._keys: dict[str, int] = {}
        self._toggled: set[str] = set()

    def show_groups(self, groups: Sequence[ChangeGroup]) -> None:
        """Show these groups; what was folded stays so."""
        self._groups = groups
        entries = self._arrange()
        if [entry.key for entry in entries] == [entry.key for entry in self._entries]:
            self._entries = entries
            self.refresh_texts()
            return
        self._reset(entries)

    def refresh_texts(self) -> None:
        """Show what was counted meanwhile."""
        if self._entries:
            self.dataChanged.emit(self.index(0), self.index(len(self._entries) - 1))

    def is_unfolded(self, group: ChangeGroup) -> bool:
        """Return True if its rows are listed: turns are at first, files are not."""
        return (group.key in self._toggled) != (group.head is None)

    def can_unfold(self, group: ChangeGroup) -> bool:
        """Return True if there is more below it than itself."""
        return group.head is None or len(group.rows) > 1

    def set_unfolded(self, group: ChangeGroup, unfolded: bool) -> None:
        if self.can_unfold(group) and self.is_unfolded(group) != unfolded:
            self._toggled ^= {group.key}
            self._reset(self._arrange())

    def unfold_for(self, key: str) -> None:
        for group in self._groups:
            if any(row.key == key for row in group.rows):
                self.set_unfolded(group, True)
                return

    def entry(self, row: int) -> Entry | None:
        """Return what stands in a row; None outside."""
        return self._entries[row] if 0 <= row < len(self._entries) else None

    def row_of(self, key: str) -> int:
        """Return the row of a group or file by its key; -1 if it is not listed."""
        return self._keys.get(key, -1)

    def group_row(self, row: int) -> int:
        while row > 0 and isinstance(self._entries[row], FileRow):
            row -= 1
        return row

    def file_rows(self) -> list[int]:
        """Return the rows that a diff belongs to, from top to bottom."""
        return [
            number
            for number, entry in enumerate(self._entries)
            if isinstance(entry, FileRow) or entry.head is not None
        ]

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self._entries[index.row()]
        if role == ENTRY_ROLE:
            return entry
        if role == Qt.ItemDataRole.DisplayRole:
            return _name(entry)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._accessible_text(entry)
        return _tip(entry) if role == Qt.ItemDataRole.ToolTipRole else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        can_drag = file_of(self.entry(index.row())) is not None
        return super().flags(index) | (Qt.ItemFlag.ItemIsDragEnabled if can_drag else Qt.ItemFlag(0))

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """Return what a drag of files brings: mentions for a message, and the files that are still there."""
        rows = [file_of(self.entry(index.row())) for index in indexes]
        names = [row.path for row in rows if row is not None]
        files = [self.folder / name for name in names] if self.folder is not None else []
        mentions = "".join(f"{format_mention(name)} " for name in names)
        return mentions_data(mentions, [file for file in files if file.is_file()])

    def _accessible_text(self, entry: Entry) -> str:
        if isinstance(entry, FileRow):
            return accessible_row_text(entry, self.counts_of(entry))
        fold = ""
        if self.can_unfold(entry):
            fold = tr("expanded") if self.is_unfolded(entry) else tr("collapsed")
        if entry.head is not None:
            return ", ".join(
                filter(None, (accessible_row_text(entry.head, self.counts_of(entry.head)), fold))
            )
        state = change_status_text(entry) if entry.status != "open" else ""
        return ", ".join(filter(None, (_name(entry), group_files_text(entry), state, fold)))

    def _arrange(self) -> list[Entry]:
        entries: list[Entry] = []
        for group in self._groups:
            entries.append(group)
            if self.can_unfold(group) and self.is_unfolded(group):
                entries.extend(group.rows)
        return entries

    def _reset(self, entries: list[Entry]) -> None:
        self.beginResetModel()
        self._entries = entries
        self._keys = {entry.key: row for row, entry in enumerate(entries)}
        self.endResetModel()


def _name(entry: Entry) -> str:
    if isinstance(entry, FileRow):
        return who_text(entry.last) if entry.is_one_capture else path_text(entry.path)
    return path_text(entry.head.path) if entry.head else turn_text(entry)


def _tip(entry: Entry) -> str:
    if isinstance(entry, ChangeGroup):
        return turn_text(entry) if entry.head is None else _tip(entry.head)
    moved = tr("Moved from {path}", path=path_text(entry.moved_from)) if entry.moved_from else ""
    shared = tr("Another command ran at the same time and may have made this change.")
    found = tr("Helix ended during the call. What it had changed was found at the next start.")
    uncovered = tr("Can't be undone: the previous content isn't saved.")
    return "\n".join(
        filter(
            None,
            (
                path_text(entry.path),
                moved,
                makers_text(entry.captures),
                found if entry.last.is_after_crash else "",
                shared if entry.is_shared else "",
                "" if entry.is_covered else uncovered,
            ),
        )
    )
