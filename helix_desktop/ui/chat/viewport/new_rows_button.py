"""The pill that leads back to the end: "3 new"."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QPushButton, QWidget

from helix_desktop.ui.chat.rows.row_types import AskRow
from helix_desktop.ui.chat.style import MEDIUM, SMALL, ChatStyle
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport
from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.themed import set_style_sheet
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_BOTTOM_MARGIN = 14  # pixels above the lower edge


class NewRowsButton(EnterActivates, QPushButton):
    """Shown while the end is out of sight; counts the rows that came meanwhile. Covers no card that asks."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()

    def set_style(self, style: ChatStyle) -> None:
        """Take the colors and fonts of a look."""
        theme = style.theme
        self.setFont(style.font(SMALL, MEDIUM))
        self.setIcon(icon("arrow-down", theme.accent_text, 14))
        self.setIconSize(QSize(14, 14))
        set_style_sheet(
            self,
            f"QPushButton {{ background: {theme.surface}; color: {theme.accent_text};"
            f" border: 1px solid {theme.border_strong}; border-radius: 15px; padding: 0 13px;"
            " min-height: 28px;"
            f" font-size: {round(style.px(SMALL))}px; font-weight: 500; }}"
            f"QPushButton:hover {{ background: {theme.accent_soft}; border-color: {theme.accent}; }}"
            f"QPushButton:focus {{ background: {theme.accent_soft}; border: 2px solid {theme.accent};"
            " padding: 0 12px; min-height: 26px; }",
        )

    def watch(self, chat_viewport: ChatViewport, area: QWidget) -> None:
        """Show the button above the lower edge of an area while a viewport does not follow."""
        chat_viewport.layout_changed.connect(lambda: self._update(chat_viewport, area))
        self.clicked.connect(chat_viewport.go_to_end)

    def _update(self, chat_viewport: ChatViewport, area: QWidget) -> None:
        unseen_count = chat_viewport.unseen_count
        words = tr.plural(unseen_count, "%n new", "%n new") if unseen_count else tr("Latest")
        if words != self.text():
            self.setText(words)
            self.setAccessibleName(tr("{label}: go to the end of the conversation", label=words))
        at_end = chat_viewport.is_following or chat_viewport.is_at_end
        size, corner = self.sizeHint(), area.geometry()
        left = corner.x() + (corner.width() - size.width()) // 2
        place = QRect(left, corner.bottom() - size.height() - _BOTTOM_MARGIN, size.width(), size.height())
        is_shown = not at_end and not _covers_ask(chat_viewport, place.translated(-corner.topLeft()))
        if is_shown:
            self.setGeometry(place)
            self.raise_()
        self.setVisible(is_shown)


def _covers_ask(chat_viewport: ChatViewport, place: QRect) -> bool:
    """Return True if a rectangle of the viewport lies on a card that waits for the user."""
    return any(
        isinstance(chat_viewport.model.raw_row(row.row_index), AskRow)
        and row.y < place.bottom()
        and row.y + row.height > place.top()
        for row in chat_viewport.scroll_layout.placed
    )
