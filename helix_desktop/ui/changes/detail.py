"""What is shown of the selected change: whose it is, what can be done with it, its diff."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QWidget

from helix_desktop.domain.file_history.changes import FileState
from helix_desktop.domain.file_history.diff import FileDiff, HunkState
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
    counts_texts,
    file_of,
    files_text,
    visible_changes,
    who_text,
)
from helix_desktop.ui.changes.change_list_view import RevertHunk
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import EmptyState, Pill
from helix_desktop.ui.design.diff.rows import HunkMark
from helix_desktop.ui.design.diff.view import DiffView
from helix_desktop.ui.design.labels import IconLabel, SelectableText, TextLine
from helix_desktop.ui.design.layout import VerticalScrollArea, column, pane, row
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.commands import PageKeys
from helix_desktop.ui.kit.intents import perform
from helix_desktop.words.file_changes import plan_status_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Changes")

_COLUMNS = "diff_columns"  # under which the layout of diffs is saved
_BODY_PX = 130  # the least height of a diff
_CAPTURES_LISTED = 12  # of a turn
_Place = tuple[str, Contents, FileState | None, bool, bool]
"""A file, what its diff compares, what stands there now, and what can be done with its hunks."""


class ChangeDetail(Themed, QWidget):
    """A heading, buttons, and the diff; a turn shows its captures instead."""

    diff_built = Signal(QWidget)
    """The text of the diff was built, when the first one was to be shown."""

    def __init__(self, start: StartCoroutine | None, clock: ClockMs, keys: PageKeys) -> None:
        """`start` owns the coroutines of the diff, `now` is for words like "2 min ago"."""
        super().__init__()
        self._start, self._clock = start, clock
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
        self._is_side_by_side, self._save = load(_COLUMNS) == b"two", save

    def show_entry(self, entry: Entry | None) -> None:
        """Show whose a change is; its diff comes later."""
        file = file_of(entry)
        place = None
        if file is not None:
            place = file.key, file.contents, file.present, file.can_revert_hunks, file.is_redoable
        if place is None or place != self._place:
            self.has_diff = False
        self._place, self.entry = place, entry
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
        """Show the diff of the selected file, with the states of its hunks; none named: all stand."""
        self.has_diff, self._states = True, tuple(states)
        can_revert = row.can_revert_hunks
        place = (row.key, row.contents, can_revert, row.is_redoable)
        marks = [_hunk_mark(row, state) for state in states] if can_revert else []
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

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.canvas))
        painter.setPen(QColor(self._theme.border))
        painter.drawLine(self.rect().topLeft(), self.rect().topRight())
        painter.drawLine(self.rect().topLeft(), self.rect().bottomLeft())

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
        self._show_state(file, can_open=file.is_there, can_revert=file.is_covered)

    def _show_turn(self, group: ChangeGroup) -> None:
        icon = "redo-2" if group.first.is_redo else "undo-2"
        self._icon.show_icon(icon if group.is_revert else "message-square", "muted")
        self._title.set_text(group.title)
        self.patch.setVisible(bool(group.rows))
        self._show_state(group, can_open=False, can_revert=True)
        captures = () if group.is_revert else group.captures[:_CAPTURES_LISTED]
        lines = [f"{who_text(capture)} · {files_text(len(visible_changes(capture)))}" for capture in captures]
        if len(group.captures) > _CAPTURES_LISTED:
            lines.append("…")
        self.summary.setText("\n".join(lines))
        self.body.setCurrentWidget(self._summary_page)

    def _show_state(self, entry: Entry, *, can_open: bool, can_revert: bool) -> None:
        self._note.set_text(entry.note(self._clock()))
        self.show_turn_lines(None)  # a diff has its own
        self._status.setVisible(entry.status != "open")
        self._status.set_text(entry.status_text, STATUSES[entry.status][1])
        self.accept.setEnabled(entry.status == "open")
        self.accept.setVisible(entry.can_accept)
        self._is_redo = entry.is_redoable
        self.revert.set_icon("redo-2" if self._is_redo else "undo-2")
        self.revert.setEnabled(can_revert)
        self.revert.setVisible(entry.can_change)
        self.open.setVisible(can_open)
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
