"""The diff of one file: its lines, its images, or words about what has neither."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QImage, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QStackedWidget,
    QWidget,
)

from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.image import identify_image
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import IconButton, ViewSwitch
from helix_desktop.ui.design.diff.rows import HunkMark
from helix_desktop.ui.design.diff.text_view import DiffText
from helix_desktop.ui.design.labels import SelectableText, TextLine
from helix_desktop.ui.design.layout.boxes import column, line, pane, row, shorten_row
from helix_desktop.ui.design.layout.scrolling import VerticalScrollArea
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.viewer.find_bar import FindBar, FindShortcut
from helix_desktop.ui.design.viewer.picture import Picture, read_image
from helix_desktop.words.file_changes import line_counts_texts
from helix_desktop.words.file_diffs import describe_mode, describe_state, describe_without_lines
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_MAX_LINES_BESIDE = 20_000  # changed lines; pairing more would hold up the window
_SIDE_BY_SIDE_PX = 720  # the least width at 100 % at which two columns can be read

_MIN_SIDE_PX = 260
_INLINE, _SIDE_BY_SIDE = "inline", "side_by_side"  # the layouts


class ImageSide(QWidget):
    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self.caption = TextLine("", 12, role="muted")
        self.picture = Picture()
        self.setLayout(column(self.caption, self.picture, None, gap=6))

    def show_text(self, text: str) -> None:
        self.caption.set_text(tr("{title}: {content}", title=self._title, content=text))
        self.picture.setAccessibleName(self.caption.text)


class ImagePair(VerticalScrollArea):
    def __init__(self, start: StartCoroutine | None) -> None:
        """`start` owns the coroutine that decodes in a thread; without it that is done at once."""
        page = QWidget()
        super().__init__(page)
        self._start, self._diff = start, FileDiff("image")
        self.before, self.after = ImageSide(tr("Before")), ImageSide(tr("After"))
        self._sides = QBoxLayout(QBoxLayout.Direction.LeftToRight, page)
        self._sides.setContentsMargins(14, 12, 14, 12)
        self._sides.setSpacing(16)
        for side in (self.before, self.after):
            self._sides.addWidget(side, 1)

    def show_diff(self, diff: FileDiff) -> None:
        """Show the images of a diff; a side on which there is none is left out."""
        self._diff = diff
        contents = diff.before_data, diff.after_data
        for side, state, data in zip(
            (self.before, self.after), (diff.before, diff.after), contents, strict=True
        ):
            side.setVisible(state is not None)
            image = identify_image(data, "") if data is not None else None
            side.show_text(image.summary if image is not None else describe_state(state))
            side.picture.show_image(None)
        if self._start is not None:
            self._start(self._decode(diff), "decode images")
        else:
            self._show_images(diff, [read_image(data) for data in contents])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.viewport().width() >= 2 * scaled(_MIN_SIDE_PX)
        direction = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        self._sides.setDirection(direction)

    async def _decode(self, diff: FileDiff) -> None:
        contents = diff.before_data, diff.after_data
        images = [await asyncio.to_thread(read_image, data) for data in contents]
        if self._diff is diff:
            self._show_images(diff, images)

    def _show_images(self, diff: FileDiff, images: list[QImage | None]) -> None:
        contents = diff.before_data, diff.after_data
        for side, data, image in zip((self.before, self.after), contents, images, strict=True):
            side.picture.show_image(image)
            if data is not None and image is None and identify_image(data, "") is not None:
                side.show_text(tr("Damaged image"))


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
        previous = IconButton("chevron-up", tr("Previous change (Shift+F7)"), px=15, edge=28)
        following = IconButton("chevron-down", tr("Next change (F7)"), px=15, edge=28)
        find = IconButton("search", tr("Find (Ctrl+F)"), px=15, edge=28, on_click=self.open_find)
        previous.clicked.connect(lambda: self.text.go_to_change(-1))
        following.clicked.connect(lambda: self.text.go_to_change(1))
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
        self.text.show_diff(
            diff if is_text else None, path, marks, can_revert=can_revert_hunks, is_redo=is_redo
        )
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
        """Open find, if there is text to find in."""
        if self._pages.currentWidget() is self.text:
            self.find_bar.open_bar()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_F7:
            self.text.go_to_change(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show one column where two would be too narrow."""
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
        for part, text, count in zip(
            (self._added, self._removed), line_counts_texts(added, removed), (added, removed), strict=True
        ):
            part.set_text(text)
            part.setVisible(count > 0)
        lines = tr.plural(added, "%n line added", "%n lines added")
        self.setAccessibleName(
            tr("{added}, {removed}", added=lines, removed=tr.plural(removed, "%n removed", "%n removed"))
        )
