"""The parts of the handover window and where they stand, with what they say of writing and of errors."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QVBoxLayout, QWidget

from helix_desktop.context.summaries.handover import UNSUPPORTED
from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dynamic_style import restyle
from helix_desktop.ui.design.fields import TextField
from helix_desktop.ui.design.labels import IconLabel, label, show_text
from helix_desktop.ui.design.layout.boxes import clear_layout, column, pane, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.scrolling import ListScrollArea
from helix_desktop.ui.design.layout.stack import PageArea
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.handover.comparison import Comparison
from helix_desktop.ui.handover.fields import RangeBox, VersionList
from helix_desktop.ui.kit.notices import error_level
from helix_desktop.ui.timeline.card_data import Phase
from helix_desktop.ui.timeline.running_view import PhaseSteps
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Handover")

_SIZE, _MIN_SIZE = (1_240, 812), (720, 460)
_LIST_PX, _LIST_SHARE = 216, 0.24  # of the columns at the left and at the right: pixels, at most of the width
_COMPARISON_PX, _COMPARISON_SHARE = 308, 0.32
_PAUSE_MS = 250  # without a key before what was typed is checked


class WindowParts(SizedDialog):
    """Versions at the left, the sections of one in the middle, the comparison at the right, actions below."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self._writing_since_s, self._is_warned = 0.0, False
        self._make_parts()
        self._lay_out()
        self._seconds.timeout.connect(self._show_waiting)

    @property
    def problem(self) -> str:
        return "" if self._problem.isHidden() else self._problem.text()

    def _make_parts(self) -> None:
        self.setModal(True)
        self.setWindowTitle(tr("Handover"))
        self.versions, self.comparison = VersionList(), Comparison()
        self.title = label("", "title", wrap=True)
        self.copy_button = PushButton(tr("Copy"), "link", "copy", px=14, name="copy")
        self.copy_button.setToolTip(tr("Copy the whole handover as Markdown"))
        self._pills, self._notes = column(gap=0), column(gap=6)
        self._sections_column, self._missing, self._below = column(gap=12), column(gap=6), column(gap=4)
        self.phase_steps, self.model_output = PhaseSteps(), QPlainTextEdit()
        self.model_output.setReadOnly(True)
        self.model_output.setTabChangesFocus(True)
        self.model_output.setAccessibleName(tr("Text from the model"))
        self.range_box = RangeBox()
        self.focus_input = TextField(tr("Focus, for example open questions"))
        self.focus_input.setAccessibleName(tr("Focus"))
        self.estimate_label = label("", "muted")
        self.estimate_label.setObjectName("handover-price")
        self._gain = label("", "note", wrap=True)
        self._gain.setObjectName("gain-warning")
        self._problem = label("", "error", wrap=True)
        self._problem.hide()
        self.close_button = PushButton(tr("Close"), name="close")
        self.stop_button = PushButton(tr("Stop"), name="stop")
        self.write_button = PushButton(tr("Write draft"), name="write_draft")
        self.redo_button = PushButton("", name="redo_handover")
        self.save_button = PushButton(tr("Save changes"), name="save")
        self.use_button = PushButton(tr("Compact"), name="hand_over")
        self.session_button = PushButton(tr("Start session"), name="start_session")
        self.session_button.setToolTip(tr("Start a session whose context begins with this handover"))
        self._used_first = (self.save_button, self.use_button, self.redo_button)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._seconds = QTimer(self, interval=1_000)

    def _lay_out(self) -> None:
        page = QWidget()
        page.setObjectName("page")
        legend = tr(
            "[e12] names the event that a sentence comes from; {mark} marks a sentence that names none.",
            mark=UNSUPPORTED,
        )
        page.setLayout(column(
            self._pills, self._notes, self._sections_column, self._missing, self._below,
            label(legend, "faint", wrap=True), None, margins=(18, 0, 12, 6), gap=10,
        ))  # fmt: skip
        self._scroll = ListScrollArea(page, tr("Sections"))
        writing = pane(column(self.phase_steps, self.model_output, margins=(24, 0, 24, 12), stretch=1))
        self._pages = PageArea()
        self._pages.addWidget(self._scroll)
        self._pages.addWidget(writing)
        choice = row(self.range_box, self.focus_input, gap=8)
        choice.setStretch(0, 1)
        choice.setStretch(1, 1)
        self._write_row = pane(choice)
        head = pane(row(self.title, self.copy_button, margins=(24, 16, 18, 8), stretch=0))
        buttons = FlowBox(
            [
                *(self.estimate_label, self.close_button, self.stop_button, self.write_button),
                *(self.redo_button, self.save_button, self.session_button, self.use_button),
            ],
            right_from=1,
        )
        foot = QFrame()
        foot.setObjectName("settings_footer")
        foot.setLayout(
            column(self._gain, self._problem, self._write_row, buttons, margins=(24, 12, 18, 12), gap=10)
        )
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


def warning_line(sentence: str, name: str) -> QWidget:
    words = label(sentence, wrap=True)
    words.setObjectName(name)
    return pane(row(IconLabel("triangle-alert", px=17, color_token="warn"), words, gap=9, stretch=1))
