"""What waits for a rewrite now: figures and a sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.ui.design.labels import SelectableText, TextLine, show_text
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.inspector.inspector_data import StatusPart
from helix_desktop.ui.inspector.key_value import KeyValue


class WaitingView(Themed, QWidget):
    """Shows the parts below each other."""

    def __init__(self) -> None:
        super().__init__()
        self._column = column(margins=(20, 0, 0, 6), gap=10)
        self.setLayout(self._column)
        self._parts: list[_PartView] = []

    def show_parts(self, parts: Sequence[StatusPart]) -> None:
        """Show other parts."""
        while len(self._parts) < len(parts):
            self._parts.append(_PartView())
            self._column.addWidget(self._parts[-1])
            retint(self._parts[-1], self._theme)
        for view, part in zip(self._parts, parts, strict=False):
            view.show_part(part)
        for at, view in enumerate(self._parts):
            view.setVisible(at < len(parts))

    def texts(self) -> list[str]:
        """Return the lines that are shown, as a screen reader reads them."""
        return [text for view in self._parts if not view.isHidden() for text in view.texts()]


class _PartView(Themed, QWidget):
    """A title, figures, and a sentence below them."""

    def __init__(self) -> None:
        super().__init__()
        self._title, self._note = TextLine("", 12, 600), SelectableText("", 12, "muted")
        self._figures = QVBoxLayout()
        self._figures.setSpacing(3)
        self._rows: list[KeyValue] = []
        body = column(self._title, margins=(0, 0, 0, 0), gap=3)
        body.addLayout(self._figures)
        body.addWidget(self._note)
        self.setLayout(body)

    def show_part(self, part: StatusPart) -> None:
        """Show another part."""
        self._title.set_text(part.title)
        while len(self._rows) < len(part.figures):
            self._rows.append(KeyValue("", ""))
            self._figures.addWidget(self._rows[-1])
            retint(self._rows[-1], self._theme)
        for row, (name, value) in zip(self._rows, part.figures, strict=False):
            row.set_value(name, value)
        for at, row in enumerate(self._rows):
            row.setVisible(at < len(part.figures))
        show_text(self._note, part.note)

    def texts(self) -> list[str]:
        """Return the lines that are shown."""
        rows = [row.accessibleName() for row in self._rows if not row.isHidden()]
        return [self._title.text, *rows, *([] if self._note.isHidden() else [self._note.text()])]
