"""A row laid out for one width: its texts, its places to click, and how it is painted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.buildable import Buildable
from helix_desktop.ui.chat.highlight import Highlighter
from helix_desktop.ui.chat.look import Look
from helix_desktop.ui.chat.paint import Hot, Paint, focus_ring
from helix_desktop.ui.chat.prose import ProseWriter
from helix_desktop.ui.chat.rows import Row
from helix_desktop.ui.chat.text_piece import TextPiece
from helix_desktop.ui.chat.words import Words, words_of_piece


@dataclass(frozen=True, slots=True)
class Setting:
    """What a row's look depends on beside the row: `head` shows who speaks, `opened` names open folds."""

    head: bool = True
    opened: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Studio:
    """The tools that sheets are made with."""

    look: Look
    writer: ProseWriter
    highlighter: Highlighter


class Sheet(Buildable, ABC):
    """One row as the view shows it; sizes and places in pixels, the origin at its top left corner."""

    def __init__(self, row: Row, setting: Setting, studio: Studio) -> None:
        self.row = row
        self.setting = setting
        self.look = studio.look
        self.width = 0.0
        self.height = 0.0
        self._texts: Sequence[TextPiece] = []
        self.hots: list[Hot] = []
        self.asides: list[str] = []
        """What stands beside its texts, in words for screen readers."""

    def layout(self, width: float) -> float:
        """Wrap to a width; the height that takes."""
        if width != self.width:
            self.width = width
            self.height = self._arrange(width)
        return self.height

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw everything, and the ring around what has the keyboard."""
        self._paint(painter, paint)
        hot = self.hot(paint.focused)
        if hot is not None:
            focus_ring(painter, self.look, hot.rect, hot.radius)

    @property
    def texts(self) -> Sequence[TextPiece]:
        """All texts from top to bottom; a sheet that is built in part is built as a whole for it."""
        return self._texts

    @texts.setter
    def texts(self, texts: Sequence[TextPiece]) -> None:
        self._texts = texts
        for number, text in enumerate(texts):
            text.number = number

    @property
    def shown(self) -> Sequence[TextPiece]:
        """The texts that are built, from top to bottom."""
        return self._texts

    def text(self, number: int) -> TextPiece:
        """A text by its number, built when it was not; IndexError when there is none."""
        return self._texts[number]

    def words(self) -> Iterator[Words]:
        """The words of all texts; nothing is built for them."""
        return map(words_of_piece, self._texts)

    @property
    def has_text(self) -> bool:
        """Whether a screen reader finds something to read in it."""
        return bool(self.asides) or any(True for _ in self.words())

    def accessible_text(self) -> str:
        """Return all its text for screen readers."""
        parts = (("\n" if words.joins is None else words.joins) + words.text for words in self.words())
        return "\n".join(("".join(parts).removeprefix("\n"), *self.asides)).removeprefix("\n")

    def end(self, *, last: bool) -> int | None:
        """The number of the first or the last text, None when there is none."""
        return (len(self._texts) - 1 if last else 0) if self._texts else None

    @property
    def busy(self) -> bool:
        """Whether it shows work in progress, which turns."""
        return False

    def hot(self, name: str) -> Hot | None:
        """The place of a name, or None."""
        return next((hot for hot in self.hots if hot.name == name), None)

    def hot_at(self, x: float, y: float) -> Hot | None:
        """The place at a point; of nested ones the later, which lies on top."""
        point = QPointF(x, y)
        return next((hot for hot in reversed(self.hots) if hot.rect.contains(point)), None)

    def text_at(self, x: float, y: float) -> TextPiece | None:
        """The text at a point, or None."""
        shown = self.shown
        at = bisect_right(shown, y, key=_top) - 1
        if at >= 0 and shown[at].rect.contains(QPointF(x, y)):
            return shown[at]
        return None

    def nearest(self, x: float, y: float) -> tuple[int, int]:
        """The text, by number, and the position in it that lie nearest to a point; (0, 0) without texts."""
        shown = self.shown
        if not shown:
            return 0, 0
        at = max(0, bisect_right(shown, y, key=_top) - 1)
        text = shown[at]
        below = y - (text.y + text.height)
        if at + 1 < len(shown) and below > shown[at + 1].y - y:
            return shown[at + 1].number, 0
        if y < text.y:
            return text.number, 0
        return text.number, (text.length if below > 0 else text.hit(x, y))

    def copy_of(self, hot: str) -> str | None:
        """What a Copy button puts on the clipboard, or None when the place is no such button."""
        return None

    @abstractmethod
    def _arrange(self, width: float) -> float:
        """Place texts and hots for a width; the height."""

    @abstractmethod
    def _paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw everything but the focus ring."""


def _top(text: TextPiece) -> float:
    return text.y
