"""A labeled control with a note, or what is wrong, below it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.themed import restyle

_LABEL_PX, _SHORT_LABEL_PX = 190, 72  # the label's column on a page; the least of it in a dialog
_LABEL_GAP_PX = 12  # from the longest label of a dialog to the controls, besides the gap that every field has
_TOP_PX, _MANY_LINES = 6, 3  # above the label beside a control that is as high as so many lines
_UNLIMITED_PX = 10_000


class FormField(QWidget):
    """A label, its control, and below it a note or what is wrong."""

    def __init__(
        self,
        name: str,
        control: QWidget,
        *,
        note: str = "",
        trailing: QWidget | None = None,
        below: QWidget | None = None,
    ) -> None:
        """`trailing` is placed to the right of the control, `below` under it, above the note."""
        super().__init__()
        self._control = control
        self._note = note
        self._note_label = label(note, "faint", wrap=True)
        if not note:
            self._note_label.hide()
        self._words = words = label(name, "muted", wrap=True)
        words.setFixedWidth(_LABEL_PX)
        words.setBuddy(control)
        if not control.accessibleName():
            control.setAccessibleName(name)
        line = row(control, gap=6)
        horizontal = control.sizePolicy().horizontalPolicy()
        narrow = control.maximumWidth() < _UNLIMITED_PX or horizontal == QSizePolicy.Policy.Maximum
        line.setStretch(0, 0 if narrow else 1)
        if trailing is not None:
            line.addWidget(trailing)
        if narrow:
            line.addStretch(1)
        body = row(
            words, column(line, *([below] if below is not None else []), self._note_label, gap=3), gap=6
        )
        body.setStretch(1, 1)
        first = body.itemAt(0)
        if first is not None:
            first.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.setLayout(body)

    def label_width(self) -> int:
        """Return the width in pixels that the label takes in one line."""
        return self._words.fontMetrics().horizontalAdvance(self._words.text())

    def set_label_width(self, width: int) -> None:
        """Set the width of the label's column in pixels."""
        self._words.setFixedWidth(width)

    def event(self, event: QEvent) -> bool:
        """Keep the label at the middle of its control, which grows with the text size."""
        if event.type() in {QEvent.Type.Show, QEvent.Type.LayoutRequest}:
            text, room = self._words.fontMetrics().height(), self._control.sizeHint().height()
            above = _TOP_PX if room > _MANY_LINES * text else max(0, room - text) // 2
            self._words.setContentsMargins(0, above, 0, _TOP_PX)
        return super().event(event)

    def show_error(self, message: str) -> None:
        """Mark the control as wrong and say why; an empty text takes the mark away."""
        restyle(self._control, "invalid", bool(message))
        restyle(self._note_label, "role", "error" if message else "faint")
        show_text(self._note_label, message or self._note)

    def take_focus(self) -> None:
        """Give the keyboard to the control."""
        self._control.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_note(self, note: str) -> None:
        """Say something else below the control."""
        self._note = note
        self.show_error("")

    def note_text(self) -> str:
        """Return what is below the control: the note, or what is wrong."""
        return self._note_label.text()

    def error_text(self) -> str:
        """Return what is shown as wrong, or an empty text."""
        return self.note_text() if self._control.property("invalid") else ""


def align_labels(*fields: FormField) -> tuple[FormField, ...]:
    """Give the labels of a dialog's fields the width of the longest one; return the fields.

    A page of settings has one column of labels for all its cards: dialogs are too narrow for that.
    """
    width = max(field.label_width() for field in fields) + _LABEL_GAP_PX
    for field in fields:
        field.set_label_width(max(_SHORT_LABEL_PX, min(width, _LABEL_PX)))
    return fields
