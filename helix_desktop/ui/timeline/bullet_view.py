"""Sentences with a link to each message that they come from at their end, as widgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from helix_desktop.context.summaries.handover import UNSUPPORTED
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.domain.file_history.line_match import Span
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import TextRole, Themed
from helix_desktop.ui.kit.boxes import Box, Dot, PaintState, Pen
from helix_desktop.ui.kit.intents import ShowEvent, perform
from helix_desktop.ui.kit.wrapped_text import Words
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

_INDENT = 16  # pixels from a bullet's dot to its words


@dataclass(slots=True, eq=False)
class _Chip(Box):
    """A real pill behind the words, which takes keys and the mouse itself."""

    pill: Pill

    def width(self) -> float:
        return self.pill.width()

    def height(self, width: float) -> float:
        return self.pill.height()

    def place(self, rect: QRectF) -> None:
        self.pill.move(rect.topLeft().toPoint())


class _Sentence(Words):
    runs_from_right = False

    def line_height(self) -> float:
        return scaled(18) + 3


def source_text(place: int, count: int) -> str:
    """Return what the link to one of the messages says that a sentence comes from."""
    if count == 1:
        return tr("Source")
    return tr("Source {number}", number=place)


class BulletView(Themed, QWidget):
    """One sentence with links to the messages it comes from; without any it is flagged, if `is_flagged`.

    Of one with `marks`, as spans of its characters with single spaces, these are underlined, or struck out.
    """

    def __init__(
        self,
        bullet: Bullet,
        role: TextRole = "text",
        *,
        is_flagged: bool = True,
        marks: Sequence[Span] = (),
        is_struck_out: bool = False,
    ) -> None:
        super().__init__()
        self._role = role
        self._is_struck_out = is_struck_out
        self._marks = marks
        is_flagged = is_flagged and not bullet.sources
        # The chip says it in place of the words that an edited handover has in its text.
        self._text = (
            bullet.text.removesuffix(UNSUPPORTED).rstrip() if is_flagged and not marks else bullet.text
        )
        self._chips = list[Pill]()
        for place, seq in enumerate(bullet.sources, 1):
            words = source_text(place, len(bullet.sources))
            chip = Pill(words, icon_name="message-square" if place == 1 else "", clickable=True)
            chip.setObjectName(f"source:{seq}")
            chip.setToolTip(tr("Show in chat"))
            chip.setAccessibleName(tr("Show in chat: e{event}", event=str(seq)))
            chip.clicked.connect(lambda _=False, seq=seq: perform(self, ShowEvent(seq)))
            self._chips.append(chip)
        if is_flagged:
            flag = Pill(tr("No source"), "warn", "triangle-alert")
            flag.setToolTip(tr("The model named no source for this sentence"))
            self._chips.append(flag)
        for chip in self._chips:
            chip.setParent(self)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.apply_theme()
        self.words.height(480)
        self.setAccessibleName(self.words.words)

    def apply_theme(self) -> None:
        super().apply_theme()
        self._heights: dict[tuple[int, ...], int] = {}  # by the widths of the view and its chips
        self.words = _Sentence(
            *(self._text, 13, self._role),
            is_marked_up=True,
            tail=[_Chip(chip) for chip in self._chips],
            changed=self._marks,
            is_struck_out=self._is_struck_out,
        )
        self.updateGeometry()

    def heightForWidth(self, width: int) -> int:
        # A layout asks for two widths in turn, many times: only what is painted has to be broken into lines.
        key = (width, *(chip.width() for chip in self._chips))
        if key not in self._heights:
            self._heights[key] = round(self.words.height(max(60, width - _INDENT))) + 2
        return self._heights[key]

    def sizeHint(self) -> QSize:
        return QSize(480, self.heightForWidth(480))

    def minimumSizeHint(self) -> QSize:
        return QSize(140, scaled(22))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        self.words.place(QRectF(_INDENT, 0, max(60, self.width() - _INDENT), self.height()))

    def paintEvent(self, event: QPaintEvent) -> None:
        self._place()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = Pen(painter, self._theme, PaintState(QRectF()))
        dot = Dot("faint")
        dot.place(QRectF(3, scaled(12) - 2, 4, 4))
        for box in (dot, self.words):
            box.paint(pen)
