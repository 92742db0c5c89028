"""The session list as a model: headings and sessions, filtered by words; the archive can be folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace
from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.shell.sidebar.session_rows import (
    FoundMessage,
    ListGroup,
    SessionItem,
    group_label,
    list_group,
    nested_sessions,
)
from helix_desktop.ui.shell.sidebar.workspace_rows import badge_label
from helix_desktop.words.direction import dotted
from helix_desktop.words.failed_turns import failure_text
from helix_desktop.words.numbers import format_integer, format_whole_percent
from helix_desktop.words.times import format_short_time
from helix_desktop.words.translation import Translator

tr = Translator("Window")

ITEM_ROLE = int(Qt.ItemDataRole.UserRole)
WHEN_ROLE = ITEM_ROLE + 1
FOLDED_ROLE = ITEM_ROLE + 2
RUNNING_ROLE = ITEM_ROLE + 3

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class SessionModel(QAbstractListModel):
    """Rows are either a group or a session; a changed title is emitted, never kept here.

    The group of archived sessions shows them when it is unfolded, and those that a search finds.
    """

    renamed = Signal(str, str)
    """Session id and new title."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: list[SessionItem] = []
        self._rows: list[SessionItem | ListGroup] = []
        self._needle = ""
        self._found: Mapping[str, FoundMessage] = {}
        self._is_folded = True  # the archive
        self._now = datetime.fromtimestamp(0)

    def show_sessions(self, items: Sequence[SessionItem], now: datetime) -> None:
        """Show these sessions, grouped as seen from a local `now`.

        When only contents changed, rows are updated in place, so that scroll, focus and an open rename stay.
        """
        self._items = list(items)
        self._now = now
        self._show(self._arranged())

    def mark_open(self, session_id: str) -> None:
        self.show_sessions(
            [
                replace(item, id=session_id, active=True)
                if session_id in item.all_ids
                else replace(item, active=False)
                for item in self._items
            ],
            self._now,
        )

    def fold_archive(self, is_folded: bool) -> None:
        """Hide or show the archived sessions below their heading; a search shows what it finds."""
        self._is_folded = is_folded
        self._show(self._arranged())

    def _show(self, rows: list[SessionItem | ListGroup]) -> None:
        if [self._key(row) for row in rows] == [self._key(row) for row in self._rows]:
            changed = [at for at, (old, new) in enumerate(zip(self._rows, rows, strict=True)) if old != new]
            self._rows = rows
            if changed:
                self.dataChanged.emit(self.index(changed[0]), self.index(changed[-1]))
            return
        self._reset(rows)

    @property
    def items(self) -> Sequence[SessionItem]:
        """Return all sessions, shown or not."""
        return self._items

    def set_filter(self, needle: str, found: Mapping[str, FoundMessage]) -> None:
        """Show only sessions whose title or facts have every word, and those with a message `found`."""
        self._needle, self._found = needle, found
        self._show(self._arranged())

    def sessions(self) -> list[SessionItem]:
        """Return the sessions that are shown, in order."""
        return [row for row in self._rows if isinstance(row, SessionItem)]

    def session_count(self) -> int:
        """Return how many sessions there are, shown or not."""
        return sum(not item.parent for item in self._items)

    def index_of(self, session_id: str) -> QModelIndex:
        """Return the index of a session; invalid when it is not shown."""
        for place, entry in enumerate(self._rows):
            if isinstance(entry, SessionItem) and session_id in entry.all_ids:
                return self.index(place)
        return QModelIndex()

    def index_of_archive(self) -> QModelIndex:
        """Return the index of the archive's heading; invalid without archived sessions."""
        return self.index(self._rows.index("archived")) if "archived" in self._rows else QModelIndex()

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: _Index) -> Qt.ItemFlag:
        """Sessions can be chosen and renamed, what is found in another version can be chosen.

        Of the headings only that of the archive can be, to fold it.
        """
        entry = self._rows[index.row()]
        if entry == "archived":
            return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        if isinstance(entry, str):
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags if entry.version else flags | Qt.ItemFlag.ItemIsEditable

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self._rows[index.row()]
        if role == ITEM_ROLE:
            return entry
        if isinstance(entry, str):
            return self._heading_data(entry, role)
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole}:
            return entry.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return _accessible_text(entry)
        when = format_short_time(entry.updated_ms, self._now)
        if role == WHEN_ROLE:
            return when
        if role == Qt.ItemDataRole.AccessibleDescriptionRole:
            return ", ".join(filter(None, (when, entry.subtitle, _usage(entry))))
        return _tooltip(entry, when) if role == Qt.ItemDataRole.ToolTipRole else None

    def _heading_data(self, group: ListGroup, role: int) -> object:
        is_archive = group == "archived"
        if role == FOLDED_ROLE:  # None: it has no sign for that
            return self._is_folded if is_archive and not self._needle else None
        archived = [item for item in self._items if item.place.archived and not item.parent]
        is_running = is_archive and any(item.running for item in archived)
        if role == RUNNING_ROLE:
            return is_running
        if role not in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return None
        label = group_label(group)
        if not is_archive:
            return label
        if role == Qt.ItemDataRole.DisplayRole:
            return label if self._needle else f"{label} · {format_integer(len(archived))}"
        sessions = tr.plural(len(archived), "%n session", "%n sessions")
        fold = "" if self._needle else tr("collapsed") if self._is_folded else tr("expanded")
        return ", ".join(filter(None, (label, sessions, fold, tr("working") if is_running else "")))

    def setData(self, index: _Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Ask for a new title; the list shows it when the session says so."""
        entry = self._rows[index.row()]
        name = str(value).strip()
        if role != Qt.ItemDataRole.EditRole or isinstance(entry, str) or not name or name == entry.title:
            return False
        self.renamed.emit(entry.id, name)
        return True

    @staticmethod
    def _key(entry: SessionItem | ListGroup) -> str:
        return f"#{entry}" if isinstance(entry, str) else entry.key

    def _arranged(self) -> list[SessionItem | ListGroup]:
        rows: list[SessionItem | ListGroup] = []
        heading: ListGroup | None = None
        for item in nested_sessions(self._items, self._needle, self._found):
            # Dates take long to compare, and what comes after the first earlier one is earlier, or archived.
            is_same = item.depth or (heading == "earlier" and not item.place.archived)
            group = heading if is_same else list_group(item, self._now)
            if group is not None and group != heading:
                heading = group
                rows.append(group)
            if heading != "archived" or not self._is_folded or self._needle:
                rows.append(item)
        return rows

    def _reset(self, rows: list[SessionItem | ListGroup]) -> None:
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()


def _tooltip(item: SessionItem, when: str) -> str:
    state = tr("Stopped") if item.stopped else failure_text(item.budget_spent) if item.failure else ""
    if item.waiting or item.interrupted:
        state = badge_label("waiting" if item.waiting else "interrupted")
    line = item.found.line if item.found is not None else ""
    parts = (
        item.title,
        item.began_as,
        state,
        line,
        dotted((when, item.subtitle)),
        _usage(item),
        item.failure,
    )
    return plain_tooltip("\n".join(filter(None, parts)))


def _accessible_text(item: SessionItem) -> str:
    state = tr("waiting for you") if item.waiting else tr("working") if item.running else ""
    state = state or (tr("stopped") if item.stopped else tr("interrupted") if item.interrupted else "")
    state = state or (failure_text(item.budget_spent) if item.failure else "")
    kind = "" if item.version else tr("subagent") if item.parent else item.began_as
    place = tr("archived") if item.place.archived else tr("pinned") if item.place.pinned else ""
    line = item.found.line if item.found is not None else ""
    return ", ".join(filter(None, (kind, item.title, state, line, item.failure, place)))


def _usage(item: SessionItem) -> str:
    share = item.used
    return "" if share is None else tr("{share} of the context used", share=format_whole_percent(share))
