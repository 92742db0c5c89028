"""How a tool call looks: a card of one or two lines that opens onto the head and tail of its output."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.look import SEMIBOLD, SMALL, UI
from helix_desktop.ui.chat.paint import (
    CHIP_HEIGHT,
    ChipStyle,
    Hot,
    Paint,
    box,
    button,
    button_width,
    chip,
    chip_width,
    icon,
    line_of_text,
    top_box,
)
from helix_desktop.ui.chat.plain import clean_output, reveal
from helix_desktop.ui.chat.rows import STATE_WORDS, ToolRow, ToolState
from helix_desktop.ui.chat.sheet import Setting, Sheet, Studio
from helix_desktop.ui.chat.text_piece import TextPiece
from helix_desktop.ui.figures import tokens_text

_LINE = 40.0  # pixels, the card's first line
_SECOND = 25.0
_NARROW = 640.0  # below, figures go to a line of their own
_HASH_DIGITS = 6

_ICONS = (
    ("recall", "archive-restore"),
    ("search_cached", "text-search"),
    ("bash", "terminal"),
    ("shell", "terminal"),
    ("run", "terminal"),
    ("exec", "terminal"),
    ("edit", "file-pen"),
    ("patch", "file-pen"),
    ("write", "file-plus"),
    ("create", "file-plus"),
    ("read", "file-text"),
    ("list", "folder-tree"),
    ("glob", "folder-search"),
    ("find", "text-search"),
    ("grep", "text-search"),
    ("search", "text-search"),
    ("fetch", "globe"),
    ("web", "globe"),
    ("agent", "bot"),
)
_STATE_ICONS: dict[ToolState, str] = {
    "waiting": "clock",
    "approval": "shield-alert",
    "running": "loader-circle",
    "ok": "check",
    "failed": "x",
    "denied": "x",
    "interrupted": "pause",
}


class _Item(NamedTuple):
    rect: QRectF
    text: str
    style: ChipStyle
    hot: str = ""


def tool_icon(tool: str) -> str:
    """The icon for a tool's name."""
    return next((name for part, name in _ICONS if part in tool.lower()), "wrench")


def figures(row: ToolRow) -> str:
    """Lines, time, exit code and tokens of a call, as one line of words."""
    parts = []
    if row.lines:
        parts.append(f"{row.lines:,} line{'s' if row.lines != 1 else ''}")
    if row.duration_ms is not None:
        parts.append(duration(row.duration_ms))
    if row.exit_code is not None:
        parts.append(f"exit {row.exit_code}")
    if row.tokens:
        parts.append(f"{tokens_text(row.tokens)} tokens")
    return " · ".join(parts)


def duration(milliseconds: int) -> str:
    """A length of time as people say it: 3 ms, 0.4 s, 12 s, 3 min 20 s."""
    seconds = milliseconds / 1000
    if seconds < 0.05:  # noqa: PLR2004 - would read 0.0 s
        return f"{milliseconds} ms"
    if seconds < 9.95:  # noqa: PLR2004 - below ten seconds one decimal is worth its room
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"  # noqa: PLR2004 - seconds a minute


class ToolSheet(Sheet):
    """The card of one tool call."""

    def __init__(self, row: ToolRow, setting: Setting, studio: Studio) -> None:
        super().__init__(row, setting, studio)
        self._tool = row
        self._target = reveal(row.target.replace("\n", " ↵ "))
        self._items: list[_Item] = []
        self._head_text: TextPiece | None = None
        self._tail_text: TextPiece | None = None
        self._title = QRectF()
        self._figures = QRectF()
        self._gap: QRectF | None = None
        self._bar = _LINE
        self._can_open = bool(row.head or row.tail or row.digest)
        self._is_open = "card" in setting.opened and self._can_open
        if self._is_open:
            self._head_text = self._output(row.head, studio)
            self._tail_text = self._output(row.tail, studio)
            self.texts = [text for text in (self._head_text, self._tail_text) if text is not None]

    @property
    def busy(self) -> bool:
        """Whether the tool runs."""
        return self._tool.state == "running"

    def _output(self, text: str, studio: Studio) -> TextPiece | None:
        cleaned = clean_output(text).rstrip("\n")
        return studio.writer.plain(cleaned, mono=True, size=SMALL) if cleaned else None

    def _arrange(self, width: float) -> float:
        look = self.look
        two = width < look.px(_NARROW) and bool(self._tool.badge or figures(self._tool))
        self._bar = look.px(_LINE + (_SECOND if two else 0))
        self._items = []
        label = f"{'Hide' if self._is_open else 'Show'} the output of {self._tool.tool} {self._target}"
        card = QRectF(0, 0, width, self._bar)
        self.hots = [Hot("open:card", label, card, radius=10)] if self._can_open else []
        right = width - look.px(36 if self._can_open else 14)
        right = self._place_chip(
            right, look.px(_LINE) / 2, STATE_WORDS[self._tool.state], self._state_style()
        )
        words = figures(self._tool)
        wide = look.width(words, look.font(SMALL)) + 1 if words else 0.0
        if two:
            line = look.px(_LINE + _SECOND / 2 - 6)
            left = look.px(38)
            self._title = QRectF(left, 0, right - left - 6, look.px(_LINE))
            self._figures = QRectF(left, line - look.px(10), width - left - look.px(14), look.px(20))
            self._place_badge(width - look.px(14), line)
        else:
            right = self._place_badge(right, look.px(_LINE) / 2)
            self._figures = QRectF(right - wide - 4, 0, wide, look.px(_LINE))
            left = look.px(38)
            self._title = QRectF(left, 0, self._figures.x() - left - look.px(12), look.px(_LINE))
        return self._arrange_output(width) if self._is_open else self._bar

    def _place_chip(self, right: float, middle: float, text: str, style: ChipStyle, hot: str = "") -> float:
        look = self.look
        wide, tall = chip_width(look, text, style), look.px(CHIP_HEIGHT)
        rect = QRectF(right - wide, middle - tall / 2, wide, tall)
        self._items.append(_Item(rect, text, style, hot))
        if hot:
            tip = f"Open in the cache: {self._tool.digest}"
            self.hots.append(Hot(hot, f"Open {text} in the cache", rect, radius=rect.height() / 2, tip=tip))
        return right - wide - look.px(8)

    def _place_badge(self, right: float, middle: float) -> float:
        row, theme = self._tool, self.look.theme
        if not row.badge:
            return right
        if row.badge == "in window":
            return self._place_chip(right, middle, row.badge, ChipStyle(theme.muted, "", theme.border))
        text = f"{row.badge} {row.digest[:_HASH_DIGITS]}".strip()
        icons = {"cached": "zap", "handed over": "layers", "recalled": "archive-restore"}
        style = ChipStyle(theme.accent_text, theme.accent_soft, "", icons[row.badge])
        return self._place_chip(right, middle, text, style, "cache" if row.digest else "")

    def _state_style(self) -> ChipStyle:
        theme, state = self.look.theme, self._tool.state
        colors = {
            "ok": (theme.ok, theme.ok_soft),
            "running": (theme.warn, theme.warn_soft),
            "approval": (theme.warn, theme.warn_soft),
            "failed": (theme.error, theme.error_soft),
            "denied": (theme.error, theme.error_soft),
        }
        color, fill = colors.get(state, (theme.muted, theme.hover))
        return ChipStyle(color, fill, "", _STATE_ICONS[state])

    def _arrange_output(self, width: float) -> float:
        look = self.look
        y = self._bar + look.px(10)
        for text in (self._head_text, self._tail_text):
            if text is self._tail_text:
                y = self._arrange_gap(y, width)
            if text is not None:
                text.x, text.y = look.px(14), y
                y += text.layout(width - look.px(28))
        return y + look.px(11)

    def _arrange_gap(self, y: float, width: float) -> float:
        look = self.look
        self._gap = None
        if not (self._tool.digest or self._hidden_lines()):
            return y
        y += look.px(6) if self._head_text is not None else -look.px(4)
        self._gap = QRectF(14, y, width - 28, look.px(34))
        if self._tool.digest:
            wide = button_width(look, "Open in cache", True)
            rect = QRectF(self._gap.right() - wide, y + look.px(3), wide, look.px(28))
            self.hots.append(Hot("cache:open", "Open in cache", rect, radius=8, tip=self._tool.digest))
        return self._gap.bottom() + look.px(6)

    def _hidden_lines(self) -> int:
        shown = sum(text.count("\n") + 1 for text in (self._tool.head, self._tool.tail) if text)
        return max(0, self._tool.lines - shown)

    def _paint(self, painter: QPainter, paint: Paint) -> None:
        look, theme = self.look, self.look.theme
        card = QRectF(0, 0, self.width, self.height)
        box(painter, card, look.color(theme.surface), look.color(theme.border), 10)
        if self._is_open:
            self._paint_output(painter, paint, card)
        if paint.hovered == "open:card":
            inner = QRectF(1, 1, self.width - 2, self._bar - 2)
            top_box(painter, inner, look.color(theme.raised), 9) if self._is_open else box(
                painter, inner, look.color(theme.raised), None, 9
            )
        side, line = look.px(15), look.px(_LINE)
        icon(
            painter, look, tool_icon(self._tool.tool), theme.muted, QRectF(14, (line - side) / 2, side, side)
        )
        self._paint_title(painter)
        line_of_text(painter, look, self._figures, figures(self._tool), look.font(SMALL), theme.faint)
        for item in self._items:
            turn = paint.tick * 30.0 if item.style.icon == "loader-circle" else 0.0
            style = item.style
            if item.hot and item.hot == paint.hovered:
                style = style._replace(border=theme.accent)
            chip(painter, look, item.rect, item.text, style, turn)
        if self._can_open:
            arrow = "chevron-down" if self._is_open else "chevron-right"
            corner = QRectF(self.width - look.px(29), (line - side) / 2, side, side)
            icon(painter, look, arrow, theme.faint, corner)

    def _paint_title(self, painter: QPainter) -> None:
        look, theme = self.look, self.look.theme
        font = look.font(UI, SEMIBOLD)
        wide = min(look.width(self._tool.tool, font) + 1, self._title.width())
        rect = QRectF(self._title.x(), self._title.y(), wide, self._title.height())
        line_of_text(painter, look, rect, self._tool.tool, font, theme.text)
        rest = self._title.adjusted(wide + look.px(9), 0, 0, 0)
        if rest.width() > look.px(24):
            line_of_text(painter, look, rest, self._target, look.font(SMALL, mono=True), theme.muted)

    def _paint_output(self, painter: QPainter, paint: Paint, card: QRectF) -> None:
        look, theme = self.look, self.look.theme
        ground = card.adjusted(1, self._bar, -1, -1)
        top_box(painter, ground, look.color(theme.code_surface), 9, bottom=True)
        painter.fillRect(QRectF(1, self._bar - 1, self.width - 2, 1), look.color(theme.border))
        for text in self.texts:
            text.paint(painter, paint.clip, paint.marks_of(text))
        if self._gap is not None:
            self._paint_gap(painter, paint, self._gap)

    def _paint_gap(self, painter: QPainter, paint: Paint, gap: QRectF) -> None:
        look, theme = self.look, self.look.theme
        hidden = self._hidden_lines()
        where = " in the cache" if self._tool.digest else " not shown"
        words = f"… {hidden:,} more line{'s' if hidden != 1 else ''}{where}" if hidden else "The whole output"
        line_of_text(painter, look, gap, words, look.font(SMALL), theme.faint)
        hot = self.hot("cache:open")
        if hot is not None:
            button(painter, look, hot, paint, "outline", "database")
