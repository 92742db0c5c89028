"""The parts of the handover window and where they stand: versions, text, comparison, errors."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from math import ceil

from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent, QSyntaxHighlighter, QTextCharFormat
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QStyle, QVBoxLayout, QWidget

from helix_desktop.context.summaries.handover_revision import (
    ITEM_CHANGES,
    MISSING_CHANGES,
    NO_SOURCE,
    ComparedItem,
    ComparedSection,
    ItemChange,
)
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import Disclosure, DisclosureHead, Pill
from helix_desktop.ui.design.choice_fields import ComboBox, Index
from helix_desktop.ui.design.focus import paint_row_focus
from helix_desktop.ui.design.labels import IconLabel, label, show_text
from helix_desktop.ui.design.layout import FlowBox, ListScrollArea, PageArea, clear_layout, column, pane, row
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import TextRole, Themed, current_theme, restyle
from helix_desktop.ui.design.text_fields import TextArea
from helix_desktop.ui.handover.range_choice import RangeChoice
from helix_desktop.ui.handover.versions import ChooseVersion, Version
from helix_desktop.ui.kit.boxes import Box, Column, Frame, Pen, Row, Text
from helix_desktop.ui.kit.boxes import Pill as BoxPill
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.kit.notices import error_level
from helix_desktop.ui.rows.quick_picker import Line, PickerList, line
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.cards import PHASES, Phase, paint_phases, phases_name
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import Translator, error_text

tr = Translator("Handover")

_FRAME_PX = 20  # of a field, above and below its lines
_MARKUP = re.compile(r"`[^`]+`|\[e\d+(?:, e\d+)*\]|^- ")
_VERSION_PX = 52
_EDGE_PX = 12


class _Colors(QSyntaxHighlighter):
    """Code in its font, and the signs around sentences pale: what is read is the sentence."""

    def highlightBlock(self, text: str) -> None:
        for hit in _MARKUP.finditer(text):
            form = QTextCharFormat()
            if hit[0].startswith("`"):
                form.setFont(ui_font(12, is_code=True))
            else:
                form.setForeground(QColor(current_theme().faint))
            self.setFormat(hit.start(), hit.end() - hit.start(), form)


class _WrappingField(TextArea):
    """A field as high as its lines, which the page around it scrolls."""

    wrapped = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.wrapped.emit()  # its document has other lines then, and says nothing


class SectionField(Themed, QWidget):
    """A title, as of when its points were open, if its text differs from the original, and its sentences."""

    changed = Signal()

    def __init__(self, title: str, text: str, original: str, as_of: str) -> None:
        super().__init__()
        self.title = title
        self._original = original
        self._shown_text = ""
        self.editor = _WrappingField(text, words=title, placeholder=tr("Nothing recorded"))
        self.editor.setObjectName(f"section:{title}")
        self.editor.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._colors = _Colors(self.editor.document())
        self.pill = Pill(tr("Edited"), "accent")
        words = tr("Reset {section}", section=title)
        tip = tr("Back to the text as it was first recorded")
        self.reset_button = PushButton(
            tr("Reset"), "link", "undo-2", px=14, name=f"reset:{title}", words=words, tip=tip,
            on_click=self._reset,
        )  # fmt: skip
        when = [label(as_of, "faint")] if as_of else []
        head = row(label(title, "strong"), *when, self.pill, None, self.reset_button)
        self.setLayout(column(head, self.editor, gap=4))
        self.editor.textChanged.connect(self._on_text)
        self.editor.document().documentLayout().documentSizeChanged.connect(lambda _: self._fit())
        self.editor.wrapped.connect(self._fit)
        self.pill.hide()
        self.reset_button.hide()
        self._on_text()
        self._fit()

    @property
    def text(self) -> str:
        return self.editor.toPlainText()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._colors.rehighlight()

    def add_sentence(self, bullet: Bullet) -> None:
        """Add a sentence at the end, as one step of the field's own undo."""
        sources = ", ".join(f"e{seq}" for seq in bullet.sources)
        line = f"- {' '.join(bullet.text.split())}" + (f" [{sources}]" if sources else "")
        cursor = self.editor.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        cursor.insertText(f"\n{line}" if self.text.strip() else line)

    def _reset(self) -> None:
        cursor = self.editor.textCursor()  # keeps the field's own undo, which setPlainText would clear
        cursor.select(cursor.SelectionType.Document)
        cursor.insertText(self._original)
        self.editor.setFocus()
        announce(self, tr("{section} is as it was first recorded.", section=self.title))

    def _on_text(self) -> None:
        if self.text == self._shown_text:
            return  # other colors
        self._shown_text = self.text
        differs = self.text.strip() != self._original.strip()
        self.pill.setVisible(differs)
        self.reset_button.setVisible(differs)
        self.changed.emit()

    def _fit(self) -> None:
        layout = self.editor.document().documentLayout()
        block = self.editor.document().begin()
        height = 0.0
        while block.isValid():
            height += layout.blockBoundingRect(block).height()
            block = block.next()
        self.editor.setFixedHeight(ceil(height) + _FRAME_PX)


class VersionList(PickerList):
    """The versions, one on two lines each; arrows choose."""

    def __init__(self) -> None:
        super().__init__(_draw_version)
        self.setAccessibleName(tr("Versions"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.versions: Sequence[Version] = ()

    def show_versions(self, versions: Sequence[Version], seq: int) -> None:
        blocker = QSignalBlocker(self)  # rows that come and go are chosen by nobody
        if versions != self.versions:
            self.versions = versions
            lines = []
            for version in versions:
                words = ", ".join(filter(None, (version.title, version.state, version.note)))
                lines.append(line(version, words, _VERSION_PX, (version.title, version.note), ()))
            self.set_rows(lines)
        self.choose(next((at for at, version in enumerate(versions) if version.seq == seq), 0))
        blocker.unblock()

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if self.current is not None and not self.signalsBlocked():
            perform(self, ChooseVersion(self.current.value.seq))

    def paint_row(self, painter: QPainter, box: QRectF, at: int, state: QStyle.StateFlag) -> None:
        super().paint_row(painter, box, at, state)
        if state & QStyle.StateFlag.State_HasFocus:
            paint_row_focus(painter, box.adjusted(0, 1, 0, -1), self._theme.accent, is_keyboard=True)


def _draw_version(line: Line, width: float) -> Box:
    version: Version = line.value
    pill = [BoxPill(version.state, "accent")] if version.state else []
    note = Row([Text(version.note, 12, "muted", shrink=True), *pill], 8)
    title = Text(version.title, 13, weight=500, shrink=True, elide=Qt.TextElideMode.ElideMiddle)
    content = Column([title, note])
    return Frame(content, (_EDGE_PX, 0, _EDGE_PX, 0))


class PhaseSteps(Themed, QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._phase = PHASES[0]
        self.apply_theme()

    def set_phase(self, phase: Phase) -> None:
        self._phase = phase
        self.setAccessibleName(phases_name(phase))
        self.update()

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedHeight(scaled(24))

    def sizeHint(self) -> QSize:
        return QSize(420, scaled(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        pen = Pen.of_widget(self, self._theme)
        paint_phases(pen, QRectF(self.rect()), self._phase)
        pen.qt.end()


_CHOICE_CHARS = 12  # of a version's name that are shown at least; the whole is its tooltip
_SIGNS: dict[ItemChange, tuple[str, TextRole]] = {
    "dropped": ("minus", "error"),
    "below": ("minus", "muted"),
    "changed": ("pencil", "accent_text"),
    "moved": ("arrow-right", "muted"),
    "added": ("plus", "ok"),
}


class CompareWith(Intent, frozen=True):  # another version
    seq: int


class PutBack(Intent, frozen=True):  # a sentence of the other version, into a section
    title: str
    bullet: Bullet


class Comparison(QFrame):
    """What differs, by kinds; it keeps its place, and the keyboard, when others come."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("panel_pane")
        self.other_box = ComboBox(least_chars=_CHOICE_CHARS, words=tr("Compare with"))
        self.other_box.setObjectName("compare-with")
        self.other_box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.other_box.activated.connect(lambda _: perform(self, CompareWith(self.other_box.currentData())))
        self.no_difference = label(tr("No differences"), "note")
        self._items = column(gap=6, margins=(0, 0, 6, 0))
        self.area = ListScrollArea(self._items, tr("Differences"))
        head = column(label(tr("Compare with"), "muted"), self.other_box, self.no_difference, gap=6)
        head.setContentsMargins(6, 0, 6, 0)
        self.setLayout(column(head, self.area, margins=(12, 18, 6, 10), gap=6, stretch=1))
        self.buttons: list[PushButton] = []  # that put something back
        self._shown: tuple[Sequence[ComparedSection], bool] | None = None

    def show_choices(self, versions: Sequence[Version], other: int) -> None:
        self.other_box.clear()
        for version in versions:
            self.other_box.addItem(version.title, version.seq)
        self.other_box.setCurrentIndex(max(0, self.other_box.findData(other)))

    def show_sections(self, sections: Sequence[ComparedSection], *, can_put_back: bool) -> None:
        if self._shown == (sections, can_put_back):
            return
        self._shown = (sections, can_put_back)
        bar = self.area.verticalScrollBar()
        value = bar.value()
        focused = [button.hasFocus() for button in self.buttons]
        self.buttons = []
        clear_layout(self._items)
        self.no_difference.setVisible(all(item.change == "same" for part in sections for item in part.items))
        for change in ITEM_CHANGES:
            items = [(part.title, item) for part in sections for item in part.items if item.change == change]
            if items:
                self._items.addWidget(
                    _same(items) if change == "same" else self._group(change, items, can_put_back)
                )
        self._items.addStretch(1)
        QTimer.singleShot(0, self, lambda: bar.setValue(value))  # what is new has its height then
        if any(focused):
            following = self.buttons[focused.index(True) :] or self.buttons[-1:]
            focus = following[0] if following else self.other_box
            focus.setFocus()

    def _group(
        self, change: ItemChange, items: Sequence[tuple[str, ComparedItem]], can_put_back: bool
    ) -> QWidget:
        sign, color = _SIGNS[change]
        name = _name(change)
        heading = label(_counted(change, len(items)), "strong")
        heading_row = row(IconLabel(sign, px=14, color_token=color), heading, None, gap=8)
        rows = column(heading_row, margins=(0, 6, 0, 4), gap=4)
        is_missing = change in MISSING_CHANGES
        for title, item in items:
            if change == "changed":
                rows.addWidget(_bullet(item.before, item.before_spans, is_struck_out=True))
            shown = _bullet(item.before if is_missing else item.after, item.after_spans)
            shown.setAccessibleName(tr("{change}: {text}", change=name, text=shown.accessibleName()))
            rows.addWidget(shown)
            if item.moved_from:
                rows.addWidget(label(tr("From {section}", section=item.moved_from), "faint", wrap=True))
            if is_missing and can_put_back and item.before is not None:
                self.buttons.append(_put_back_button(title, item.before))
                rows.addLayout(row(13, self.buttons[-1], None, gap=0))
        return pane(rows)


def _name(change: ItemChange) -> str:
    return {
        "dropped": tr("Dropped"),
        "below": tr("Listed below the sections"),
        "changed": tr("Changed"),
        "moved": tr("Moved"),
        "added": tr("Added"),
        "same": tr("Unchanged"),
    }[change]


def _counted(change: ItemChange, count: int) -> str:
    return tr("{change} ({count})", change=_name(change), count=format_integer(count))


def _put_back_button(title: str, bullet: Bullet) -> PushButton:
    button = PushButton(tr("Put back"), "link", name="put_back", tip=tr("Into {section}", section=title))
    button.setAccessibleName(tr("Put back: {text}", text=bullet.text))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.clicked.connect(lambda: perform(button, PutBack(title, bullet)))
    return button


def _same(items: Sequence[tuple[str, ComparedItem]]) -> Disclosure:
    """Return the items without a difference, closed."""
    head = DisclosureHead(_counted("same", len(items)), "", "muted")
    return Disclosure(head, lambda: pane(column(*(_bullet(item.after) for _, item in items), gap=3)))


def _bullet(
    bullet: Bullet | None, marks: Sequence[tuple[int, int]] = (), *, is_struck_out: bool = False
) -> BulletView:
    assert bullet is not None  # each kind of change has it
    role: TextRole = "faint" if is_struck_out else "text"
    return BulletView(bullet, role, is_flagged=False, marks=marks, is_struck_out=is_struck_out)


_SIZE = (1_240, 812)
_MIN_SIZE = (720, 460)
_LIST_PX = 264  # of the column at the left
_LIST_SHARE = 0.24  # the most of the width that it takes
_COMPARISON_PX = 308  # of the column at the right
_COMPARISON_SHARE = 0.32  # the most of the width that it takes
_PAUSE_MS = 250  # without a key before what was typed is checked


class WindowParts(SizedDialog):
    """Versions at the left, the sections of one in the middle, the comparison at the right, actions below."""

    def __init__(self, parent: QWidget, ranges: RangeChoice) -> None:
        super().__init__(parent, tr("Handover summaries"), _SIZE, _MIN_SIZE)
        self.ranges = ranges
        self._writing_since_s = 0.0
        self._is_warned = False
        self.versions = VersionList()
        self.comparison = Comparison()
        self.title = label("", "title", wrap=True)
        tip = tr("Copy the whole handover summary as Markdown")
        self.copy_button = PushButton(tr("Copy"), "link", "copy", px=14, name="copy", tip=tip)
        self.compare_button = PushButton(tr("Compare"), "link", "git-compare", px=14, name="compare")
        self.compare_button.setCheckable(True)
        self._pills = column(gap=0)
        self._notes = column(gap=6)
        self._sections_column = column(gap=12)
        self._missing = column(gap=6)
        self._below = column(gap=4)
        self.phase_steps = PhaseSteps()
        self.model_output = QPlainTextEdit()
        self.model_output.setReadOnly(True)
        self.model_output.setTabChangesFocus(True)
        self.model_output.setAccessibleName(tr("Text from the model"))
        self._problem = label("", "error", wrap=True)
        self._problem.hide()
        self.close_button = PushButton(tr("Close"), name="close", on_click=self.reject)
        self.stop_button = PushButton(tr("Stop"), name="stop")
        self.write_button = PushButton("", name="write_draft")
        self.save_button = PushButton(tr("Save changes"), name="save")
        self.use_button = PushButton(tr("Compact"), name="hand_over")
        self.session_button = PushButton("", name="start_session")
        self._used_first = (self.save_button, self.use_button)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._seconds = QTimer(self, interval=1_000)
        legend = tr(
            "[e12] names the event that a sentence comes from; {mark} marks a sentence that names none.",
            mark=NO_SOURCE,
        )
        self._legend = label(legend, "faint", wrap=True)
        page = column(
            self._pills, self._notes, self._sections_column, self._missing, self._below,
            self._legend, None, margins=(18, 0, 12, 6), gap=10,
        )  # fmt: skip
        self._scroll = ListScrollArea(page, tr("Sections"))
        writing = pane(column(self.phase_steps, self.model_output, margins=(24, 0, 24, 12), stretch=1))
        self._pages = PageArea()
        self._pages.addWidget(self._scroll)
        self._pages.addWidget(writing)
        above = self.title, self.compare_button, self.copy_button
        head = pane(row(*above, margins=(24, 16, 18, 8), stretch=0))
        buttons = FlowBox(
            [
                *(self.close_button, self.stop_button, self.write_button),
                *(self.save_button, self.session_button, self.use_button),
            ],
            right_from=0,
        )
        foot = QFrame()
        foot.setObjectName("settings_footer")
        foot.setLayout(column(self._problem, ranges, ranges.price, buttons, margins=(24, 12, 18, 12), gap=10))
        heading = label(self.windowTitle(), "title", wrap=True)
        self.windowTitleChanged.connect(heading.setText)
        self._side = QFrame()
        self._side.setObjectName("page_list")
        self._side.setLayout(
            column(row(12, heading, stretch=1), self.versions, margins=(8, 18, 8, 8), gap=12)
        )
        upper = row(pane(column(head, self._pages, gap=0, stretch=1)), self.comparison, gap=0, stretch=0)
        right = column(upper, foot, gap=0, stretch=0)
        self.setLayout(row(self._side, right, gap=0, stretch=1))
        self._seconds.timeout.connect(self._show_waiting)

    @property
    def problem(self) -> str:
        return "" if self._problem.isHidden() else self._problem.text()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._side.setFixedWidth(min(scaled(_LIST_PX), round(self.width() * _LIST_SHARE)))
        self.comparison.setFixedWidth(min(scaled(_COMPARISON_PX), round(self.width() * _COMPARISON_SHARE)))

    def _fill(self, layout: QVBoxLayout, parts: Sequence[QWidget]) -> None:
        clear_layout(layout)
        for part in parts:
            layout.addWidget(part)
            part.show()  # at once, so that it can take the keyboard

    def show_error(self, error: HelixError) -> None:
        self.show_problem(error_text(error))
        restyle(self._problem, "role", "error" if error_level(error) == "error" else "note")

    def show_problem(self, message: str = "") -> None:
        self._is_warned = False
        restyle(self._problem, "role", "error")
        show_text(self._problem, message)
        if message:
            announce(self, message)

    def show_phase(self, phase: Phase, text: str = "") -> None:
        self.phase_steps.set_phase(phase)
        self._show_waiting()
        current_text = self.model_output.toPlainText()
        if text.startswith(current_text):
            bar = self.model_output.verticalScrollBar()
            at_end = bar.value() >= bar.maximum() - 4
            cursor = self.model_output.textCursor()
            cursor.movePosition(cursor.MoveOperation.End)
            cursor.insertText(text[len(current_text) :])
            if at_end:
                bar.setValue(bar.maximum())
        elif text:
            self.model_output.setPlainText(text)

    def _show_waiting(self) -> None:
        """Say in the empty page what happens, and for how long: a model may read for half a minute."""
        seconds = round(time.monotonic() - self._writing_since_s)
        reads = tr("The model reads the messages. Its text appears here as it is written.")
        waits = tr("Waiting for {seconds} s. Stop changes nothing.", seconds=seconds)
        self.model_output.setPlaceholderText(f"{reads}\n{waits}")
        self.model_output.viewport().update()  # Qt paints a changed placeholder only as it appears


def warning_line(sentence: str, name: str) -> QWidget:
    words = label(sentence, wrap=True, name=name)
    return pane(row(IconLabel("triangle-alert", px=17, color_token="warn"), words, gap=9, stretch=1))
