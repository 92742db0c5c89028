"""The list of changes: how its rows are painted, what is done with them by menu or key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QFocusEvent, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QMenu, QStyle

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
from helix_desktop.ui.design.fields import Index
from helix_desktop.ui.design.focus import KEYBOARD_REASONS, mark_pane_stop, paint_row_focus
from helix_desktop.ui.design.mirror import draw_chevron, mirrored_x
from helix_desktop.ui.design.style.theme import set_style_sheet
from helix_desktop.ui.kit.boxes import Box, Column, Frame, Icon, Pill, Row, Text, paint_box
from helix_desktop.ui.kit.commands import EntryMenu, PageKeys, add_shortcut
from helix_desktop.ui.kit.intents import CopyText, Intent, ShowEvent, perform
from helix_desktop.ui.rows.choice_list import ChoiceList
from helix_desktop.words.translation import Translator

tr = Translator("Changes")


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


CountsOf = Callable[[FileRow], LineCounts | None]
_SIGHT_MS = 80  # after the last move, before what is in sight is counted
_HEADING, _FILE, _CAPTURE = 38, 48, 32  # pixels of a turn, a file, a capture
_EDGE, _GAP = 12, 8
_ICON, _CHEVRON = 16, 13
FOLD_PX = 30  # pixels from the left in which a click folds


class ChangeListView(ChoiceList[Entry]):
    """Rows are groups, and below each one that is unfolded its files or captures.

    Arrows go through it, Left and Right fold, Enter opens.
    """

    entry_selected = Signal(object)
    """The group or file that is selected now, or what became of it; None without one."""
    opened = Signal()
    visible_changed = Signal()
    """Other rows may be in sight, once they are."""

    def __init__(self, counts_of: CountsOf, clock: ClockMs, keys: PageKeys) -> None:
        """`counts_of` returns the lines that a file gained and lost, None while nobody counted."""
        super().__init__(tr("Changes"))
        self.keys, self._counts_of, self._clock = keys, counts_of, clock
        self.changes: SessionChanges | None = None
        """All that the session changed."""
        self.folder: Path | None = None  # of the workspace
        self._groups: Sequence[ChangeGroup] = ()
        self._toggled: set[str] = set()
        self.setObjectName("change_list")
        self.setDragEnabled(True)
        self.doubleClicked.connect(lambda _: self.opened.emit())
        self._sight_timer = QTimer(self, singleShot=True, interval=_SIGHT_MS)
        self._sight_timer.timeout.connect(self.visible_changed)
        self.verticalScrollBar().valueChanged.connect(lambda _: self._sight_timer.start())
        here = Qt.ShortcutContext.WidgetShortcut
        keys.add_shortcut("changes_accept", self, self.accept, here)
        keys.add_shortcut("changes_revert", self, self.revert, here)
        keys.add_shortcut("changes_open", self, self.open_in_editor, here)
        add_shortcut(self, "Ctrl+C", self.copy_patch, here)
        mark_pane_stop(self)
        self.apply_theme()

    def visible_files(self) -> list[FileRow]:
        """Return the files in sight, from top to bottom: only their lines are counted, each takes a diff."""
        first = max(0, self.indexAt(QPoint(4, 0)).row())
        last = self.indexAt(QPoint(4, self.viewport().height() - 1)).row()
        rows = self.rows[first : last + 1 if last >= 0 else None]
        return [row.file for row in rows if row.file is not None]

    def show_groups(self, groups: Sequence[ChangeGroup]) -> None:
        """Show these groups; selection, folds and place on screen stay where what they are on is listed."""
        self._groups = groups
        self._arrange(self.current.key if self.current is not None else "")

    def _arrange(self, key: str) -> None:
        """List the groups as they are folded, the row of a key selected; else the first file."""
        place, rows = self.verticalScrollBar().value(), list[Entry]()
        for group in self._groups:
            rows.append(group)
            if self._can_unfold(group) and self._is_unfolded(group):
                rows.extend(group.rows)
        self.set_rows(rows)
        self._sight_timer.start()
        index = self.index_of_key(key)
        if not index.isValid() and rows:
            place, index = 0, self.row_model.index(next(iter(self._file_places), 0))
        if index.row() != self.currentIndex().row():
            self.setCurrentIndex(index)
        else:
            self.entry_selected.emit(self.current)
        self.verticalScrollBar().setValue(place)

    def select(self, key: str) -> bool:
        """Select a group or file by its key and bring it into sight; False if there is none."""
        for group in self._groups:
            if any(row.key == key for row in group.rows):
                self._set_unfolded(group, True, key)
                break
        index = self.index_of_key(key)
        if index.isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index)
        return index.isValid()

    def step(self, by: int) -> bool:
        """Select the next file (1) or the previous one (-1); False at the end."""
        current = self.currentIndex().row()
        ahead = [at for at in self._file_places if (at > current if by > 0 else at < current)]
        if ahead:
            self.setCurrentIndex(self.row_model.index(ahead[0] if by > 0 else ahead[-1]))
        return bool(ahead)

    @property
    def _file_places(self) -> list[int]:
        """The rows that a diff belongs to, from top to bottom."""
        return [at for at, row in enumerate(self.rows) if row.file is not None]

    def _can_unfold(self, group: ChangeGroup) -> bool:
        """Return True if there is more below it than itself."""
        return group.head is None or len(group.rows) > 1

    def _is_unfolded(self, group: ChangeGroup) -> bool:
        """Return True if its rows are listed: turns are at first, files are not."""
        return (group.key in self._toggled) != (group.head is None)

    def _set_unfolded(self, group: ChangeGroup, unfolded: bool, key: str = "") -> None:
        if self._can_unfold(group) and self._is_unfolded(group) != unfolded:
            self._toggled ^= {group.key}
            self._arrange(key or group.key)

    def key_of(self, row: Entry) -> str:
        return row.key

    def data_of(self, at: int, role: int) -> object:
        row = self.rows[at]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.name
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._accessible_text(row)
        return row.tip if role == Qt.ItemDataRole.ToolTipRole else None

    def flags_of(self, row: Entry) -> Qt.ItemFlag:
        flags = super().flags_of(row)
        return flags | Qt.ItemFlag.ItemIsDragEnabled if row.file is not None else flags

    def _accessible_text(self, entry: Entry) -> str:
        file, words = entry.file, []
        if file is not None:
            words.append(file.accessible_text(self._counts_of(file)))
        elif isinstance(entry, ChangeGroup):
            state = entry.status_text if entry.status != "open" else ""
            words += [entry.name, entry.files_text, state]
        if isinstance(entry, ChangeGroup) and self._can_unfold(entry):
            words.append(tr("expanded") if self._is_unfolded(entry) else tr("collapsed"))
        return ", ".join(filter(None, words))

    def height_of(self, row: Entry) -> int:
        if isinstance(row, FileRow):
            return _CAPTURE if row.is_one_capture else _FILE
        return _FILE if row.head is not None else _HEADING

    def paint_row(self, painter: QPainter, box: QRectF, at: int, state: QStyle.StateFlag) -> None:
        """Paint a turn's heading on one line, a file on two, a capture of a file on one."""
        row, theme, flag = self.rows[at], self._theme, QStyle.StateFlag
        background = theme.side if isinstance(row, ChangeGroup) and row.head is None else theme.canvas
        if state & flag.State_Selected:
            background = theme.selection
        elif state & flag.State_MouseOver:
            background = theme.row_hover
        painter.fillRect(box, QColor(background))
        painter.fillRect(QRectF(box.x(), box.bottom() - 1, box.width(), 1), QColor(theme.border))
        if state & flag.State_HasFocus and state & flag.State_Selected:
            is_keyboard = bool(state & flag.State_KeyboardFocusChange)
            paint_row_focus(painter, box.adjusted(0, 0, 0, -1), theme.accent, is_keyboard=is_keyboard)
        if isinstance(row, ChangeGroup) and self._can_unfold(row):
            top = box.center().y() - _CHEVRON / 2
            draw_chevron(painter, box.x() + 9, top, theme.faint, _CHEVRON, is_open=self._is_unfolded(row))
        paint_box(painter, box.adjusted(FOLD_PX, 0, -_EDGE, 0), theme, self._content(row))

    def _content(self, row: Entry) -> Box:
        if isinstance(row, ChangeGroup):
            if row.head is None:
                words = Text(row.title, 12, weight=600, grow=True, shrink=True)
                return Row([words, *_state(row), Text(row.files_text, 11, "faint")], _GAP)
            row = row.head
        when = Text(when_text(row.last, self._clock()), 11, "faint")
        if row.is_one_capture:
            who = Text(who_text(row.last), 12, "muted", grow=True, shrink=True)
            dot = Frame(Icon("circle", "faint", 8), (4, 0, 4, 0))
            return Row([dot, who, *_marks(row), *self._counts(row), when], _GAP)
        _, icon, color = KINDS[row.kind]
        folder, name = row.folder_and_name
        middle = Qt.TextElideMode.ElideMiddle
        where = Text(folder, 12, "faint", elide=middle, grow=True, shrink=True)
        top = Row([Text(name, weight=500, shrink=not folder), where, *self._counts(row)], _GAP)
        who = Text(makers_text(row.captures) or row.kind_text, 12, "muted", grow=True, shrink=True)
        low = Row([who, *_marks(row), when], _GAP)
        return Row([Icon(icon, color, _ICON), Column([top, low], grow=True, shrink=True)], _GAP + 2)

    def _counts(self, row: FileRow) -> list[Box]:
        """Return lines added and removed."""
        if row.kind == "same":
            return [Text(row.kind_text, 11, "faint")]
        counts = self._counts_of(row)
        if counts is not None and counts.is_binary:
            return [Text(binary_text(), 11, "faint")]
        pairs = zip(counts_texts(counts), ("ok", "error"), strict=True)
        return [Text(text, 11, color, 500) for text, color in pairs if text]

    def apply_theme(self) -> None:
        super().apply_theme()
        set_style_sheet(self, f"QListView {{ background: {self._theme.canvas}; border: 0; outline: 0; }}")

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self.entry_selected.emit(self.current)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        entry, key = self.current, event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.opened.emit()
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and isinstance(entry, ChangeGroup):
            self._set_unfolded(entry, key == Qt.Key.Key_Right)
        elif key == Qt.Key.Key_Left and entry is not None:
            above = range(self.currentIndex().row(), -1, -1)
            group = next(at for at in above if isinstance(self.rows[at], ChangeGroup))
            self.setCurrentIndex(self.row_model.index(group))
        elif key != Qt.Key.Key_Right or entry is None:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        entry = self.row_at(self.indexAt(event.position().toPoint()))
        super().mousePressEvent(event)
        if (
            event.button() == Qt.MouseButton.LeftButton
            and isinstance(entry, ChangeGroup)
            and mirrored_x(self.viewport(), event.position().x()) < FOLD_PX
        ):
            self._set_unfolded(entry, not self._is_unfolded(entry))

    def startDrag(self, actions: Qt.DropAction) -> None:
        file = file_of(self.current)
        if file is not None:
            run_drag(self, self.drag_data([file]), file.path, self._theme)

    def drag_data(self, files: Sequence[FileRow]) -> QMimeData:
        """Return what a drag of files brings: mentions for a message, and the files that are still there."""
        there = [self.folder / file.path for file in files] if self.folder is not None else []
        mentions = "".join(f"{format_mention(file.path)} " for file in files)
        return mentions_data(mentions, [file for file in there if file.is_file()])

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Select the first row, unless one is selected, when a key brought the focus."""
        super().focusInEvent(event)
        if event.reason() in KEYBOARD_REASONS and self.current is None:
            self.setCurrentIndex(self.row_model.index(0))

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

    def accept(self) -> None:
        entry = self.current
        if entry is not None and entry.can_accept:
            perform(self, AcceptChanges(entry.paths))

    def revert(self) -> None:
        """Ask to take back what is selected; what was taken back already, to do it again."""
        entry = self.current
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
        file = file_of(self.current)
        if file is not None and file.is_there:
            perform(self, OpenInEditor(file.path))

    def copy_patch(self) -> None:
        if self.current is not None:
            perform(self, CopyPatch(self.current.selection))

    def entry_menu(self) -> QMenu:
        """Make the menu of the selected row."""
        menu, entry, key_of = EntryMenu(self), self.current, self.keys.shown_key
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


def _marks(row: FileRow) -> list[Box]:
    """Return what became of a change, and that it is not covered."""
    return [*_state(row), *([] if row.is_covered else [Icon("shield-alert", "warn", 14)])]


def _state(entry: ChangeGroup | FileRow) -> list[Box]:
    if entry.status == "open":
        return []
    return [Pill(entry.status_text, STATUSES[entry.status][1], px=10, high=17)]


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
