"""What an open tool card shows below its bar: where the output stands, what the agent saw, the original."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.look import MEDIUM, SMALL, Look
from helix_desktop.ui.chat.markdown import Leaf, Prose, Span
from helix_desktop.ui.chat.paint import Hot, Paint, button, button_width, line_of_text
from helix_desktop.ui.chat.plain import clean_output, reveal
from helix_desktop.ui.chat.rows import Badge, Chooser, Ends, ToolRow
from helix_desktop.ui.chat.sheet import Studio
from helix_desktop.ui.chat.text_piece import TextPiece
from helix_desktop.ui.figures import tokens_text

MOST_LINES, MOST_BYTES = 2_000, 256 * 1024  # that a card shows whole; larger ones open in the cache browser

_STANDS: dict[Badge, str] = {
    "cached": "In the window stands a marker; the agent can recall the output by its hash.",
    "folded": "In the window stands a line about it, in a note of folded steps; the agent can recall it.",
    "left out": "Left out of the window for want of room; the agent can recall it through the index.",
    "observed": "In the window stand observations about it; the agent can recall the output.",
    "handed over": "In the window stands a handover that covers it; the agent can recall the output.",
    "pinned": "You pinned it: it stays in the window, whatever becomes of its step.",
}
_CHOSE: dict[Chooser, str] = {
    "rule": "Shown in part by rule, because it is large.",
    "agent": "The agent chose this form.",
    "timeout": "Nobody chose in time, so it is a preview.",
    "user": "You chose this form.",
}


def stands(row: ToolRow) -> str:
    """Where the output and the arguments of a call stand in the window, in sentences."""
    said = [_STANDS.get(row.badge, "")]
    if row.arguments_cached:
        said.append("The arguments of the call stand there as markers.")
    return " ".join(part for part in said if part)


def chosen(row: ToolRow) -> str:
    """Who chose the shown form, what was asked for, what it took, and why it is not what was asked for."""
    if row.form == "full" and row.chosen == "rule":
        return ""
    said = [_CHOSE[row.chosen]]
    if row.asked:
        said.append(f"Asked for: “{row.asked}”")
    if row.note:
        said.append(row.note)
    if row.cost:
        said.append(f"It took {row.cost}.")
    return " ".join(said)


def fits_whole(row: ToolRow) -> bool:
    """Whether the card may show every line of the original."""
    ends = row.original.ends if row.original is not None else row.shown
    return row.size <= MOST_BYTES and ends.lines <= MOST_LINES


class _Stretch:
    """A titled stretch of output: its first lines, what is left out, its last lines."""

    def __init__(self, title: str, ends: Ends, studio: Studio) -> None:
        self.title, self.hidden = title, ends.hidden
        self.head = _output(ends.head, studio)
        self.tail = _output(ends.tail, studio)
        self.title_rect = QRectF()
        self.gap = QRectF()

    @property
    def texts(self) -> list[TextPiece]:
        """What can be selected, from top to bottom."""
        return [text for text in (self.head, self.tail) if text is not None]


class ToolBody:
    """The inside of one open card; sizes in pixels."""

    def __init__(self, row: ToolRow, look: Look, studio: Studio) -> None:
        self._row, self._look = row, look
        self._words = _words(" ".join(part for part in (stands(row), chosen(row)) if part), studio)
        self._stretches = [_Stretch(*one, studio) for one in _parts(row)]
        self._ground = QRectF()
        self.hots: list[Hot] = []

    @property
    def texts(self) -> list[TextPiece]:
        """All texts from top to bottom."""
        first = [self._words] if self._words is not None else []
        return [*first, *(text for one in self._stretches for text in one.texts)]

    def arrange(self, top: float, width: float) -> float:
        """Place everything below `top`; where it ends."""
        look, self.hots = self._look, []
        y = top + look.px(10)
        if self._words is not None:
            self._words.x, self._words.y = look.px(14), y
            y += self._words.layout(width - look.px(28)) + look.px(7)
        for at, one in enumerate(self._stretches):
            last = at == len(self._stretches) - 1
            y = self._arrange_stretch(one, y, width, last) + (0 if last else look.px(9))
        self._ground = QRectF(1, top, width - 2, y + look.px(11) - top - 1)
        return y + look.px(11)

    def _arrange_stretch(self, one: _Stretch, y: float, width: float, last: bool) -> float:
        look = self._look
        if one.title:
            one.title_rect = QRectF(look.px(14), y, width - look.px(28), look.px(18))
            y += look.px(22)
        y = self._place(one.head, y, width)
        buttons = last and bool(self._row.digest)
        if buttons or one.hidden:
            y += look.px(6) if one.head is not None else -look.px(4)
            tall = look.px(34 if buttons else 22)
            one.gap = QRectF(look.px(14), y, width - look.px(28), tall)
            if buttons:
                self._place_buttons(one)
            y += tall + look.px(6)
        return self._place(one.tail, y, width)

    def _place(self, text: TextPiece | None, y: float, width: float) -> float:
        if text is None:
            return y
        text.x, text.y = self._look.px(14), y
        return y + text.layout(width - self._look.px(28))

    def _place_buttons(self, one: _Stretch) -> None:
        look, row = self._look, self._row
        wide = button_width(look, "Open in cache", True)
        rect = QRectF(one.gap.right() - wide, one.gap.y() + look.px(3), wide, look.px(28))
        if one.hidden and fits_whole(row):
            words = f"Show all {one.hidden + sum(map(_lines, one.texts)):,} lines"
            room = button_width(look, words)
            place = QRectF(rect.x() - look.px(8) - room, rect.y(), room, rect.height())
            if place.x() > one.gap.x() + look.px(60):
                self.hots.append(Hot("whole:card", words, place, radius=8))
        self.hots.append(Hot("cache:open", "Open in cache", rect, radius=8, tip=row.digest))

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw texts, titles, gaps and buttons."""
        look, theme = self._look, self._look.theme
        for text in self.texts:
            text.paint(painter, paint.clip, paint.marks_of(text))
        for one in self._stretches:
            if one.title:
                font = look.font(SMALL, MEDIUM)
                line_of_text(painter, look, one.title_rect, one.title, font, theme.muted)
            if not one.gap.isNull():
                self._paint_gap(painter, one)
        for hot in self.hots:
            button(painter, look, hot, paint, "outline", "database" if hot.name == "cache:open" else "")

    def _paint_gap(self, painter: QPainter, one: _Stretch) -> None:
        look = self._look
        words = f"… {one.hidden:,} more line{'s' if one.hidden != 1 else ''}" if one.hidden else ""
        if not words:
            words = "" if one.head is None else "The whole output"
        left = min((hot.rect.x() for hot in self.hots), default=one.gap.right())
        room = QRectF(one.gap.x(), one.gap.y(), max(0.0, left - one.gap.x() - 8), one.gap.height())
        line_of_text(painter, look, room, words, look.font(SMALL), look.theme.faint)


def _parts(row: ToolRow) -> list[tuple[str, Ends]]:
    """Title and lines of each stretch that a card shows."""
    original = row.original
    if row.form == "full":
        return [("", original.ends if original is not None and not original.problem else row.shown)]
    seen = f"What the agent was shown: {row.form}, {tokens_text(row.tokens)} tokens"
    if original is None:
        return [(seen, row.shown), ("The original: reading it from the cache…", Ends())]
    if original.problem:
        return [(seen, row.shown), (f"The original cannot be read: {original.problem}", Ends())]
    lines = f"{original.ends.lines:,} line{'s' if original.ends.lines != 1 else ''}"
    return [
        (seen, row.shown),
        (f"The original: {lines}, {tokens_text(original.tokens)} tokens", original.ends),
    ]


def _words(text: str, studio: Studio) -> TextPiece | None:
    if not text:
        return None
    return studio.writer.prose(Prose((Leaf((Span(reveal(text)),)),)), studio.look.theme.muted, SMALL)


def _output(text: str, studio: Studio) -> TextPiece | None:
    cleaned = clean_output(text).rstrip("\n")
    return studio.writer.plain(cleaned, mono=True, size=SMALL) if cleaned else None


def _lines(text: TextPiece) -> int:
    return text.document.blockCount()
