"""The list of changes, and what is shown of the one that is selected: whose it is, its diff."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QResizeEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QStackedWidget, QStyle, QWidget

from helix_desktop.context.log.file_changes import joined_changes, selected_changes
from helix_desktop.domain.file_history.changes import (
    FileState,
    RecordedChanges,
    RevertSelection,
    SessionChanges,
    counted_changes,
    with_moves,
)
from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.file_history.hunks import HunkState
from helix_desktop.domain.files.mention import format_mention
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.clock import ClockMs
from helix_desktop.ui.changes.change_groups import (
    KINDS,
    STATUSES,
    ChangeGroup,
    Contents,
    Entry,
    FileRow,
    LineCounts,
    agent_capture_ids,
    binary_text,
    capture_selection,
    counts_texts,
    file_of,
    files_text,
    when_text,
    who_text,
)
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import EmptyState, Pill
from helix_desktop.ui.design.choice_fields import Index
from helix_desktop.ui.design.diff.rows import HunkMark
from helix_desktop.ui.design.diff.view import DiffView
from helix_desktop.ui.design.drops import mentions_data, run_drag
from helix_desktop.ui.design.focus import KEYBOARD_REASONS, mark_pane_stop, paint_row_focus
from helix_desktop.ui.design.labels import IconLabel, SelectableText, TextLine
from helix_desktop.ui.design.layout import VerticalScrollArea, column, pane, row
from helix_desktop.ui.design.style.icons import draw_chevron
from helix_desktop.ui.design.style.theme import set_style_sheet
from helix_desktop.ui.kit.boxes import Box, Column, Frame, Icon, Row, Text, paint_box
from helix_desktop.ui.kit.boxes import Pill as BoxPill
from helix_desktop.ui.kit.commands import EntryMenu, PageKeys, add_shortcut
from helix_desktop.ui.kit.intents import CopyText, Intent, ShowEvent, perform
from helix_desktop.ui.rows.choice_list import ChoiceList
from helix_desktop.words.file_changes import plan_status_text
from helix_desktop.words.lines import dotted
from helix_desktop.words.translation import Translator, translate

tr = Translator("Changes")


# What entries of the page of changes want.
# fmt: off

class MarkReviewed(Intent, frozen=True):  # no paths: all
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

# fmt: on


CountsOf = Callable[[FileRow], LineCounts | None]
PlaceOf = Callable[[FileRow], str]
_SIGHT_MS = 80  # after the last move, before what is in sight is counted
_HEADING = 38  # pixels of a turn
_FILE = 48  # pixels of a file
_CAPTURE = 32  # pixels of a capture
_EDGE = 12
_GAP = 8
_ICON = 16
_CHEVRON = 13
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

    def __init__(self, counts_of: CountsOf, place_of: PlaceOf, clock: ClockMs, keys: PageKeys) -> None:
        """`counts_of` returns the lines that a file gained and lost, None while nobody counted.

        `place_of` tells rows apart that read the same.
        """
        super().__init__(tr("Changes"))
        self.keys = keys
        self._counts_of = counts_of
        self._place_of = place_of
        self._clock = clock
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
        bar = self.verticalScrollBar()
        at_top = self.indexAt(QPoint(4, 0))
        rows = list[Entry]()
        top = self.row_at(at_top)
        place = bar.value()
        y = self.visualRect(at_top).y()
        for group in self._groups:
            rows.append(group)
            if self._can_unfold(group) and self._is_unfolded(group):
                rows.extend(group.rows)
        self.set_rows(rows)
        self._sight_timer.start()
        if top is not None and (place or self.underMouse()):  # what comes above it moves nothing in sight
            self.executeDelayedItemsLayout()
            still = self.index_of_key(top.key)
            place = bar.value() + self.visualRect(still).y() - y if still.isValid() else place
        index = self.index_of_key(key)
        if not index.isValid() and rows:
            place = 0
            index = self.row_model.index(next(iter(self._file_places), 0))
        if index.row() != self.currentIndex().row():
            self.setCurrentIndex(index)
        else:
            self.entry_selected.emit(self.current)
        bar.setValue(place)

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
        file = entry.file
        words = []
        if file is not None:
            words.append(file.accessible_text(self._counts_of(file), self._place_of(file)))
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
        row = self.rows[at]
        theme = self._theme
        flag = QStyle.StateFlag
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
            draw_chevron(
                painter, QPointF(box.x() + 9, top), theme.faint, _CHEVRON, is_open=self._is_unfolded(row)
            )
        paint_box(painter, box.adjusted(FOLD_PX, 0, -_EDGE, 0), theme, self._content(row))

    def _content(self, row: Entry) -> Box:
        if isinstance(row, ChangeGroup):
            if row.head is None:
                words = Text(row.title, 12, weight=600, grow=True, shrink=True)
                state = [] if self._is_unfolded(row) else _state(row)  # else its files say it
                return Row([words, *state, Text(row.files_text, 11, "faint")], _GAP)
            row = row.head
        when = Text(when_text(row.last, self._clock()), 11, "faint")
        if row.is_one_capture:
            made = dotted((who_text(row.last), self._place_of(row)))
            who = Text(made, 12, "muted", grow=True, shrink=True)
            dot = Frame(Icon("circle", "faint", 8), (4, 0, 4, 0))
            return Row([dot, who, *_marks(row), *self._counts(row), when], _GAP)
        _, icon, color = KINDS[row.kind]
        folder, name = row.folder_and_name
        middle = Qt.TextElideMode.ElideMiddle
        where = Text(folder, 12, "faint", elide=middle, grow=True, shrink=True)
        top = Row([Text(name, weight=500, shrink=not folder), where, *self._counts(row)], _GAP)
        made = dotted((row.made_text, self._place_of(row)))
        who = Text(made, 12, "muted", grow=True, shrink=True)
        low = Row([who, *_marks(row), when], _GAP)
        return Row([Icon(icon, color, _ICON), Column([top, low], grow=True, shrink=True)], _GAP + 2)

    def _counts(self, row: FileRow) -> list[Box]:
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
        entry = self.current
        key = event.key()
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
            and event.position().x() < FOLD_PX
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
            perform(self, MarkReviewed(entry.paths))

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
        menu = EntryMenu(self)
        entry = self.current
        key_of = self.keys.shown_key
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
            everything = RevertSelection(agent_capture_ids(self.changes.captures), scope="session")
            words = tr("Revert everything in this session")
            can_revert = bool(everything.capture_ids)
            menu.add("accept-all", tr("Mark all as reviewed"), MarkReviewed())
            menu.add("revert-session", words, RevertChanges(everything), is_enabled=can_revert)
            menu.add("copy-all", tr("Copy all as patch"), CopyPatch(everything))
        return menu


def _marks(row: FileRow) -> list[Box]:
    return [*_state(row), *([] if row.is_covered else [Icon("shield-alert", "warn", 14)])]


def _state(entry: ChangeGroup | FileRow) -> list[Box]:
    if entry.status == "open":
        return []
    return [BoxPill(entry.status_text, STATUSES[entry.status][1], px=10, high=17)]


def _add_reverts(menu: EntryMenu, file: FileRow, changes: SessionChanges) -> None:
    """Offer to take back more than a file: its step, its turn."""
    step = file.last
    captures = [capture for capture in changes.captures if capture.turn == step.turn]
    turn = RevertSelection(agent_capture_ids(captures), scope="turn")
    in_step = len(counted_changes(step.changes))
    if len(file.captures) == 1 and in_step > 1:
        words = tr("Revert this step ({files})", files=files_text(in_step))
        menu.add("revert-step", words, RevertChanges(capture_selection(step)))
    if len(turn.capture_ids) > 1:
        selected, _ = selected_changes(changes.captures, turn)
        joined = {change.path: change for change in joined_changes(selected)}
        count = len(counted_changes(with_moves(joined)))
        words = tr("Revert this turn ({files})", files=files_text(count))
        menu.add("revert-turn", words, RevertChanges(turn))


def _has_standing(capture: RecordedChanges, paths: tuple[str, ...]) -> bool:
    """Return True if a capture changed one of these paths (none: any), and that was not taken back."""
    standing = {change.path for change in capture.changes} - set(capture.reverted)
    return bool(standing.intersection(paths) if paths else standing)


_COLUMNS = "diff_columns"  # under which the layout of diffs is saved
_BODY_PX = 130  # the least height of a diff
_CAPTURES_LISTED = 12  # of a turn
_Place = tuple[str, Contents, FileState | None, bool, bool]
"""A file, what its diff compares, what stands there now, and what can be done with its hunks."""


class ChangeDetail(QWidget):
    """A heading, buttons, and the diff; a turn shows its captures instead."""

    diff_built = Signal(QWidget)
    """The text of the diff was built, when the first one was to be shown."""

    def __init__(self, start: StartCoroutine | None, clock: ClockMs, keys: PageKeys) -> None:
        """`start` owns the coroutines of the diff, `now` is for words like "2 min ago"."""
        super().__init__()
        self.setObjectName("change")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._start = start
        self._clock = clock
        self._is_side_by_side = False
        self._save: Callable[[str, bytes], None] = lambda _key, _value: None
        self.entry: Entry | None = None
        self.has_diff = False
        """Whether the diff of the selected file is on screen."""
        self._place: _Place | None = None
        self._diff_place: tuple[str, Contents, bool, bool] | None = None  # whose hunks are on screen
        self._states: tuple[HunkState, ...] = ()  # of these hunks
        self._icon = IconLabel("file-pen", px=16, color_token="muted")
        self._title = TextLine("", 13, 600)
        self._title.elide = Qt.TextElideMode.ElideMiddle
        self.lines_of_turn = TextLine("", 12, 500, "ok"), TextLine("", 12, 500, "error")
        for counter in self.lines_of_turn:
            counter.is_fixed_width = True
            counter.set_note(tr("Lines of these files, compared with how they were before"))
        self._status = Pill("")
        policy = self._status.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # nothing moves when a change is reverted
        self._status.setSizePolicy(policy)
        self._note = TextLine("", 12, role="muted")
        self.accept = PushButton("", "", "check", name="accept_change")
        self.revert = PushButton("", "", "undo-2", name="revert_change")
        self.open = PushButton("", "", "external-link", name="open_in_editor")
        self.patch = PushButton("", "", "copy", name="copy_patch")
        self.more = IconButton("ellipsis", tr("More actions"), name="change_more")
        self._is_redo = False
        self._words = {
            self.accept: tr("Mark as reviewed"),
            self.revert: tr("Revert"),
            self.open: tr("Open in editor"),
            self.patch: tr("Copy as patch"),
        }
        keep_tip = keys.keep_tip
        keep_tip("changes_accept", tr("Only a mark: no file changes"), self.accept.setToolTip)
        keep_tip("changes_revert", tr("Restore what was there before"), self.revert.setToolTip)
        keep_tip("changes_open", tr("Open the file in its default program"), self.open.setToolTip)
        self.patch.setToolTip(tr("Copy the diff for git apply (Ctrl+C)"))
        for button in self._words:
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        title = row(self._icon, self._title, *self.lines_of_turn, self._status, None, gap=8)
        buttons = row(self.accept, self.revert, self.open, self.patch, self.more, None, gap=6)
        self._head = pane(column(title, self._note, buttons, margins=(12, 10, 12, 10), gap=6))
        self.empty = EmptyState("diff", tr("Select a file to see its changes."))
        self.summary = SelectableText("", 13, "muted")
        self.summary.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.summary.setContentsMargins(12, 12, 12, 12)
        self.body = QStackedWidget(self)
        self._summary_page = VerticalScrollArea(self.summary)
        self._summary_page.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for part in (self.empty, self._summary_page):
            self.body.addWidget(part)
        self.body.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.body.setMinimumHeight(_BODY_PX)
        self.setLayout(column(self._head, self.body, gap=0, stretch=1))
        self.show_entry(None)

    @cached_property
    def diff(self) -> DiffView:
        view = DiffView(self._start)
        view.hunk_revert_requested.connect(self._on_hunk_pressed)
        view.set_side_by_side(self._is_side_by_side)
        view.side_by_side_changed.connect(lambda on: self._save(_COLUMNS, b"two" if on else b"one"))
        self.body.addWidget(view)
        self.diff_built.emit(view.text)
        return view

    def remember(self, load: Callable[[str], bytes], save: Callable[[str, bytes], None]) -> None:
        """Take the layout of the last run, before the first diff is shown, and save that of this one."""
        self._is_side_by_side = load(_COLUMNS) == b"two"
        self._save = save

    def show_entry(self, entry: Entry | None) -> None:
        file = file_of(entry)
        place = None
        if file is not None:
            place = file.key, file.contents, file.present, file.can_revert_hunks, file.is_redoable
        if place is None or place != self._place:
            self.has_diff = False
        self._place = place
        self.entry = entry
        self._head.setVisible(entry is not None)
        if entry is None:
            self.body.setCurrentWidget(self.empty)
        elif file is not None:
            self._show_file(file)
        elif isinstance(entry, ChangeGroup):
            self._show_turn(entry)
        if file is not None and not self.has_diff and self.body.currentWidget() is not self.diff:
            # The diff of the file before stays instead, or each key press down the list would flicker.
            self._put_text(tr("Reading the changes…"))

    def show_diff(self, row: FileRow, diff: FileDiff, states: Sequence[HunkState] = ()) -> None:
        """Show the diff of the selected file, with the states of its hunks; none named: all stand.

        What was taken back is pale. One that stands alone is reverted with the file.
        """
        self.has_diff = True
        self._states = tuple(states)
        marks = [_hunk_mark(row, state) for state in states] if row.can_revert_hunks else []
        if row.status == "reverted":
            marks = [HunkMark(is_over=True)] * len(diff.hunks)
        is_alone = len(diff.hunks) == 1 and not any(mark.word for mark in marks)
        can_revert = row.can_revert_hunks and not is_alone
        place = (row.key, row.contents, can_revert, row.is_redoable)
        if place == self._diff_place and self.diff.diff == diff:
            self.diff.text.show_marks(marks)  # it stays where it was scrolled to
        else:
            self.diff.show_diff(diff, row.path, marks, can_revert_hunks=can_revert, is_redo=row.is_redoable)
        self._diff_place = place
        self.body.setCurrentWidget(self.diff)

    def show_text(self, text: str) -> None:
        self.has_diff = True
        self._put_text(text)

    def go_to_change(self, by: int) -> bool:
        """Go to the next change (1) or the previous one (-1); False behind the last one."""
        if not self.has_diff or not isinstance(self.body.currentWidget(), DiffView):
            return False
        text = self.diff.text
        previous = text.current_row
        text.go_to_change(by)
        return (text.current_row - previous) * by > 0

    def focus_body(self) -> None:
        if isinstance(self.body.currentWidget(), DiffView):
            self.diff.text.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _on_hunk_pressed(self, hunk: int) -> None:
        is_taken_back = hunk < len(self._states) and self._states[hunk] == "taken_back"
        file = file_of(self.entry)
        if file is not None:
            perform(self, RevertHunk(file, hunk, is_taken_back))

    def _put_text(self, text: str) -> None:
        self._diff_place = None
        self.diff.show_diff(None)
        self.diff.show_text(text)
        self.body.setCurrentWidget(self.diff)

    def _show_file(self, file: FileRow) -> None:
        self._icon.show_icon(*KINDS[file.kind][1:])
        self._title.set_text("/".join(filter(None, file.folder_and_name)))
        self._title.setToolTip(escape_hidden_name(file.path))
        self.patch.show()
        self._show_state(file)

    def _show_turn(self, group: ChangeGroup) -> None:
        icon = "redo-2" if group.first.is_redo else "undo-2"
        self._icon.show_icon(icon if group.is_revert else "message-square", "muted")
        self._title.set_text(group.title)
        self.patch.setVisible(bool(group.rows))
        self._show_state(group)
        captures = () if group.is_revert else group.captures[:_CAPTURES_LISTED]
        lines = [
            f"{who_text(capture)} · {files_text(len(counted_changes(capture.changes)))}"
            for capture in captures
        ]
        if len(group.captures) > _CAPTURES_LISTED:
            lines.append("…")
        self.summary.setText("\n".join(lines))
        self.body.setCurrentWidget(self._summary_page)

    def _show_state(self, entry: Entry) -> None:
        file = entry.file
        self._note.set_text(entry.note(self._clock()))
        self.show_turn_lines(None)  # a diff has its own
        is_in_note = file is not None and entry.status == "reverted"
        self._status.setVisible(entry.status != "open" and not is_in_note)
        self._status.set_text(entry.status_text, STATUSES[entry.status][1])
        self.accept.setEnabled(entry.status == "open")
        self.accept.setVisible(entry.can_accept)
        self._is_redo = entry.is_redoable
        self.revert.set_icon("redo-2" if self._is_redo else "undo-2")
        self.revert.setEnabled(file is None or file.is_covered)
        self.revert.setVisible(entry.can_change)
        self.open.setVisible(file is not None and file.is_there)
        self._fit()

    def show_turn_lines(self, counts: LineCounts | None) -> None:
        """Show the lines of all changes of the selected turn; None: they are not counted yet, or too many."""
        for line, words in zip(self.lines_of_turn, counts_texts(counts), strict=True):
            line.set_text(words)
            line.setVisible(bool(words))

    def update_times(self) -> None:
        if self.entry is not None:
            self._note.set_text((self.entry.file or self.entry).note(self._clock()))

    def _fit(self) -> None:
        """Show the buttons' words, the least needed gone first, until all stand on one line."""
        room = self.width() - 40
        offered = [(button, words) for button, words in self._words.items() if not button.isHidden()]
        for worded in (len(offered), 2, 0):
            for number, (button, words) in enumerate(offered):
                verb = tr("Redo") if button is self.revert and self._is_redo else words
                button.setAccessibleName(verb)
                button.setText(verb if number < worded else "")
            if sum(button.sizeHint().width() + 6 for button, _ in offered) + 36 <= room:
                return


def _hunk_mark(row: FileRow, state: HunkState) -> HunkMark:
    match state:
        case "taken_back":
            words = tr("Undone") if row.is_revert else translate(STATUSES["reverted"][0])
            return HunkMark(words, is_over=True)
        case "changed":
            return HunkMark(plan_status_text("conflict"))
    return HunkMark()
