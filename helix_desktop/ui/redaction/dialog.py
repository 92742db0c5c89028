"""The dialog that removes a secret: enter it, find its occurrences, type the word, done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QProgressBar, QWidget

from helix_desktop.domain.text_variants import MIN_BASE64_BYTES
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, card, clear_layout, column, pane, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.scrolling import ListScrollArea
from helix_desktop.ui.design.tab_order import TabsInReadingOrder
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.design.window_placement import fitted_rect, free_rect
from helix_desktop.words.translation import Translator

tr = Translator("Remove a secret")

RedactStep: TypeAlias = Literal["ask", "searching", "found", "removing", "done"]

_WIDTH, _TEXT_LINES = 560, 3
_PAGE_WIDTH = 498  # of what is found, between the margins of dialog and card
_MIN_LINES = 3


def confirmation_word() -> str:
    return tr("remove", "what the user types to confirm")


def _limits(of_output: bool) -> tuple[str, ...]:
    words = tr(
        "Notes, facts, handovers and lists that repeat lines of this output lose them too. What the "
        "agent wrote about it stays, and so do other outputs with the same text: enter the text to remove "
        "it everywhere."
    )
    return (
        *((words,) if of_output else ()),
        tr("Providers that received it still have it. Change the password or revoke the key there."),
        tr(
            "Also finds JSON-escaped and URL-encoded forms, and Base64 of texts with at least {count} "
            "characters. Base64 split over lines isn't found.",
            count=MIN_BASE64_BYTES,
        ),
        tr("Backups and exported files aren't changed."),
    )


class _ResultArea(ListScrollArea):
    """What was found, as high as it is where the screen has room; only where it has none it scrolls."""

    def __init__(self, page: QWidget) -> None:
        super().__init__(page, tr("Result"))
        self._page = page
        page.setObjectName("page")

    def sizeHint(self) -> QSize:
        margins = self.viewportMargins()
        room = _PAGE_WIDTH - margins.left() - margins.right()
        return QSize(_PAGE_WIDTH, self._page.heightForWidth(room) + margins.top() + margins.bottom())

    def minimumSizeHint(self) -> QSize:
        lines = self.fontMetrics().lineSpacing() * _MIN_LINES
        return QSize(super().minimumSizeHint().width(), min(lines, self.sizeHint().height()))


class RedactDialog(Themed, TabsInReadingOrder, QDialog):
    search_requested = Signal(str)
    redact_requested = Signal(str)
    cancel_requested = Signal()  # of the search

    def __init__(self, parent: QWidget, entry_text: str = "") -> None:
        """`entry_text` describes the output to redact, with all that was shown of it."""
        super().__init__(parent)
        self.setWindowTitle(tr("Remove a secret"))
        self.setModal(True)
        self.setFixedWidth(_WIDTH)
        self._entry_text, self._has_matches = entry_text, False
        self._step: RedactStep = "ask"
        self.text_input = TextArea()
        self.text_input.setAccessibleName(tr("Text to remove"))
        self.text_input.setPlaceholderText(
            tr("More text to remove (optional)") if entry_text else tr("Paste the exact text")
        )
        self.text_input.setTabChangesFocus(True)
        self.text_input.setFixedHeight(self.text_input.fontMetrics().lineSpacing() * _TEXT_LINES + 18)
        self.confirm_input = QLineEdit()
        prompt = tr("Type “{word}” to confirm", word=confirmation_word())
        self.confirm_input.setAccessibleName(prompt)
        self.confirm_input.setPlaceholderText(prompt)
        self._progress_bar = QProgressBar()
        self._progress_bar.setTextVisible(False)
        self._progress_label = label("", "muted", wrap=True)
        self._lines = column(gap=6)
        self._problem = label("", "error", wrap=True)
        self.search_button = PushButton(tr("Find occurrences"), "primary", name="search")
        self.redact_button = PushButton(tr("Remove permanently"), "danger", name="redact")
        self.cancel_button = PushButton(tr("Cancel"), name="cancel")
        self._lay_out()
        self._connect()
        self._show("ask")

    @property
    def step(self) -> RedactStep:
        return self._step

    @property
    def secret(self) -> str:
        """Return the text, without the line's end that pasting often adds."""
        return self.text_input.toPlainText().rstrip("\n")

    def show_progress(self, done: int, total: int) -> None:
        self._progress_bar.setRange(0, total)
        self._progress_bar.setValue(done)
        self._progress_label.setText(
            tr.plural(
                total,
                "Removing, then checking: {done} of %n cached output",
                "Removing, then checking: {done} of %n cached outputs",
                done=done,
            )
            if self.step == "removing"
            else tr.plural(
                total,
                "Searching: {done} of %n cached output",
                "Searching: {done} of %n cached outputs",
                done=done,
            )
        )

    def show_matches(self, lines: Sequence[str], notes: Sequence[str] = ()) -> None:
        """Say where it is; without lines it is nowhere."""
        self._fill(lines or [tr("No occurrences found.")], (*notes, *_limits(bool(self._entry_text))))
        self._has_matches = bool(lines)
        self.confirm_input.clear()
        self._show("found")
        (self.confirm_input if lines else self.cancel_button).setFocus(Qt.FocusReason.OtherFocusReason)

    def show_done(self, lines: Sequence[str], files: str = "") -> None:
        """Say what was done, and which `files` of the workspace still have it."""
        lines = (*lines, tr("The saved data was rewritten without it."))
        self._fill(lines, (*filter(None, (files,)), *_limits(bool(self._entry_text))))
        self.text_input.clear()
        self._show("done")
        self.cancel_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_problem(self, message: str) -> None:
        self._problem.setText(message)
        self._show("ask")

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def reject(self) -> None:
        """Esc: ends the search first; the removal itself cannot be ended."""
        if self.step == "searching":
            self.cancel_requested.emit()
            self._show("ask")
        elif self.step != "removing":
            super().reject()

    def _fill(self, lines: Sequence[str], notes: Sequence[str]) -> None:
        clear_layout(self._lines)
        for line in lines:
            self._lines.addWidget(label(line, "strong", wrap=True))
        for note in notes:
            self._lines.addWidget(label(note, "note", wrap=True))
        retint(self, self._theme)

    def _lay_out(self) -> None:
        lead = tr(
            "Removes a password, a key or other text from this workspace's data and from the app's logs. "
            "This can't be undone."
        )
        words = column(label(tr("Remove a secret"), "title"), label(lead, "muted", wrap=True), gap=5)
        what = column(gap=8)
        if self._entry_text:
            output = tr("{output}, wherever it was shown", output=self._entry_text)
            what.addWidget(label(output, "strong", wrap=True))
        what.addWidget(self.text_input)
        self._result = card(column(_ResultArea(pane(self._lines)), margins=(8, 6, 8, 6)))
        warning = tr("Running agents in this workspace are stopped. Open sessions are reloaded.")
        sign = IconLabel("triangle-alert", px=15, color_token="warn")
        self._warning = pane(row(sign, label(warning, "note", wrap=True), gap=8, stretch=1))
        self._progress_area = pane(column(self._progress_label, self._progress_bar, gap=6))
        buttons = FlowBox([self.cancel_button, self.search_button, self.redact_button], right_from=0)
        self.setLayout(
            column(
                words,
                what,
                self._progress_area,
                self._result,
                self._warning,
                self.confirm_input,
                self._problem,
                buttons,
                margins=DIALOG_MARGINS,
                gap=12,
            )
        )

    def _connect(self) -> None:
        self.search_button.clicked.connect(self._start_search)
        self.redact_button.clicked.connect(self._start_redaction)
        self.confirm_input.returnPressed.connect(self.redact_button.click)
        self.cancel_button.clicked.connect(self.reject)
        self.text_input.textChanged.connect(self._on_text_changed)
        self.confirm_input.textChanged.connect(lambda _: self._show(self.step))

    def _on_text_changed(self) -> None:
        if self.step in ("ask", "found"):  # what was found was found of another text
            self._problem.clear()
            self._show("ask")

    def _start_search(self) -> None:
        self._problem.clear()
        self.show_progress(0, 0)
        self._show("searching")
        self.search_requested.emit(self.secret)

    def _start_redaction(self) -> None:
        self._show("removing")
        self.show_progress(0, 0)
        self.redact_requested.emit(self.secret)

    def _show(self, step: RedactStep) -> None:
        self._step = step
        working = step in ("searching", "removing")
        self.text_input.setReadOnly(working)
        self.text_input.setVisible(step != "done")
        self._progress_area.setVisible(working)
        self._result.setVisible(step in ("found", "done"))
        confirming = step == "found" and self._has_matches
        self._warning.setVisible(confirming)
        self.confirm_input.setVisible(confirming)
        self.search_button.setVisible(step in ("ask", "searching"))
        self.search_button.setEnabled(step == "ask" and bool(self.secret or self._entry_text))
        self.redact_button.setVisible(confirming)
        typed, word = self.confirm_input.text().strip(), confirmation_word()
        self.redact_button.setEnabled(typed.casefold() == word.casefold())
        self._problem.setVisible(bool(self._problem.text()))
        self.cancel_button.setVisible(step != "removing")
        self.cancel_button.setText(
            tr("Stop") if step == "searching" else tr("Close") if step == "done" else tr("Cancel")
        )
        self._fit()

    def _fit(self) -> None:
        """Be as high as the words need and the screen allows, and stay on it."""
        layout = self.layout()
        if layout is None:
            return
        preferred_height = max(layout.heightForWidth(_WIDTH), layout.minimumSize().height())
        self.setFixedHeight(min(preferred_height, free_rect(self).height()))
        place = fitted_rect(self.frameGeometry(), self.screen().availableGeometry()).topLeft()
        if self.isVisible() and place != self.pos():
            self.move(place)
