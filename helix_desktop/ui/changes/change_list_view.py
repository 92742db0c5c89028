"""The list of changes: its model, how its rows are painted, what is done with them by menu or key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import (
    QAbstractListModel,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
)
from PySide6.QtWidgets import (
    QFrame,
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from helix_desktop.domain.file_history.changes import RecordedChanges, RevertSelection, SessionChanges
from helix_desktop.domain.files.mention import format_mention
from helix_desktop.system.clock import ClockMs
from helix_desktop.ui.changes.change_groups import (
    KINDS,
    STATUSES,
    ChangeGroup,
    Entry,
    FileRow,
    LineCounts,
    agent_capture_ids,
    binary_text,
    capture_selection,
    counts_texts,
    file_of,
    files_text,
    makers_text,
    session_selection,
    turn_selection,
    when_text,
    who_text,
)
from helix_desktop.ui.design.drops import mentions_data, run_drag
from helix_desktop.ui.design.focus import KEYBOARD_REASONS, mark_pane_stop, paint_row_focus
from helix_desktop.ui.design.mirror import draw_chevron, mirror, mirrored_x
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed, current_theme, set_style_sheet
from helix_desktop.ui.kit.boxes import Box, Column, Frame, Icon, Pill, Row, Text, paint_box
from helix_desktop.ui.kit.commands import EntryMenu, PageKeys, add_shortcut
from helix_desktop.ui.kit.intents import CopyText, Intent, ShowEvent, perform
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
            if self._entries:
                self.dataChanged.emit(self.index(0), self.index(len(self._entries) - 1))
            return
        self._reset(entries)

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
        return [number for number, entry in enumerate(self._entries) if entry.file is not None]

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self._entries[index.row()]
        if role == ENTRY_ROLE:
            return entry
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.name
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._accessible_text(entry)
        return entry.tip if role == Qt.ItemDataRole.ToolTipRole else None

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
        file, words = entry.file, []
        if file is not None:
            words.append(file.accessible_text(self.counts_of(file)))
        elif isinstance(entry, ChangeGroup):
            state = entry.status_text if entry.status != "open" else ""
            words += [entry.name, entry.files_text, state]
        if isinstance(entry, ChangeGroup) and self.can_unfold(entry):
            words.append(tr("expanded") if self.is_unfolded(entry) else tr("collapsed"))
        return ", ".join(filter(None, words))

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


_SIGHT_MS = 80  # after the last move, before what is in sight is counted

_HEADING, _FILE, _CAPTURE = 38, 48, 32  # pixels of a turn, a file, a capture
_EDGE, _GAP = 12, 8
_ICON, _CHEVRON = 16, 13
FOLD_PX = 30  # pixels from the left in which a click folds


class ChangeDelegate(QStyledItemDelegate):
    """Paints a turn's heading on one line, a file on two, a capture of a file on one."""

    def __init__(self, model: ChangeListModel, view: QWidget, clock: ClockMs) -> None:
        super().__init__(view)
        self._model, self._clock = model, clock

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return a fixed height per kind of row, so that thousands cost nothing."""
        entry = index.data(ENTRY_ROLE)
        if isinstance(entry, FileRow):
            return QSize(120, scaled(_CAPTURE if entry.is_one_capture else _FILE))
        return QSize(120, scaled(_FILE if entry.head is not None else _HEADING))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry, box = index.data(ENTRY_ROLE), QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        mirror(painter, box)
        theme, background = current_theme(), current_theme().canvas
        if isinstance(entry, ChangeGroup) and entry.head is None:
            background = theme.side
        if option.state & QStyle.StateFlag.State_Selected:
            background = theme.selection
        elif option.state & QStyle.StateFlag.State_MouseOver:
            background = theme.row_hover
        painter.fillRect(box, QColor(background))
        painter.fillRect(QRectF(box.x(), box.bottom() - 1, box.width(), 1), QColor(theme.border))
        if option.state & QStyle.StateFlag.State_HasFocus and option.state & QStyle.StateFlag.State_Selected:
            is_keyboard = bool(option.state & QStyle.StateFlag.State_KeyboardFocusChange)
            paint_row_focus(painter, box.adjusted(0, 0, 0, -1), theme.accent, is_keyboard=is_keyboard)
        if isinstance(entry, ChangeGroup) and self._model.can_unfold(entry):
            top, is_open = box.center().y() - _CHEVRON / 2, self._model.is_unfolded(entry)
            draw_chevron(painter, box.x() + 9, top, current_theme().faint, _CHEVRON, is_open=is_open)
        paint_box(painter, box.adjusted(FOLD_PX, 0, -_EDGE, 0), current_theme(), self._content(entry))
        painter.restore()

    def _content(self, entry: ChangeGroup | FileRow) -> Box:
        if isinstance(entry, FileRow):
            return self._capture(entry) if entry.is_one_capture else self._file(entry)
        if entry.head is not None:
            return self._file(entry.head)
        words = Text(entry.title, 12, weight=600, grow=True, shrink=True)
        return Row([words, *_state(entry), Text(entry.files_text, 11, "faint")], _GAP)

    def _file(self, row: FileRow) -> Box:
        _, icon, color = KINDS[row.kind]
        folder, name = row.folder_and_name
        middle = Qt.TextElideMode.ElideMiddle
        where = Text(folder, 12, "faint", elide=middle, grow=True, shrink=True)
        top = Row([Text(name, weight=500, shrink=not folder), where, *self._counts(row)], _GAP)
        who = Text(makers_text(row.captures) or row.kind_text, 12, "muted", grow=True, shrink=True)
        low = Row([who, *_marks(row), self._when(row)], _GAP)
        return Row([Icon(icon, color, _ICON), Column([top, low], grow=True, shrink=True)], _GAP + 2)

    def _capture(self, row: FileRow) -> Box:
        who = Text(who_text(row.last), 12, "muted", grow=True, shrink=True)
        dot = Frame(Icon("circle", "faint", 8), (4, 0, 4, 0))
        return Row([dot, who, *_marks(row), *self._counts(row), self._when(row)], _GAP)

    def _counts(self, row: FileRow) -> list[Box]:
        """Return lines added and removed."""
        if row.kind == "same":
            return [Text(row.kind_text, 11, "faint")]
        counts = self._model.counts_of(row)
        if counts is not None and counts.is_binary:
            return [Text(binary_text(), 11, "faint")]
        pairs = zip(counts_texts(counts), ("ok", "error"), strict=True)
        return [Text(text, 11, color, 500) for text, color in pairs if text]

    def _when(self, row: FileRow) -> Box:
        return Text(when_text(row.last, self._clock()), 11, "faint")


def _marks(row: FileRow) -> list[Box]:
    """Return what became of a change, and that it is not covered."""
    return [*_state(row), *([] if row.is_covered else [Icon("shield-alert", "warn", 14)])]


def _state(entry: ChangeGroup | FileRow) -> list[Box]:
    if entry.status == "open":
        return []
    return [Pill(entry.status_text, STATUSES[entry.status][1], px=10, high=17)]


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


class ChangeListView(Themed, QListView):
    """Arrows go through it, Left and Right fold, Enter opens."""

    entry_selected = Signal(object)
    """The group or file that is selected now; None without one."""
    opened = Signal()
    visible_changed = Signal()
    """Other rows may be in sight, once they are."""

    def __init__(self, counts_of: CountsOf, clock: ClockMs, keys: PageKeys) -> None:
        super().__init__()
        self.keys = keys
        self.changes: SessionChanges | None = None
        """All that the session changed."""
        self.list_model = ChangeListModel(counts_of, self)
        self._delegate = ChangeDelegate(self.list_model, self, clock)
        self.setModel(self.list_model)
        self.setItemDelegate(self._delegate)
        self.setObjectName("change_list")
        self.setAccessibleName(tr("Changes"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setDragEnabled(True)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.doubleClicked.connect(lambda _: self.opened.emit())
        self._sight_timer = QTimer(self, singleShot=True, interval=_SIGHT_MS)
        self._sight_timer.timeout.connect(self.visible_changed)
        self.verticalScrollBar().valueChanged.connect(lambda _: self._sight_timer.start())
        self.list_model.modelReset.connect(self._sight_timer.start)
        here = Qt.ShortcutContext.WidgetShortcut
        keys.add_shortcut("changes_accept", self, self.accept, here)
        keys.add_shortcut("changes_revert", self, self.revert, here)
        keys.add_shortcut("changes_open", self, self.open_in_editor, here)
        add_shortcut(self, "Ctrl+C", self.copy_patch, here)
        mark_pane_stop(self)
        self.apply_theme()

    @property
    def selected(self) -> Entry | None:
        return self.list_model.entry(self.currentIndex().row())

    def visible_files(self) -> list[FileRow]:
        """Return the files in sight, from top to bottom: only their lines are counted, each takes a diff."""
        row = max(0, self.indexAt(QPoint(4, 0)).row())
        last = self.indexAt(QPoint(4, self.viewport().height() - 1)).row()
        end = self.list_model.rowCount() if last < 0 else last + 1
        files = (file_of(self.list_model.entry(number)) for number in range(row, end))
        return [file for file in files if file is not None]

    def show_groups(self, groups: Sequence[ChangeGroup]) -> None:
        """Show these groups; selection and place on screen stay where what they are on is still listed."""
        previous, place = self.selected, self.verticalScrollBar().value()
        self.list_model.show_groups(groups)
        self._restore(previous.key if previous else "", place)

    def select(self, key: str) -> bool:
        """Select a group or file by its key and bring it into sight; False if there is none."""
        self.list_model.unfold_for(key)
        row = self.list_model.row_of(key)
        if row >= 0:
            index = self.list_model.index(row)
            self.setCurrentIndex(index)
            self.scrollTo(index)
        return row >= 0

    def step(self, by: int) -> bool:
        """Select the next file (1) or the previous one (-1); False at the end."""
        rows, current = self.list_model.file_rows(), self.currentIndex().row()
        ahead = [row for row in rows if (row > current if by > 0 else row < current)]
        if not ahead:
            return False
        self.setCurrentIndex(self.list_model.index(ahead[0] if by > 0 else ahead[-1]))
        return True

    def apply_theme(self) -> None:
        super().apply_theme()
        set_style_sheet(self, f"QListView {{ background: {self._theme.canvas}; border: 0; outline: 0; }}")
        self.scheduleDelayedItemsLayout()

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self.entry_selected.emit(self.selected)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        entry, key = self.selected, event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.opened.emit()
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and isinstance(entry, ChangeGroup):
            self._set_unfolded(entry, key == Qt.Key.Key_Right)
        elif key == Qt.Key.Key_Left and entry is not None:
            row = self.list_model.group_row(self.currentIndex().row())
            self.setCurrentIndex(self.list_model.index(row))
        elif key != Qt.Key.Key_Right or entry is None:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        entry = self.list_model.entry(index.row())
        super().mousePressEvent(event)
        if (
            event.button() == Qt.MouseButton.LeftButton
            and isinstance(entry, ChangeGroup)
            and mirrored_x(self.viewport(), event.position().x()) < FOLD_PX
        ):
            self._set_unfolded(entry, not self.list_model.is_unfolded(entry))

    def startDrag(self, actions: Qt.DropAction) -> None:
        file = file_of(self.selected)
        if file is not None:
            run_drag(self, self.list_model.mimeData(self.selectedIndexes()), file.path, self._theme)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Select the first row, unless one is selected, when a key brought the focus."""
        super().focusInEvent(event)
        if event.reason() in KEYBOARD_REASONS and self.selected is None and self.list_model.rowCount():
            self.setCurrentIndex(self.list_model.index(0))

    def focus_list(self) -> None:
        """Take the keyboard, at the first row unless one is selected; not where no row is shown."""
        if self.isVisible():  # else Qt gives it the keyboard once it appears, away from who types
            self.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        mouse = event.reason() is QContextMenuEvent.Reason.Mouse
        index = self.indexAt(event.pos()) if mouse else self.currentIndex()
        if index.isValid():
            self.setCurrentIndex(index)
            place = event.pos() if mouse else self.visualRect(index).bottomLeft()
            self.entry_menu().popup(self.viewport().mapToGlobal(place))

    def _set_unfolded(self, group: ChangeGroup, unfolded: bool) -> None:
        place = self.verticalScrollBar().value()
        self.list_model.set_unfolded(group, unfolded)
        self._restore(group.key, place)

    def _restore(self, key: str, place: int) -> None:
        row = self.list_model.row_of(key)
        if row < 0 and self.list_model.rowCount():
            files = self.list_model.file_rows()
            row = files[0] if files else 0
            place = 0
        if row != self.currentIndex().row():
            self.setCurrentIndex(self.list_model.index(row))
        self.verticalScrollBar().setValue(place)
        if row < 0:
            self.entry_selected.emit(None)

    def accept(self) -> None:
        entry = self.selected
        if entry is not None and entry.can_accept:
            perform(self, AcceptChanges(entry.paths))

    def revert(self) -> None:
        """Ask to take back what is selected; what was taken back already, to do it again."""
        entry = self.selected
        if entry is None or not entry.can_change:
            return
        file = file_of(entry)
        if file is not None and not file.is_covered:
            return
        if entry.status != "reverted":
            perform(self, RevertChanges(entry.selection))
        else:
            self._redo(entry)

    def _redo(self, entry: Entry) -> None:
        """Ask to do again what was taken back: of several captures what the last revert of them took back."""
        file = file_of(entry)
        paths = file.paths if file is not None else ()
        ids = agent_capture_ids(entry.captures)
        if len(ids) == 1:
            perform(self, RedoChanges(ids[0], paths))
            return
        reverts = [
            capture.capture_id
            for capture in (self.changes.captures if self.changes is not None else ())
            if capture.source == "revert"
            and not set(ids).isdisjoint(capture.reverts)
            and _has_standing(capture, paths)
        ]
        if reverts:
            perform(self, RedoChanges(reverts[-1], paths))

    def open_in_editor(self) -> None:
        file = file_of(self.selected)
        if file is not None and file.is_there:
            perform(self, OpenInEditor(file.path))

    def copy_patch(self) -> None:
        if self.selected is not None:
            perform(self, CopyPatch(self.selected.selection))

    def entry_menu(self) -> QMenu:
        """Make the menu of the selected row."""
        menu, entry, key_of = EntryMenu(self), self.selected, self.keys.shown_key
        if entry is None:
            return menu
        file = file_of(entry)
        is_open = entry.can_accept and entry.status == "open"
        menu.add("accept", tr("Mark as reviewed"), self.accept, key_of("changes_accept"), is_enabled=is_open)
        can_revert = entry.can_change and (file is None or file.is_covered)
        name, words = ("redo", tr("Redo")) if entry.is_redoable else ("revert", tr("Revert"))
        can_revert = can_revert or (entry.is_redoable and entry.status == "reverted")
        menu.add(name, words, self.revert, key_of("changes_revert"), is_enabled=can_revert)
        if self.changes is not None and file is not None and entry.can_change:
            _add_reverts(menu, file, self.changes)
        menu.addSeparator()
        if file is not None:
            key = key_of("changes_open")
            menu.add("open", tr("Open in editor"), self.open_in_editor, key, is_enabled=file.is_there)
            menu.add("copy-path", tr("Copy path"), CopyText(file.path))
        menu.add("copy-patch", tr("Copy as patch"), self.copy_patch, "Ctrl+C")
        seq = file.last.place if file is not None else entry.captures[0].turn_seq
        menu.add("show-chat", tr("Show in chat"), ShowEvent(seq), is_enabled=bool(seq))
        return menu

    def page_menu(self) -> QMenu:
        menu = EntryMenu(self)
        if self.changes is not None:
            everything = session_selection(self.changes)
            words, can_revert = tr("Revert everything in this session"), bool(everything.capture_ids)
            menu.add("accept-all", tr("Mark all as reviewed"), AcceptChanges())
            menu.add("revert-session", words, RevertChanges(everything), is_enabled=can_revert)
            menu.add("copy-all", tr("Copy all as patch"), CopyPatch(everything))
            menu.addSeparator()
            menu.add("coverage", tr("What can't be undone…"), ShowUncoveredPlaces())
        return menu


def _add_reverts(menu: EntryMenu, file: FileRow, changes: SessionChanges) -> None:
    """Offer to take back more than a file: its step, its turn."""
    step, turn = file.last, turn_selection(changes, file.last.turn)
    if len(file.captures) == 1 and len(step.changes) > 1:
        words = tr("Revert this step ({files})", files=files_text(len(step.changes)))
        menu.add("revert-step", words, RevertChanges(capture_selection(step)))
    if len(turn.capture_ids) > 1:
        captures = [capture for capture in changes.captures if capture.turn == step.turn]
        count = len({change.path for capture in captures for change in capture.changes})
        words = tr("Revert this turn ({files})", files=files_text(count))
        menu.add("revert-turn", words, RevertChanges(turn))


def _has_standing(capture: RecordedChanges, paths: tuple[str, ...]) -> bool:
    """Return True if a capture changed one of these paths (none: any), and that was not taken back."""
    standing = {change.path for change in capture.changes} - set(capture.reverted)
    return bool(standing.intersection(paths) if paths else standing)
