"""The list of changes, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QListView

from helix_desktop.system.clock import ClockMs
from helix_desktop.ui.changes.delegate import FOLD_PX, ChangeDelegate
from helix_desktop.ui.changes.list_model import ChangeListModel, CountsOf
from helix_desktop.ui.changes.rows import ChangeGroup, Entry, FileRow, file_of
from helix_desktop.ui.design.drops import run_drag
from helix_desktop.ui.design.focus import KEYBOARD_REASONS
from helix_desktop.ui.design.mirror import mirrored_x
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, set_style_sheet
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_SIGHT_MS = 80  # after the last move, before what is in sight is counted


class ChangeListView(Themed, QListView):
    """Arrows go through it, Left and Right fold, Enter opens."""

    entry_selected = Signal(object)
    """The group or file that is selected now; None without one."""
    opened = Signal()
    menu_requested = Signal(QPoint)
    """Of the selected row, in global coordinates."""
    visible_changed = Signal()
    """Other rows may be in sight, once they are."""

    def __init__(self, counts_of: CountsOf, clock: ClockMs) -> None:
        """Start empty; `counts_of` is the model's, `now` for words like "2 min ago"."""
        super().__init__()
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

    @property
    def selected(self) -> Entry | None:
        """The group or file that is selected."""
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

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme and the text size in force."""
        super().tint(theme)
        self._delegate.theme = theme
        set_style_sheet(self, f"QListView {{ background: {theme.canvas}; border: 0; outline: 0; }}")
        self.scheduleDelayedItemsLayout()

    def currentChanged(
        self, current: QModelIndex | QPersistentModelIndex, previous: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Emit what is selected now."""
        super().currentChanged(current, previous)
        self.entry_selected.emit(self.selected)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open on Enter, fold and unfold on Left and Right."""
        entry, key = self.selected, event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.opened.emit()
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and entry is not None:
            self._fold_or_move(entry, unfold=key == Qt.Key.Key_Right)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Fold or unfold where the sign for it is clicked."""
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
        """Drag the selected file as a mention."""
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
        """Open the menu of the row under the mouse, or of the selected one when a key asks."""
        mouse = event.reason() is QContextMenuEvent.Reason.Mouse
        index = self.indexAt(event.pos()) if mouse else self.currentIndex()
        if index.isValid():
            self.setCurrentIndex(index)
            below = self.visualRect(index).bottomLeft()
            self.menu_requested.emit(self.viewport().mapToGlobal(event.pos() if mouse else below))

    def _fold_or_move(self, entry: Entry, *, unfold: bool) -> None:
        if isinstance(entry, ChangeGroup):
            self._set_unfolded(entry, unfold)
        elif not unfold:
            self.setCurrentIndex(self.list_model.index(self.list_model.group_row(self.currentIndex().row())))

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
