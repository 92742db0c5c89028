"""The diff of one file: texts to read, select and search, images, or words about what has neither."""

from __future__ import annotations

import asyncio
from codecs import getincrementaldecoder
from collections.abc import Iterable, Sequence
from io import BytesIO

from PySide6.QtCore import QPointF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QBoxLayout, QFrame, QMenu, QStackedWidget, QTreeWidgetItem, QWidget
from shiboken6 import isValid

from helix_desktop.domain.file_history.diff import DiffLine, FileDiff
from helix_desktop.domain.files.content import utf16_encoding
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import IconButton, PushButton, ViewSwitch
from helix_desktop.ui.design.choice_fields import CheckList
from helix_desktop.ui.design.diff.canvas import DiffCanvas, hunk_verb, hunk_words
from helix_desktop.ui.design.diff.rows import END, DiffRows, DiffSelection, HunkMark, Side, line_on_side
from helix_desktop.ui.design.labels import SelectableText, TextLine, label
from helix_desktop.ui.design.layout import (
    DIALOG_MARGINS,
    FlowBox,
    VerticalScrollArea,
    column,
    line,
    pane,
    row,
    shorten_row,
    splitter,
)
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.viewer.content_viewer import ContentViewer, FindBar, FindShortcut
from helix_desktop.ui.design.viewer.paged_content import DECODED_BYTES, Match, PagedContent
from helix_desktop.ui.design.viewer.picture import CaptionedPicture
from helix_desktop.words.file_changes import (
    describe_mode,
    describe_state,
    describe_without_lines,
    line_counts_texts,
)
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_ROWS_AROUND = 4  # rows above a change that is gone to
_SPOKEN_CHARACTERS = 300
_DRAG_MS = 40  # between two steps of scrolling while text is selected
_CHANGE_STEPS = {Qt.Key.Key_N: 1, Qt.Key.Key_P: -1}


class DiffText(DiffCanvas):
    """Shows the hunks of a text; lines that are the same are folded."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("diff-text")
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self._drag_point = QPointF()
        self._drag_timer = QTimer(self, interval=_DRAG_MS)
        self._drag_timer.timeout.connect(self._drag_on)

    @property
    def selected_text(self) -> str:
        return self._selection.text(self.rows)

    def go_to_change(self, step: int) -> None:
        starts = self.rows.change_starts[::step]
        row = self.current_row
        if starts:
            self.go_to_row(next((start for start in starts if (start - row) * step > 0), starts[0]))
            self._show_words_at(self.current_row)

    def go_to_row(self, index: int) -> None:
        """Put the keyboard on a row, bring it into sight, and let a screen reader read it."""
        if not len(self.rows):
            return
        row = self.current_row = max(0, min(index, len(self.rows) - 1))
        top = self._places.top_of(row)
        bar = self.verticalScrollBar()
        height = self._heights["lines"]
        bottom = top + self._places.height_of(row) + height
        if top < bar.value() or bottom > bar.value() + self.viewport().height():
            bar.setValue(top - _ROWS_AROUND * height)
        if self.hasFocus():
            announce(self, self.words_of_row(self.current_row))
        self.viewport().update()

    def words_of_row(self, index: int) -> str:
        row_range, at = self.rows.locate(index)
        if row_range.kind == "fold":
            return tr.plural(len(row_range.rows), "%n unchanged line", "%n unchanged lines")
        if row_range.kind == "head":
            return hunk_words(self._diff.hunks[row_range.hunk], self._heads.mark_of(row_range.hunk))
        row = row_range.rows[at]
        if row.is_changed and row.left is not None and row.right is not None:
            return tr("{removed}; {added}", removed=_words_of(row.left), added=_words_of(row.right))
        return _words_of(row.line)

    def copy(self) -> None:
        """Copy what is selected; without a selection the line that the keyboard is on."""
        text = self.selected_text
        if self._selection.is_empty and len(self.rows):
            whole_line = DiffSelection("both", (self.current_row, 0), (self.current_row, END))
            text = whole_line.text(self.rows)
        if text:
            QGuiApplication.clipboard().setText(text)

    def select_all(self) -> None:
        side = self._selection.side
        side = "right" if self._side_by_side and side == "both" else side
        self._selection = DiffSelection(side, (0, 0), (len(self.rows), 0))
        self.viewport().update()

    # What the find bar asks for; its pages are lines.

    @property
    def content(self) -> DiffRows:
        return self.rows

    @property
    def page_index(self) -> int:
        return self._line_at_top()

    def page_of(self, match: Match) -> int:
        return match.row // 2

    def show_match(self, match: Match, others: Iterable[Match]) -> None:
        """Bring a hit into sight, out of a fold too, and mark all."""
        self._match = match
        self._matches = {}
        for other in others:
            self._matches.setdefault(other.row, []).append(other)
        line = match.row // 2
        row_range, _ = self.rows.locate(self.rows.index_of_line(line))
        if row_range.kind == "fold":
            self._open(row_range)
        self.go_to_row(self.rows.index_of_line(line))
        pane = self._panes()[0]
        bar = self.horizontalScrollBar()
        x = int(match.column * self._painter.advance)
        wide = int(pane.right - pane.text)
        if not bar.value() <= x <= bar.value() + wide - wide // 5:
            bar.setValue(x - wide // 3)
        self.viewport().update()

    def clear_matches(self) -> None:
        self._matches = {}
        self._match = None
        self.viewport().update()

    # Keyboard and mouse

    def keyPressEvent(self, event: QKeyEvent) -> None:
        back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif event.key() == Qt.Key.Key_F7:
            self.go_to_change(-1 if back else 1)
        elif event.key() in _CHANGE_STEPS and not event.modifiers():
            self.go_to_change(_CHANGE_STEPS[Qt.Key(event.key())])
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and len(self.rows):
            row_range, _ = self.rows.locate(self.current_row)
            if row_range.kind == "fold":
                self.open_fold(row_range.hunk)
        elif (target := self._row_by_key(Qt.Key(event.key()))) is not None:
            if back:
                if self._selection.is_empty:
                    side: Side = "right" if self._side_by_side else "both"
                    self._selection = DiffSelection(side, (self.current_row, 0), (self.current_row, 0))
                self._selection = self._selection.moved_to(max(0, min(target, len(self.rows))), 0)
            self.go_to_row(target)
        else:
            super().keyPressEvent(event)

    def _row_by_key(self, key: Qt.Key) -> int | None:
        page = max(1, self.viewport().height() // self._heights["lines"] - 1)
        row = self.current_row
        return {
            Qt.Key.Key_Down: row + 1,
            Qt.Key.Key_Up: row - 1,
            Qt.Key.Key_PageDown: row + page,
            Qt.Key.Key_PageUp: row - page,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(self.rows) - 1,
        }.get(key)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or not len(self.rows):
            super().mousePressEvent(event)
            return
        row, side, column = self._place_at(event.position())
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._selection.side == side:
            self._selection = self._selection.moved_to(row, column)
        else:
            self._selection = DiffSelection(side, (row, column), (row, column))
        self.current_row = row
        self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not event.buttons() & Qt.MouseButton.LeftButton or not len(self.rows):
            super().mouseMoveEvent(event)
            return
        self._drag_point = event.position()
        self._drag_on()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag_timer.stop()
        super().mouseReleaseEvent(event)

    def _drag_on(self) -> None:
        """Move the end of the selection to the pointer; outside, go on scrolling while it stays there."""
        y = self._drag_point.y()
        bar = self.verticalScrollBar()
        outside = min(0.0, y) + max(0.0, y - self.viewport().height())
        bar.setValue(bar.value() + int(outside))
        row, _, column = self._place_at(self._drag_point, self._selection.side)
        self._selection = self._selection.moved_to(row, column)
        self.viewport().update()
        if outside:
            self._drag_timer.start()
        else:
            self._drag_timer.stop()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or not len(self.rows):
            return
        row, side, column = self._place_at(event.position())
        line = line_on_side(self.rows.row(row), side)
        if line is not None:
            start, end = _word_around(line.text, column)
            self._selection = DiffSelection(side, (row, start), (row, end))
            self.viewport().update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if not len(self.rows):
            return
        menu = QMenu(self)
        copy = menu.addAction(tr("Copy"), self.copy)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        menu.addAction(tr("Select all"), self.select_all).setShortcut(QKeySequence.StandardKey.SelectAll)
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            self.current_row = self._places.row_at(self.verticalScrollBar().value() + event.pos().y())
        row_range, _ = self.rows.locate(self.current_row)
        if self._can_revert and (row_range.is_hunk or row_range.kind == "head"):
            hunk = row_range.hunk
            menu.addSeparator()
            verb = hunk_verb(is_redo=self._heads.does_redo(hunk))
            menu.addAction(verb, lambda: self.hunk_revert_requested.emit(hunk))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def _place_at(self, point: QPointF, side: Side | None = None) -> tuple[int, Side, int]:
        """Return the row, the side and the column at a point; `side` holds the side of a selection."""
        panes = self._panes()
        if side is None:
            side = "both"
            if len(panes) > 1:
                side = "left" if point.x() < panes[1].left else "right"
        y = self.verticalScrollBar().value() + int(point.y())
        row = self._places.row_at(y)
        line = line_on_side(self.rows.row(row), side)
        if line is None:
            return row, side, 0
        pane = panes[1 if side == "right" else 0]
        at = (y - self._places.top_of(row)) // self._heights["lines"]
        x = point.x() - pane.text + self.horizontalScrollBar().value()
        return row, side, self._layout_of(line).column_at(x, at)


def _words_of(line: DiffLine) -> str:
    text = line.text[:_SPOKEN_CHARACTERS].strip().encode(errors="replace").decode() or tr("blank")
    match line.kind:
        case "added":
            return tr("Line {number} added: {text}", number=line.new, text=text)
        case "removed":
            return tr("Line {number} removed: {text}", number=line.old, text=text)
    return tr("Line {number}: {text}", number=line.new, text=text)


def _word_around(text: str, column: int) -> tuple[int, int]:
    """Return the columns of the word, or of the one other character, at a column."""
    start = end = min(column, max(0, len(text) - 1))
    while start > 0 and _in_word(text[start - 1]):
        start -= 1
    while end < len(text) and _in_word(text[end]):
        end += 1
    return (start, end) if end > start else (start, min(len(text), start + 1))


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


_MAX_LINES_BESIDE = 20_000  # changed lines; pairing more would hold up the window
_SIDE_BY_SIDE_PX = 720  # the least width at 100 % at which two columns can be read

_MIN_SIDE_PX = 260
# Names of the layouts.
_INLINE = "inline"
_SIDE_BY_SIDE = "side_by_side"


class ImagePair(VerticalScrollArea):
    def __init__(self, start: StartCoroutine | None) -> None:
        """`start` owns the coroutine that decodes in a thread; without it that is done at once."""
        page = QWidget()
        super().__init__(page)

        def side_of(title: str) -> CaptionedPicture:
            return CaptionedPicture(start, lambda words: tr("{title}: {content}", title=title, content=words))

        self.before = side_of(tr("Before"))
        self.after = side_of(tr("After"))
        self._sides = QBoxLayout(QBoxLayout.Direction.LeftToRight, page)
        self._sides.setContentsMargins(14, 12, 14, 12)
        self._sides.setSpacing(16)
        for side in (self.before, self.after):
            self._sides.addWidget(side, 1)

    def show_diff(self, diff: FileDiff) -> None:
        """Show the images of a diff; a side on which there is none is left out."""
        sides = (self.before, diff.before, diff.before_data), (self.after, diff.after, diff.after_data)
        for side, state, data in sides:
            side.setVisible(state is not None)
            side.show_data(data or b"", describe_state(state))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.viewport().width() >= 2 * scaled(_MIN_SIDE_PX)
        direction = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        self._sides.setDirection(direction)


class DiffView(QWidget):
    """Shows a FileDiff that it is given; it knows no services.

    Keys: F7 and N to the next change, Shift+F7 and P to the previous one, Ctrl+F to find.
    """

    hunk_revert_requested = Signal(int)
    """The number (from 0) of the hunk whose button was pressed."""

    side_by_side_changed = Signal(bool)
    """The user chose the other layout."""

    def __init__(self, start: StartCoroutine | None = None) -> None:
        """`start` owns the coroutine that decodes images in a thread; without it that is done at once."""
        super().__init__()
        self.diff: FileDiff | None = None
        self._wants_side_by_side = False
        self.text = DiffText()
        self.text.hunk_revert_requested.connect(self.hunk_revert_requested)
        self.images = ImagePair(start)
        self.words = SelectableText("", 13, "muted")
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.words.setContentsMargins(14, 12, 14, 12)
        self.words.setObjectName("diff-words")
        self.find_bar = FindBar(self.text)
        self.find_bar.hide()
        FindShortcut(self, self.open_find)
        FindShortcut(self.text, self.open_find)
        self.find_bar.closed.connect(lambda: self.text.setFocus(Qt.FocusReason.OtherFocusReason))
        self._counts = CountsLine()
        self._mode = TextLine("", 12, role="muted")
        names = {_INLINE: tr("Inline"), _SIDE_BY_SIDE: tr("Side by side")}
        self._layouts = ViewSwitch(tr("Layout"), names, "")
        self._layouts.view_selected.connect(lambda name: self._choose(name == _SIDE_BY_SIDE))
        go = self.text.go_to_change
        before = tr("Previous change (Shift+F7)")
        previous = IconButton("chevron-up", before, px=15, edge=28, on_click=lambda: go(-1))
        following = IconButton("chevron-down", tr("Next change (F7)"), px=15, edge=28, on_click=lambda: go(1))
        find = IconButton("search", tr("Find (Ctrl+F)"), px=15, edge=28, on_click=self.open_find)
        parts = (self._counts, 8, self._mode, previous, following, find, self._layouts)
        self._bar_row = row(*parts, margins=(12, 4, 8, 4), gap=4, stretch=2)
        self._bar = pane(self._bar_row)
        self._pages = QStackedWidget()
        for page in (self.text, self.images, self.words):
            self._pages.addWidget(page)
        self._line = line()
        self.setLayout(column(self._bar, self._line, self.find_bar, self._pages, gap=0, stretch=3))
        self.show_diff(None)

    def show_diff(
        self,
        diff: FileDiff | None,
        path: str = "",
        marks: Sequence[HunkMark] = (),
        *,
        can_revert_hunks: bool = False,
        is_redo: bool = False,
    ) -> None:
        """Show a diff from its beginning on (None: nothing); `path` is its name, which gives its colors.

        `can_revert_hunks` gives each hunk a head with a Revert button, which is called Redo if `is_redo`; it
        is the other way around for one whose mark says that it is over.
        """
        self.diff = diff
        if self.find_bar.isVisibleTo(self):
            self.find_bar.close_bar()  # which gives the keyboard to the diff
        is_text = diff is not None and diff.kind == "text" and bool(diff.hunks)
        shown = diff if is_text else None
        can_revert = can_revert_hunks
        self.text.show_diff(shown, path, marks, can_revert=can_revert, is_redo=is_redo)
        for part in (self._bar, self._line):
            part.setVisible(is_text)
        self._choose_layout()
        if diff is None:
            self.show_text("")
        elif is_text:
            self._counts.show_counts(diff.added, diff.removed)
            self._mode.set_text(describe_mode(diff))
            self._pages.setCurrentWidget(self.text)
        elif diff.kind == "image":
            self.images.show_diff(diff)
            self._pages.setCurrentWidget(self.images)
        else:
            self.show_text("\n".join(describe_without_lines(diff)))

    def show_text(self, text: str) -> None:
        """Show a text instead: why there is no diff, or that it is being made."""
        self.words.setText(text)
        self._pages.setCurrentWidget(self.words)

    def set_side_by_side(self, on: bool) -> None:
        self._wants_side_by_side = on
        self._choose_layout()

    def open_find(self) -> None:
        if self._pages.currentWidget() is self.text:
            self.find_bar.open_bar()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_F7:
            self.text.go_to_change(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._choose_layout()

    def _choose(self, on: bool) -> None:
        if on != self._wants_side_by_side:
            self.set_side_by_side(on)
            self.side_by_side_changed.emit(on)

    def _choose_layout(self) -> None:
        diff = self.diff
        obstacle = ""
        if diff is None or diff.before is None or diff.after is None:
            obstacle = tr("There is only one side.")
        elif diff.added + diff.removed > _MAX_LINES_BESIDE:
            obstacle = tr("Too many changed lines to compare side by side.")
        elif self.width() < scaled(_SIDE_BY_SIDE_PX):
            obstacle = tr("Widen the window to compare side by side.")
        on = self._wants_side_by_side and not obstacle
        self.text.set_side_by_side(on)
        views = [_INLINE] if obstacle else [_INLINE, _SIDE_BY_SIDE]
        self._layouts.show_views(views, _SIDE_BY_SIDE if on else _INLINE, {_SIDE_BY_SIDE: obstacle})
        shorten_row(self._bar_row, self.width(), (self._layouts.setVisible,))


class CountsLine(QFrame):
    """How many lines were added and removed: `+12` and `-4`, each in its color."""

    accessible_role = QAccessible.Role.StaticText

    def __init__(self) -> None:
        super().__init__()
        self._added = TextLine("", 12, 600, "ok")
        self._removed = TextLine("", 12, 600, "error")
        self._added.is_fixed_width = self._removed.is_fixed_width = True
        self.setLayout(row(self._added, self._removed, gap=6))

    def show_counts(self, added: int, removed: int) -> None:
        parts = (self._added, self._removed)
        texts = line_counts_texts(added, removed)
        for part, text, count in zip(parts, texts, (added, removed), strict=True):
            part.set_text(text)
            part.setVisible(count > 0)
        lines = tr.plural(added, "%n line added", "%n lines added")
        gone = tr.plural(removed, "%n removed", "%n removed")
        self.setAccessibleName(tr("{added}, {removed}", added=lines, removed=gone))


_SIZE = (1_100, 760)
_MIN_SIZE = (560, 420)
_LIST_PX = 250  # first width of the list


class DiffsDialog(SizedDialog):
    """The diffs of some files in a window: names at the left, the diff of the current one at the right."""

    def __init__(
        self,
        parent: QWidget,
        title: str,
        diffs: Sequence[tuple[str, FileDiff]],
        buttons: Sequence[PushButton] = (),
        start: StartCoroutine | None = None,
    ) -> None:
        """`diffs` have the paths of their files, `buttons` stand under them.

        `start` owns what reads a text that is too large to compare, which is shown whole.
        """
        super().__init__(parent, title, _SIZE, _MIN_SIZE)
        self.view = DiffView()
        self.viewer = ContentViewer()
        self._diffs = diffs
        self._start = start
        self.list = CheckList(title)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # files differ at the end of their names
        for path, _ in diffs:
            item = QTreeWidgetItem([escape_hidden_name(path)])
            item.setToolTip(0, escape_hidden_name(path))
            self.list.addTopLevelItem(item)
        self.list.setVisible(len(diffs) > 1)
        self._pages = QStackedWidget()
        for page in (self.view, self.viewer):
            self._pages.addWidget(page)
        split = splitter(self.list, self._pages, sizes=(_LIST_PX, _SIZE[0] - _LIST_PX), handle_px=12)
        split.setStretchFactor(1, 1)
        close = PushButton(tr("Close"), "" if buttons else "primary", name="close", on_click=self.reject)
        name = [] if len(diffs) > 1 else [label(escape_hidden_name(diffs[0][0]), "muted", wrap=True)]
        foot = FlowBox([close, *buttons], right_from=0)
        body = column(label(title, "title", wrap=True), *name, split, foot, margins=DIALOG_MARGINS, gap=10)
        body.setStretchFactor(split, 1)
        self.setLayout(body)
        self.list.currentItemChanged.connect(self._show_item)
        self.list.setCurrentItem(self.list.items()[0])
        first = self.list if len(diffs) > 1 else self.view.text
        first.setFocus()

    def _show_item(self, item: QTreeWidgetItem) -> None:
        path, diff = self._diffs[self.list.indexOfTopLevelItem(item)]
        if diff.kind != "too_large" or diff.after_data is None:
            self._pages.setCurrentWidget(self.view)
            self.view.show_diff(diff, path)
            return
        self._pages.setCurrentWidget(self.viewer)
        if self._start is None:
            self.viewer.show_content(_written_content(diff.after_data), path)
        else:
            self.viewer.show_data(None)
            self._start(self._read(item, diff.after_data, path), "read what would be written")

    async def _read(self, item: QTreeWidgetItem, data: bytes, path: str) -> None:
        content = await asyncio.to_thread(_written_content, data)
        if isValid(self) and self.list.currentItem() is item:
            self.viewer.show_content(content, path)


def _written_content(data: bytes) -> PagedContent:
    """Return a text with hidden characters as codes, as its rows."""
    decoder = getincrementaldecoder(utf16_encoding(data) or "utf-8")("replace")
    shown = BytesIO()
    for at in range(0, len(data), DECODED_BYTES):
        piece = decoder.decode(data[at : at + DECODED_BYTES], at + DECODED_BYTES >= len(data))
        shown.write(escape_hidden(piece).encode())
    return PagedContent(shown.getvalue())
