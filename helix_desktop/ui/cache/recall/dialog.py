"""The dialog that recalls a part: lines, or those that match a pattern, with the cost before it happens."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.ui.cache.recall.part import CONTEXTS, RecallPart, parse_recall_part
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox, TextField
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.fonts import mono
from helix_desktop.ui.design.themed import Themed, restyle
from helix_desktop.ui.design.viewer.view_switch import ViewSwitch
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

_SIZE, _MIN_SIZE = (680, 520), (440, 340)
_DEBOUNCE_MS = 200
_MAX_SAMPLE_CHARS = 20_000  # of the recalled text that the dialog shows


class RecallDialog(Themed, SizedDialog):
    """Emits which part is wanted; shows what that is, and is accepted with what it showed last."""

    part_changed = Signal(object)
    """A RecallPart to look for: `show_result` or `show_error` is to answer it."""

    def __init__(self, parent: QWidget, subject: str, part: RecallPart, *, has_lines: bool = True) -> None:
        """`subject` names what is recalled; only one content has lines to choose by number."""
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setModal(True)
        self.setWindowTitle(tr("Recall into message"))
        self._part, self._answered, self._has_lines = part, False, has_lines
        self._accept_when_answered = False
        self.switch = ViewSwitch(
            tr("What to recall"),
            {"pattern": tr("Matching lines"), "lines": tr("Lines"), "whole": tr("Everything")},
        )
        self.pattern, self.lines = (
            TextField(tr("Regular expression, such as error|failed")),
            TextField("10-40"),
        )
        self.pattern.setObjectName("recall_pattern")
        self.pattern.setAccessibleName(tr("Regular expression"))
        self.lines.setObjectName("recall_lines")
        self.lines.setAccessibleName(tr("Lines"))
        self.context = ComboBox()
        self.context.setObjectName("recall_context")
        self.context.addItems([str(lines) for lines in CONTEXTS])
        self.summary, self.sample = label("", "strong", wrap=True), QPlainTextEdit()
        self.summary.setObjectName("recall_result")
        self.sample.setReadOnly(True)
        self.sample.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.sample.setFont(mono(self.font(), 12))
        self.sample.setTabChangesFocus(True)
        self.sample.setAccessibleName(tr("What is recalled"))
        self.recall_button = PushButton(
            tr("Recall into message"), "primary", "archive-restore", name="recall"
        )
        self._lay_out(subject)
        self._timer = QTimer(self, singleShot=True, interval=_DEBOUNCE_MS)
        self._wire()
        self._fill(part)

    @property
    def part(self) -> RecallPart:
        """Return the part that is chosen and valid, or was the last time that it was."""
        return self._part

    def show_result(self, part: RecallPart, summary: str, text: str, *, can_recall: bool) -> None:
        """Show what a part is, unless another one is wanted by now."""
        if part != self._part or self._timer.isActive():
            return
        self._answered = can_recall
        self._say(summary, is_wrong=False)
        self.sample.setPlainText(text[:_MAX_SAMPLE_CHARS] + ("\n…" if len(text) > _MAX_SAMPLE_CHARS else ""))
        self.recall_button.setEnabled(can_recall)
        if can_recall and self._accept_when_answered:
            self.accept()
        self._accept_when_answered = False

    def show_error(self, part: RecallPart, error: HelixError) -> None:
        """Say why there is nothing to recall."""
        if part == self._part and not self._timer.isActive():
            self._refuse(error)

    def _lay_out(self, subject: str) -> None:
        cancel = PushButton(tr("Cancel"), name="cancel")
        cancel.clicked.connect(self.reject)
        around = label(tr("Lines around each"), "muted")
        around.setBuddy(self.context)
        self.context.setAccessibleName(tr("Lines around each match"))
        self._around = QWidget()
        self._around.setLayout(row(around, self.context, gap=8))
        choice = row(self.switch, gap=0)
        choice.addStretch(1)
        fields = row(self.pattern, self.lines, self._around, gap=12)
        fields.setStretch(0, 1)
        words = column(
            label(tr("Recall into message"), "title", wrap=True), label(subject, "muted", wrap=True), gap=4
        )
        layout = column(
            words,
            choice,
            fields,
            self.summary,
            self.sample,
            FlowBox([cancel, self.recall_button], right_from=0),
            margins=DIALOG_MARGINS,
            gap=12,
        )
        layout.setStretch(4, 1)
        self.setLayout(layout)

    def _wire(self) -> None:
        self._timer.timeout.connect(self._ask)
        self.switch.view_selected.connect(self._choose)
        for changed in (self.pattern.textChanged, self.lines.textChanged, self.context.currentIndexChanged):
            changed.connect(self._on_typed)
        for accepted in (self.recall_button.clicked, self.pattern.returnPressed, self.lines.returnPressed):
            accepted.connect(lambda *_: self._accept())

    def _fill(self, part: RecallPart) -> None:
        self.pattern.setText(part.pattern)
        self.context.setCurrentText(str(part.context))
        if part.first:
            self.lines.setText(f"{part.first}-{part.last or ''}")
        self._choose(part.how)

    def _choose(self, how: str) -> None:
        self._how = how
        names = ("pattern", "lines", "whole") if self._has_lines else ("pattern", "whole")
        self.switch.show_views(names, how, {})
        self.pattern.setVisible(how == "pattern")
        self._around.setVisible(how == "pattern")
        self.lines.setVisible(how == "lines")
        field = {"pattern": self.pattern, "lines": self.lines}.get(how)
        if field is not None:
            field.setFocus(Qt.FocusReason.OtherFocusReason)
            field.selectAll()
        self._timer.stop()
        self._ask()

    def _on_typed(self) -> None:
        self._answered = False
        self._timer.start()

    def _ask(self) -> None:
        self._answered = False
        self.recall_button.setEnabled(False)
        try:
            part = self._typed_part()
        except InvalidInput as error:
            self._refuse(error)
            return
        if part is None:
            hints = {
                "pattern": tr("Write what the lines have in common."),
                "lines": tr("Write lines such as {example}.", example="10-40"),
            }
            self._say(hints[self._how], is_wrong=False)
            self.sample.setPlainText("")
            return
        self._part = part
        self._say(tr("Searching…") if part.how == "pattern" else tr("Reading…"), is_wrong=False)
        self.part_changed.emit(part)

    def _typed_part(self) -> RecallPart | None:
        """Return what the fields mean; None while nothing was typed. Raises InvalidInput."""
        if self._how == "whole":
            return RecallPart()
        if self._how == "lines":
            return parse_recall_part(self.lines.text()) if self.lines.text().strip() else None
        pattern = self.pattern.text()
        return _matches(pattern, self.context.currentText()) if pattern else None

    def _accept(self) -> None:
        """Recall what is on show; what was typed a moment ago is looked for first."""
        if self._answered and not self._timer.isActive():
            self.accept()
            return
        self._accept_when_answered = True
        self._timer.stop()
        self._ask()

    def _refuse(self, error: HelixError) -> None:
        self._answered = self._accept_when_answered = False
        self._say(error_text(error), is_wrong=True)
        self.sample.setPlainText("")
        self.recall_button.setEnabled(False)

    def _say(self, text: str, *, is_wrong: bool) -> None:
        restyle(self.summary, "role", "error" if is_wrong else "strong")
        self.summary.setText(text)
        field = {"pattern": self.pattern, "lines": self.lines}.get(self._how)
        if field is not None:
            restyle(field, "invalid", is_wrong)
            field.setAccessibleDescription(text)


def _matches(pattern: str, context: str) -> RecallPart:
    return RecallPart("pattern", pattern=pattern, context=int(context))
