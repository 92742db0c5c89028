"""How a tool call looks: a card of one or two lines that opens onto its output."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.context.digest import size_text
from helix_desktop.context.message import plain_name
from helix_desktop.ui.chat.errand_strip import ErrandStrip
from helix_desktop.ui.chat.live_strip import LiveStrip
from helix_desktop.ui.chat.look import SEMIBOLD, SMALL, UI
from helix_desktop.ui.chat.paint import (
    CHIP_HEIGHT,
    ChipStyle,
    Hot,
    Paint,
    box,
    chip,
    chip_width,
    icon,
    line_of_text,
    top_box,
)
from helix_desktop.ui.chat.plain import reveal
from helix_desktop.ui.chat.rows import STATE_WORDS, Badge, ToolRow, ToolState
from helix_desktop.ui.chat.sheet import Setting, Sheet, Studio
from helix_desktop.ui.chat.tool_body import ToolBody, chosen, stands
from helix_desktop.ui.figures import tokens_text

_LINE = 40.0  # pixels, the card's first line
_SECOND = 25.0
_NARROW = 640.0  # below, figures go to a line of their own
_TITLE = 230.0  # room that tool and target keep beside the figures, or these go to a line of their own
_MENU, _ARROW = 30.0, 36.0  # widths of the two places at the right end
_HASH_DIGITS = 6

_ICONS = (
    ("mcp__", "server"),
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
    ("delegate", "bot"),
    ("todo", "list"),
)
_STATE_ICONS: dict[ToolState, str] = {
    "waiting": "clock",
    "approval": "shield-alert",
    "running": "loader-circle",
    "ok": "check",
    "failed": "x",
    "denied": "x",
    "interrupted": "pause",
    "stopped": "circle-stop",
}
_BADGE_ICONS: dict[Badge, str] = {
    "cached": "zap",
    "folded": "list-tree",
    "left out": "scissors",
    "observed": "eye",
    "handed over": "layers",
    "recalled": "archive-restore",
    "pinned": "pin",
}


class _Item(NamedTuple):
    """A chip of the bar, where it stands once it is placed."""

    text: str
    style: ChipStyle
    hot: str = ""
    tip: str = ""
    rect: QRectF = QRectF()


def tool_icon(tool: str) -> str:
    """The icon for a tool's name."""
    return next((name for part, name in _ICONS if part in tool.lower()), "wrench")


def figures(row: ToolRow) -> str:
    """Lines, time, exit code and tokens of a call, as one line of words.

    Of an output that is shown in part: its size, and the tokens of that part. A subagent's stand in its line.
    """
    if row.errand is not None:
        return ""
    parts = []
    if row.form != "full" or row.choosing:
        parts.append(size_text(row.size))
    elif row.lines:
        parts.append(f"{row.lines:,} line{'s' if row.lines != 1 else ''}")
    if row.duration_ms is not None:
        parts.append(duration(row.duration_ms))
    if row.exit_code is not None:
        parts.append(f"exit {row.exit_code}")
    if row.tokens:
        parts.append(f"{tokens_text(row.tokens)} tokens{' shown' if row.form != 'full' else ''}")
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


def has_menu(row: ToolRow) -> bool:
    """Whether there is something to do with a call beside looking at it."""
    return bool(row.digest or row.arguments or row.subagent)


class ToolSheet(Sheet):
    """The card of one tool call."""

    def __init__(self, row: ToolRow, setting: Setting, studio: Studio) -> None:
        super().__init__(row, setting, studio)
        self._tool = row
        self._target = reveal(row.target.replace("\n", " ↵ "))
        self._items: list[_Item] = []
        self._title = QRectF()
        self._figures = QRectF()
        self._bar = self._top = _LINE
        running = row.state == "running"
        self._live = LiveStrip(row.live, self._about, self.look) if row.live and running else None
        self._can_open = bool(row.head or row.tail or row.digest)
        self._strip = ErrandStrip(row.errand, self._target, self.look) if row.subagent else None
        self._body: ToolBody | None = None
        if "card" in setting.opened and self._can_open:
            self._body = ToolBody(row, self.look, studio)
            self.texts = self._body.texts

    @property
    def busy(self) -> bool:
        """Whether the tool runs."""
        return self._tool.state == "running"

    def _arrange_bar(self, width: float) -> None:
        look = self.look
        ends = look.px((_ARROW if self._can_open else 14) + (_MENU if has_menu(self._tool) else 0))
        words = figures(self._tool)
        wide = look.width(words, look.font(SMALL)) + 1 if words else 0.0
        chips = self._chips()
        beside = sum(chip_width(look, one.text, one.style) + look.px(8) for one in chips) + wide
        state = chip_width(look, STATE_WORDS[self._tool.state], self._state_style()) + look.px(8)
        title = width - look.px(38 + 12) - ends - state - beside
        cramped = width < look.px(_NARROW) and self._strip is None
        two = bool(chips or words) and (cramped or title < look.px(_TITLE))
        self._bar = look.px(_LINE + (_SECOND if two else 0))
        self._items = []
        self.hots = [self._opener(width)] if self._can_open else []
        middle = look.px(_LINE) / 2
        right = self._place_chip(
            width - ends, middle, _Item(STATE_WORDS[self._tool.state], self._state_style())
        )
        left = look.px(38)
        if two:
            self._title = QRectF(left, 0, right - left - 6, look.px(_LINE))
            line = look.px(_LINE + _SECOND / 2 - 6)
            right = width - look.px(14)
        else:
            line = middle
        for one in chips:
            right = self._place_chip(right, line, one)
        if two:
            self._figures = QRectF(left, line - look.px(10), right - left, look.px(20))
        else:
            self._figures = QRectF(right - wide - 4, 0, wide, look.px(_LINE))
            self._title = QRectF(left, 0, self._figures.x() - left - look.px(12), look.px(_LINE))
        if has_menu(self._tool):
            self.hots.append(self._dots(width))

    def _arrange(self, width: float) -> float:
        self._arrange_bar(width)
        self._top = self._bar
        if self._strip is not None:
            self._top = self._strip.arrange(self._top, width)
            self.hots += self._strip.hots
        if self._live is not None:
            self._top = self._live.arrange(self._top, width)
            self.hots += self._live.hots
        if self._body is None:
            return self._top
        height = self._body.arrange(self._top, width)
        self.hots += self._body.hots
        return height

    @property
    def _about(self) -> str:
        return f"{self._tool.tool} {self._target}".strip()

    def _opener(self, width: float) -> Hot:
        """The bar, all of which opens the card."""
        label = f"{'Hide' if self._body else 'Show'} the output of {self._about}"
        return Hot("open:card", label, QRectF(0, 0, width, self._bar), radius=10)

    def _dots(self, width: float) -> Hot:
        """The place at the right end that opens a menu."""
        look = self.look
        side = look.px(26)
        left = width - look.px(_ARROW if self._can_open else 10) - side
        rect = QRectF(left, look.px(_LINE) / 2 - side / 2, side, side)
        return Hot("menu:card", f"More for {self._about}", rect, radius=7, tip="More")

    def _chips(self) -> list[_Item]:
        """Where things stand, from right to left."""
        row, theme = self._tool, self.look.theme
        soft = ChipStyle(theme.accent_text, theme.accent_soft)
        plain = ChipStyle(theme.muted, "", theme.border)
        found: list[_Item] = []
        if row.badge == "in window":
            found.append(_Item(row.badge, plain))
        elif row.badge:
            styles = {
                "pinned": ChipStyle(theme.ok, theme.ok_soft),
                "left out": ChipStyle(theme.warn, theme.warn_soft),
            }
            style = styles.get(row.badge, soft)._replace(icon=_BADGE_ICONS[row.badge])
            digits = "" if row.badge == "pinned" else row.digest[:_HASH_DIGITS]
            text = f"{row.badge} {digits}".strip()
            found.append(_Item(text, style, "cache" if row.digest else "", stands(row)))
        if row.choosing:
            found.append(_Item("choosing a form", plain._replace(icon="loader-circle")))
        if row.form != "full":
            glyph = "minimize-2" if row.form == "compact" else "list-filter"
            found.append(_Item(row.form, plain._replace(icon=glyph), "", chosen(row)))
        if row.arguments_cached:
            found.append(_Item("arguments cached", soft._replace(icon="braces"), "", stands(row)))
        return found

    def _place_chip(self, right: float, middle: float, item: _Item) -> float:
        look = self.look
        wide, tall = chip_width(look, item.text, item.style), look.px(CHIP_HEIGHT)
        rect = QRectF(right - wide, middle - tall / 2, wide, tall)
        self._items.append(item._replace(rect=rect))
        if item.hot:
            tip = f"{item.tip}\nOpen in the cache: {self._tool.digest}".strip()
            label = f"Open {item.text} in the cache"
            self.hots.append(Hot(item.hot, label, rect, radius=rect.height() / 2, tip=tip))
        return right - wide - look.px(8)

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

    def _paint(self, painter: QPainter, paint: Paint) -> None:
        look, theme = self.look, self.look.theme
        card = QRectF(0, 0, self.width, self.height)
        box(painter, card, look.color(theme.surface), look.color(theme.border), 10)
        if self._body is not None:
            ground = card.adjusted(1, self._top, -1, -1)
            top_box(painter, ground, look.color(theme.code_surface), 9, bottom=True)
            painter.fillRect(QRectF(1, self._top - 1, self.width - 2, 1), look.color(theme.border))
            self._body.paint(painter, paint)
        if paint.hovered == "open:card":
            inner = QRectF(1, 1, self.width - 2, self._bar - 2)
            whole = self._body is None and self._strip is None and self._live is None
            box(painter, inner, look.color(theme.raised), None, 9) if whole else top_box(
                painter, inner, look.color(theme.raised), 9
            )
        if self._strip is not None:
            self._strip.paint(painter, paint)
        if self._live is not None:
            self._live.paint(painter, paint)
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
        self._paint_ends(painter, paint)

    def _paint_ends(self, painter: QPainter, paint: Paint) -> None:
        look, theme = self.look, self.look.theme
        side, line = look.px(15), look.px(_LINE)
        menu = self.hot("menu:card")
        if menu is not None:
            active = menu.name in (paint.hovered, paint.pressed)
            if active:
                box(painter, menu.rect, look.color(theme.hover), None, 7)
            place = QRectF(0, 0, side, side)
            place.moveCenter(menu.rect.center())
            icon(painter, look, "ellipsis", theme.text if active else theme.faint, place)
        if self._can_open:
            arrow = "chevron-down" if self._body is not None else "chevron-right"
            corner = QRectF(self.width - look.px(29), (line - side) / 2, side, side)
            icon(painter, look, arrow, theme.faint, corner)

    def _paint_title(self, painter: QPainter) -> None:
        look, theme = self.look, self.look.theme
        font = look.font(UI, SEMIBOLD)
        name = plain_name(self._tool.tool)
        wide = min(look.width(name, font) + 1, self._title.width())
        rect = QRectF(self._title.x(), self._title.y(), wide, self._title.height())
        line_of_text(painter, look, rect, name, font, theme.text)
        rest = self._title.adjusted(wide + look.px(9), 0, 0, 0)
        if rest.width() > look.px(24):
            line_of_text(painter, look, rest, self._target, look.font(SMALL, mono=True), theme.muted)
