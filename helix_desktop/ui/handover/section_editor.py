"""One section of a handover in a field that is as high as its text, with the way back to the original."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.handover.edit_data import EditedField
from helix_desktop.words.translation import Translator

tr = Translator("Edit handover")

_MIN_LINES, _MAX_LINES = 2, 16  # of a field; longer text scrolls inside
_FRAME_PX = 30  # of a field, above and below its lines


class _WrappingField(TextArea):
    """A field that says when it has another width: its document then has other lines, and says nothing."""

    wrapped = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap again."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.wrapped.emit()


class SectionEditor(QWidget):
    """A title, whether it differs from the original, and the sentences, one on each line."""

    changed = Signal()

    def __init__(self, field: EditedField) -> None:
        """Show the sentences as they are in the context now."""
        super().__init__()
        self._field = field
        self.editor = _WrappingField(field.text)
        self.editor.setObjectName(f"section:{field.title}")
        self.editor.setAccessibleName(field.title)
        self.editor.setPlaceholderText(tr("Nothing recorded"))
        self.editor.setTabChangesFocus(True)
        self.pill = Pill(tr("Edited"), "accent")
        self.reset_button = PushButton(tr("Reset"), "link", "undo-2", px=14, name=f"reset:{field.title}")
        self.reset_button.setToolTip(tr("Back to the text as it was first recorded"))
        self.reset_button.setAccessibleName(tr("Reset {section}", section=field.title))
        self.reset_button.clicked.connect(self._reset)
        head = row(label(field.title, "strong"), self.pill, None, self.reset_button)
        self.setLayout(column(head, self.editor, gap=4))
        self.editor.textChanged.connect(self._on_text)
        self.editor.document().documentLayout().documentSizeChanged.connect(lambda _: self._fit())
        self.editor.wrapped.connect(self._fit)
        self._on_text()
        self._fit()

    @property
    def title(self) -> str:
        """Return the title of the section."""
        return self._field.title

    @property
    def text(self) -> str:
        """Return its sentences as they are now."""
        return self.editor.toPlainText()

    @property
    def is_changed(self) -> bool:
        """Return True if the text is not what is in the context."""
        return self.text.strip() != self._field.text.strip()

    def set_editable(self, editable: bool) -> None:
        """Let the user change it, or only read it."""
        self.editor.setReadOnly(not editable)
        self._on_text()

    def add_sentence(self, text: str) -> None:
        """Add a sentence at the end, as one step of the field's own undo."""
        cursor = self.editor.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        cursor.insertText(f"\n- {text}" if self.text.strip() else f"- {text}")

    def _reset(self) -> None:
        cursor = self.editor.textCursor()  # keeps the field's own undo, which setPlainText would clear
        cursor.select(cursor.SelectionType.Document)
        cursor.insertText(self._field.original)
        self.editor.setFocus()
        announce(self, tr("{section} is as it was first recorded.", section=self.title))

    def _on_text(self) -> None:
        differs = self.text.strip() != self._field.original.strip()
        self.pill.setVisible(differs)
        self.reset_button.setVisible(differs and not self.editor.isReadOnly())
        self.changed.emit()

    def _fit(self) -> None:
        needed = round(self.editor.document().size().height())
        lines = max(_MIN_LINES, min(_MAX_LINES, needed))
        scrolls = needed > _MAX_LINES
        policy = Qt.ScrollBarPolicy
        self.editor.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if scrolls else policy.ScrollBarAlwaysOff
        )
        self.editor.setFixedHeight(lines * self.editor.fontMetrics().lineSpacing() + _FRAME_PX)
