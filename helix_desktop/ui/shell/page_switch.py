"""The switch between the center's pages: chat, cache, timeline and changes."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QFont,
    QFontMetricsF,
    QIcon,
)
from PySide6.QtWidgets import QButtonGroup

from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.design.buttons import ICON_GAP_PX, TabButton, TabList
from helix_desktop.ui.design.layout.boxes import row
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.words.translation import Translator, translate

text = TextContext("Window")
tr = Translator("Window")

PageName = Literal["chat", "cache", "timeline", "changes"]
PAGES: tuple[tuple[PageName, TranslatableText, str], ...] = (
    ("chat", text("Chat"), "message-square"),
    ("cache", text("Cache"), "database"),
    ("timeline", text("Timeline"), "history"),
    ("changes", text("Changes"), "diff"),
)

PageDetail = Literal["full", "words", "current", "icons"]
"""How much a page's button shows: icon and word, the word, the icon (and the word of the page on screen)."""

_PADDING_PX = 16  # of a page's button, at both sides together, with its border
_ICON_PX = 15
_QT_GAP_PX = 4
_DRAG_MS = 400  # that a drag rests over a page's button until the page is shown


class PageSwitch(Themed, TabList):
    """The segmented control Chat / Cache / Timeline / Changes."""

    page_selected = Signal(str)

    def __init__(self) -> None:
        """Start on the chat."""
        super().__init__()
        self.setProperty("role", "segments")
        self.setAccessibleName(tr("Pages"))
        self._group = QButtonGroup(self)
        self._buttons: dict[str, TabButton] = {}
        self.setAcceptDrops(True)
        self._dragged_to = ""
        self._drag_timer = QTimer(self, singleShot=True, interval=_DRAG_MS)
        self._drag_timer.timeout.connect(self._show_dragged_to)
        line = row(margins=(3, 3, 3, 3), gap=2)
        for name, page_title, _ in PAGES:
            button = TabButton(translate(page_title), "segment")
            button.setObjectName(f"{name}_tab")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, page=name: self.page_selected.emit(page))
            self._group.addButton(button)
            self._buttons[name] = button
            line.addWidget(button)
        self.setLayout(line)
        self._detail: PageDetail = "full"
        self.select("chat")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Let whatever is dragged wait over a page's button until that page is shown."""
        event.accept()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Show the page whose button the drag rests on; nothing is dropped here."""
        point = event.position().toPoint()
        page = next((name for name, button in self._buttons.items() if button.geometry().contains(point)), "")
        if page != self._dragged_to:
            self._dragged_to = page
            self._drag_timer.start()
        event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Stay on the page."""
        self._dragged_to = ""
        self._drag_timer.stop()

    def _show_dragged_to(self) -> None:
        if self._dragged_to and not self._buttons[self._dragged_to].isChecked():
            self.page_selected.emit(self._dragged_to)

    def select(self, page: str) -> None:
        """Mark a page as the one that is shown."""
        self._buttons[page].setChecked(True)
        self._show_text()

    def width_at(self, detail: PageDetail) -> int:
        """Width in pixels in a form."""
        metrics = QFontMetricsF(fonts.sized(self.font(), fonts.BASE_PX, QFont.Weight.DemiBold))
        titles = [metrics.horizontalAdvance(translate(page_title)) + 4 for _, page_title, _ in PAGES]
        words = 0.0 if detail == "icons" else max(titles) if detail == "current" else sum(titles)
        icon_px = 0 if detail == "words" else scaled(_ICON_PX) + ICON_GAP_PX
        # Qt keeps a gap behind an icon; without words it may be squeezed.
        gap = _QT_GAP_PX if detail in ("full", "current") else 0
        return round(words + len(PAGES) * (icon_px + gap + _PADDING_PX)) + 10

    def set_detail(self, detail: PageDetail) -> None:
        """Show icons and words, or one of them where room is narrow."""
        self._detail = detail
        self.setFixedWidth(self.width_at(detail))
        self._show_text()

    def _show_text(self) -> None:
        for name, page_title, _ in PAGES:
            button, title = self._buttons[name], translate(page_title)
            is_worded = self._detail in ("full", "words") or (
                self._detail == "current" and button.isChecked()
            )
            button.setText(title if is_worded else "")
            button.setToolTip("" if is_worded else title)
        self.tint(self._theme)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        super().tint(theme)
        side = scaled(_ICON_PX)
        for name, _, icon_name in PAGES:
            button = self._buttons[name]
            color = theme.accent_text if button.isChecked() else theme.muted
            gap = ICON_GAP_PX if button.text() else 0
            button.setIconSize(QSize(side + ICON_GAP_PX, side))
            button.setIcon(QIcon() if self._detail == "words" else icon(icon_name, color, side, gap=gap))
