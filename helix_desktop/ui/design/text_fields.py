"""Fields that a user types in."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QAction, QGuiApplication, QInputMethodEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Themed, WidgetMixin
from helix_desktop.ui.design.text_direction import text_direction
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_FIELD_GAP_PX = 72  # around a line edit's words, with its icons


class ComposingField(WidgetMixin):
    """A field in which Esc cancels a composition, also where the input method leaves the key to the app."""

    composition_keys = frozenset({Qt.Key.Key_Escape})
    """Keys that do nothing else while something is being composed."""
    composition = ""
    """What an input method composes and has not committed yet."""

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self.composition = event.preeditString()
        super().inputMethodEvent(event)

    def event(self, event: QEvent) -> bool:
        """Keep the keys of a composition from shortcuts, from the field and from what is around it."""
        if not (self.composition and isinstance(event, QKeyEvent) and event.key() in self.composition_keys):
            return super().event(event)
        if event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Escape:
            QGuiApplication.inputMethod().reset()
            QCoreApplication.sendEvent(self, QInputMethodEvent())
        event.accept()
        return True


class TextField(QLineEdit):
    """A line edit whose placeholder is its tooltip where it is cut."""

    def __init__(self, placeholder: str) -> None:
        super().__init__()
        self.setPlaceholderText(placeholder)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        words = self.placeholderText()
        room = self.contentsRect().width() - _FIELD_GAP_PX
        self.setToolTip(words if self.fontMetrics().horizontalAdvance(words) > room else "")


class TextArea(ComposingField, QPlainTextEdit):
    """A field of several lines whose placeholder makes room for what an input method composes.

    Qt paints one over the other: its document is empty until the text is committed. Lines begin on the side
    of the text's first letter: Qt gives each line its direction, but begins all of them at the left.
    """

    _placeholder = ""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        words: str = "",
        placeholder: str = "",
        height_px: int = 0,
    ) -> None:
        """`words` are its name for screen readers. Tab goes on to the next field."""
        super().__init__(text, parent)
        self.setAccessibleName(words)
        self.setPlaceholderText(placeholder)
        self.setTabChangesFocus(True)
        if height_px:
            self.setFixedHeight(height_px)
        self.textChanged.connect(self._align)
        self._align()

    def setPlaceholderText(self, text: str) -> None:
        self._placeholder = text
        super().setPlaceholderText("" if self.composition else text)

    def _align(self) -> None:
        block = self.document().firstBlock()
        direction = text_direction(block.text())
        while direction == Qt.LayoutDirection.LayoutDirectionAuto and block.next().isValid():
            block = block.next()
            direction = text_direction(block.text())
        is_from_right = direction == Qt.LayoutDirection.RightToLeft
        side = Qt.AlignmentFlag.AlignRight if is_from_right else Qt.AlignmentFlag.AlignLeft
        option = self.document().defaultTextOption()
        if option.alignment() != side:
            option.setAlignment(side)
            self.document().setDefaultTextOption(option)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        super().inputMethodEvent(event)
        super().setPlaceholderText("" if self.composition else self._placeholder)


class SearchField(ComposingField, Themed, TextField):
    """A line edit with a magnifier in front and a button that clears it; "Search" where its words are cut."""

    composition_keys = frozenset(
        {Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Up, Qt.Key.Key_Down}
    )

    def __init__(self, placeholder: str) -> None:
        """Start empty; `placeholder` is also its name for screen readers."""
        self._placeholder = placeholder
        super().__init__(placeholder)
        self.setProperty("kind", "search")
        self.setAccessibleName(placeholder)
        self.setClearButtonEnabled(True)
        self._clear_actions = self.findChildren(QAction)  # Qt's own, which has a picture only
        for action in self._clear_actions:
            action.setText(tr("Clear search"))
        self._magnifier = QAction(tr("Search"), self)
        self.addAction(self._magnifier, QLineEdit.ActionPosition.LeadingPosition)
        self.apply_theme()

    def apply_theme(self) -> None:
        self._magnifier.setIcon(icon("search", self._theme.faint, 15))
        for action in self._clear_actions:
            action.setIcon(icon("x", self._theme.muted, 14))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.setPlaceholderText(self._placeholder)
        super().resizeEvent(event)
        if self.toolTip():
            self.setPlaceholderText(tr("Search"))
