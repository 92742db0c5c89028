"""How a tool call looks: one line that opens onto its output, and strips below it; calls share a block."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF

from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.chat.actions import OpenMenu, OpenSubagent, PutAutoRun, StopCall, ToggleSection
from helix_desktop.ui.chat.items.changed_files import ChangedFiles
from helix_desktop.ui.chat.items.item import CardPart, ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import ChatPainter, PaintedLine, button_width
from helix_desktop.ui.chat.items.tool_body import (
    ToolBody,
    call_facts,
    form_choice_text,
    removed_text,
    window_state_text,
)
from helix_desktop.ui.chat.rows.row_texts import (
    badge_text,
    bar_target,
    bar_texts,
    call_words,
    figures_text,
    outcome_text,
    output_form_text,
    removed_state_text,
)
from helix_desktop.ui.chat.rows.row_types import RunningOutput, ToolRow
from helix_desktop.ui.chat.rows.subagent_status import RUNNING_PHASE_TEXTS, SubagentStatus
from helix_desktop.ui.chat.style import MEDIUM, SMALL, UI, ChatStyle
from helix_desktop.ui.design.mirror import turn_back
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.tool_icons import tool_icon
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.kit.intents import OpenCacheEntry
from helix_desktop.words.file_changes import auto_run_texts, uncovered_text
from helix_desktop.words.rewrite_explanations import explain_changed
from helix_desktop.words.times import format_elapsed
from helix_desktop.words.translation import Translator, translate

_STRIP_HEIGHT = 38.0  # pixels
_LEFT, _RIGHT = 38.0, 12.0  # of what stands in a strip
_GAUGE = 46.0
_MIN_TOOL_WIDTH = 90.0  # below, the newest call is left out
_PHASE_ICONS = {
    "queued": "clock",
    "thinking": "loader-circle",
    "working": "loader-circle",
    "waiting": "shield-alert",
    "full": "clock",
    "done": "circle-check",
    "stopped": "circle-stop",
    "failed": "circle-x",
    "interrupted": "pause",
}


class SubagentStrip(CardPart):
    """The line of a subagent at work, which leads to its session."""

    def __init__(self, row: ToolRow, name: str, style: ChatStyle) -> None:
        super().__init__(style)
        self._status, self._session_id, self._name = row.subagent_status, row.subagent_session, name
        self._running_call_id = row.key.call_id if row.state == "running" else ""
        self._rect = QRectF()

    def arrange(self, top: float, width: float) -> float:
        self._rect = QRectF(0, top, width, self._style.px(_STRIP_HEIGHT))
        label = tr("Open subagent session: {task}", task=self._name)
        action, tip = OpenSubagent(self._session_id), f"{label}\n{tr('Or double-click the card')}"
        right = width - self._style.px(_RIGHT)
        place = self._button_place(right, tr("Open", "verb: button"))
        self.hit_areas = [HitArea("subagent:card", action, label, place, radius=8, tip=tip)]
        if self._running_call_id:
            label = tr("Stop subagent: {task}", task=self._name)
            tip = tr("Stop this subagent only. The turn continues with what it has so far.")
            place = self._button_place(place.x() - self._style.px(8), tr("Stop"))
            stop = StopCall(self._running_call_id)
            self.hit_areas.append(HitArea("stop:card", stop, label, place, radius=8, tip=tip))
        return self._rect.bottom()

    def _button_place(self, right: float, text: str) -> QRectF:
        wide, tall = button_width(self._style, text, True), self._style.px(27)
        return QRectF(right - wide, self._rect.center().y() - tall / 2 - self._style.px(3), wide, tall)

    def paint(self, painter: ChatPainter) -> None:
        open_area, *stop_areas = self.hit_areas
        button = open_area._replace(label=tr("Open", "verb: button"))
        painter.button(button, "outline", "arrow-up-right")
        for area in stop_areas:
            painter.button(area._replace(label=tr("Stop")), "outline", "circle-stop")
        if self._status is not None:
            middle, left_button = open_area.rect.center().y(), self.hit_areas[-1].rect.x()
            self._paint_status(painter, self._status, middle, left_button - self._style.px(12))

    def _paint_status(
        self, painter: ChatPainter, status: SubagentStatus, middle: float, right: float
    ) -> None:
        style, theme = self._style, self._style.theme
        color = self._color(status)
        glyph, gap = _PHASE_ICONS[status.phase], style.px(12)
        turn = painter.state.tick * 30.0 if glyph == "loader-circle" else 0.0
        painter.icon(glyph, color, style.px(14), middle + style.px(0.5), 15, turn)
        line = QRectF(0, middle - style.px(10), right, style.px(20))
        small, bold = style.font(SMALL), style.font(SMALL, MEDIUM)
        left = painter.word(style.px(_LEFT), line, status.phase_text, bold, color) + gap
        # One below the other, the gauges of several begin at one place.
        widest = max(style.width(translate(words), bold) for words in RUNNING_PHASE_TEXTS.values())
        gauge_left = max(left, style.px(_LEFT) + widest + 1 + gap)
        gauge_width = style.px(_GAUGE + 7) + style.width(status.window_ratio_text, small) + 1
        if status.is_running and status.used and gauge_left + gauge_width <= right:
            left = self._paint_gauge(painter, gauge_left, middle, status)
            left = painter.word(left, line, status.window_ratio_text, small, theme.muted) + gap
        room = right - left
        words = status.summary(wall_clock_ms(), lambda line: style.width(line, small) + 1 <= room)
        if words:
            left = painter.word(left, line, words, small, theme.muted) + gap
        if status.is_running and status.current_tool and right - left > style.px(_MIN_TOOL_WIDTH):
            tool = escape_invisible(status.current_tool)
            painter.word(left, line, tool, style.font(SMALL, mono=True), theme.faint)

    def _paint_gauge(self, painter: ChatPainter, left: float, middle: float, status: SubagentStatus) -> float:
        style, theme = self._style, self._style.theme
        bar = QRectF(left, middle - style.px(2.5), style.px(_GAUGE), style.px(5))
        painter.box(bar, theme.seg_free, radius=bar.height() / 2)
        full = QRectF(bar)
        full.setWidth(max(bar.height(), bar.width() * min(1.0, status.window_ratio)))
        painter.box(full, theme.accent, radius=bar.height() / 2)
        return bar.right() + style.px(7)

    def _color(self, status: SubagentStatus) -> str:
        theme = self._style.theme
        return {
            "waiting": theme.warn,
            "done": theme.ok,
            "failed": theme.error,
            "thinking": theme.text,
            "working": theme.text,
        }.get(status.phase, theme.muted)


tr = Translator("Chat")

_LINE, _PAD = 32.0, 4.0  # pixels: the line, and what the block has above its first and below its last one
_RADIUS = 12
_TEXT_LEFT, _TEXT_RIGHT = 38.0, 14.0
_GAP = 8.0  # between words of the line
_MIN_TARGET = 120.0  # that a target keeps beside the words behind it
_MENU_WIDTH = 26.0
_CACHE_WORD, _CHANGED_WORD, _STOP = "cache", "changed", "stop:card"

_MAX_TARGET = 200  # characters of a target that are measured: more than a line has room for
_HEIGHT = 34.0  # pixels


class AutoRunStrip(CardPart):
    """Lines on what runs by itself, one for each outcome."""

    def __init__(self, row: ToolRow, style: ChatStyle) -> None:
        super().__init__(style)
        capture_id = row.changes.capture if row.changes else ""  # leads to it in the file history
        self._lines: list[tuple[str, str, PutAutoRun | None, QRectF]] = []
        for outcomes in (("removed",), ("failed",), ("named", "kept")):
            part = [change for change in row.auto_run if change.outcome in outcomes]
            if part:
                label, action = "", None
                if outcomes != ("failed",):
                    is_out = outcomes == ("removed",)
                    label = tr("Restore") if is_out else tr("Undo")
                    action = _action(part, capture_id, restore=is_out)
                self._lines.append((auto_run_texts(part)[0], label, action, QRectF()))
        self.notes = (". ".join(text for text, *_ in self._lines),)

    def arrange(self, top: float, width: float) -> float:
        style = self._style
        self.hit_areas = []
        placed = []
        for number, (text, label, action, _) in enumerate(self._lines):
            line = QRectF(0, top, width, style.px(_HEIGHT))
            placed.append((text, label, action, line))
            top = line.bottom()
            if action is not None:
                wide, tall = button_width(style, label), style.px(26)
                left = width - style.px(_RIGHT) - wide
                place = QRectF(left, line.center().y() - tall / 2 - style.px(2), wide, tall)
                self.hit_areas.append(
                    HitArea(f"auto_run:{number}", action, f"{label}: {text}", place, radius=8, tip=text)
                )
        self._lines = placed
        return top

    def paint(self, painter: ChatPainter) -> None:
        style, theme = self._style, self._style.theme
        areas = {area.action: area for area in self.hit_areas}
        for text, label, action, line in self._lines:
            middle = line.center().y() - style.px(2)
            painter.icon("shield-alert", theme.warn, style.px(14), middle, 14)
            right = line.right() - style.px(_RIGHT)
            area = areas.get(action) if action is not None else None
            if area is not None:
                painter.button(area._replace(label=label))
                right = area.rect.x() - style.px(10)
            room = QRectF(style.px(_LEFT), middle - style.px(10), right - style.px(_LEFT), style.px(20))
            painter.line(room, text, style.font(SMALL), theme.text)


def _action(part: Sequence[AutoRunChange], capture_id: str, *, restore: bool) -> PutAutoRun:
    change_ids = tuple(change.change_id for change in part if change.change_id)
    paths = tuple(change.path for change in part if not change.change_id) if capture_id else ()
    return PutAutoRun(change_ids, restore, capture_id, paths)


class RunningStrip(CardPart):
    """What a call has put out so far."""

    def __init__(self, output: RunningOutput, style: ChatStyle) -> None:
        super().__init__(style)
        self._output, self._place = output, QRectF()

    @property
    def _line_height(self) -> float:
        return self._style.metrics(self._style.font(SMALL, mono=True)).lineSpacing() + self._style.px(1)

    def arrange(self, top: float, width: float) -> float:
        lines = max(1, len(self._output.lines))
        self._place = QRectF(0, top, width, lines * self._line_height + self._style.px(16))
        return self._place.bottom()

    def paint(self, painter: ChatPainter) -> None:
        style, theme = self._style, self._style.theme
        font = style.font(SMALL, mono=True)
        painter.qt.save()
        turn_back(painter.qt, self._place)
        for at, line in enumerate(self._output.lines or (tr("no output yet"),)):
            top = self._place.top() + style.px(8) + at * self._line_height
            room = QRectF(style.px(14), top, self._place.width() - style.px(28), self._line_height)
            painter.line(room, line, font, theme.text)
        painter.qt.restore()


class _Word(NamedTuple):
    """What is unusual about a call, behind its target; a click opens the output in the cache."""

    text: str
    color: str  # a token
    area: str = ""  # the name of its area, if a click does something
    tip: str = ""
    rect: QRectF = QRectF()


def has_menu(row: ToolRow) -> bool:
    """Return True if a call has actions other than looking at it."""
    return bool(row.digest or row.arguments or row.subagent_session)


class ToolCard(RowItem):
    def __init__(self, row: ToolRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._tool = row
        self._target = bar_target(row)
        theme = self.style.theme
        verb_font, target_font = self.style.font(UI, MEDIUM), self.style.font(SMALL, mono=True)
        self._verb_line = PaintedLine(call_words(row), verb_font, theme.text)
        self._target_line = PaintedLine(self._target, target_font, theme.text, keeps_end=True)
        self._set_lines([self._verb_line, self._target_line][: len(bar_texts(row))])
        self._words: list[_Word] = []
        self._bar = self._figures = QRectF()
        self._is_running = row.state == "running"
        is_open = "card" in context.expanded and row.can_open
        self._changed_files: ChangedFiles | None = None
        self._body = ToolBody(row, self.style, tools) if is_open else None
        self._parts: list[CardPart] = []  # below the line, from top to bottom
        if row.subagent_session:
            self._parts.append(SubagentStrip(row, self._target, self.style))
        elif is_open and self._is_running and row.running_output:
            self._parts.append(RunningStrip(row.running_output, self.style))
        if row.changes is not None:
            self._changed_files = ChangedFiles(row, row.changes, self._description, context.expanded, tools)
            self._parts.append(self._changed_files)
        if row.auto_run:
            self._parts.append(AutoRunStrip(row, self.style))
        if self._body is not None:
            self._parts.append(self._body)
        self._set_texts([text for part in self._parts for text in part.texts])
        self.accessible_notes = [note for part in self._parts for note in part.notes]

    def copy_text(self, number: int) -> str | None:
        """Return the command of a call that runs one."""
        return self._body.copy_text(number) if self._body is not None else None

    @property
    def is_busy(self) -> bool:
        return self._is_running

    @property
    def _description(self) -> str:
        return f"{call_words(self._tool)} {self._target}".strip()

    def _arrange(self, width: float) -> float:
        style = self.style
        above, below = (0.0 if joined else style.px(_PAD) for joined in self.context.joins)
        self._bar = QRectF(0, above, width, style.px(_LINE))
        self._arrange_bar(width)
        top = self._bar.bottom()
        if self._changed_files is not None:
            self._changed_files.strip = self._bar.adjusted(0, 0, -style.px(_TEXT_RIGHT), 0)
        for part in self._parts:
            top = part.arrange(top, width)
            self.hit_areas += part.hit_areas
        return top + below

    def _arrange_bar(self, width: float) -> None:
        """Place verb, target and what is unusual from the left, figures and menu from the right."""
        style, bar, gap = self.style, self._bar, self.style.px(_GAP)
        self.hit_areas = [self._expand_area()] if self._tool.can_open else []
        right = width - style.px(_TEXT_RIGHT)
        if self._changed_files is not None:
            right -= self._changed_files.figures_width + gap
        if self._is_running and self._tool.key.call_id and not self._tool.subagent_session:
            right = self._place_stop(right) - style.px(44)
        menu = self._menu_area(right) if has_menu(self._tool) else None
        right = menu.rect.x() if menu is not None else right
        left = style.px(_TEXT_LEFT)
        verb = min(style.width(self._verb_line.words, self._verb_line.font) + 1, right - left)
        self._verb_line.rect = QRectF(left, bar.y(), verb, bar.height())
        left += verb + gap
        words, font = self.unusual_words, style.font(SMALL, MEDIUM)
        wide = style.width(self._target[:_MAX_TARGET], self._target_line.font) + 2 if self._target else 0.0
        wide = min(wide, right - left)
        widths = [style.width(word.text, font) + 1 for word in words]
        least = min(wide, style.px(_MIN_TARGET))
        while len(words) > 1 and right - left - sum(widths) - gap * len(words) < least:
            words.pop()
            widths.pop()
        wide = max(0.0, min(wide, right - left - sum(widths) - gap * len(words)))
        self._target_line.rect = QRectF(left, bar.y(), wide, bar.height())
        left += wide + gap if self._target else 0.0
        self._words = []
        for word, room in zip(words, widths, strict=True):
            self._place_word(word, QRectF(left, bar.y(), min(room, max(0.0, right - left)), bar.height()))
            left += room + gap
        self._figures = QRectF(left, bar.y(), max(0.0, right - gap - left), bar.height())
        self.hit_areas += [menu] if menu is not None else []

    def _expand_area(self) -> HitArea:
        """Return the line, all of which opens the card."""
        call = self._description
        is_open = self._body is not None
        label = tr("Hide output of {call}", call=call) if is_open else tr("Show output of {call}", call=call)
        tip = "\n".join(filter(None, (call_facts(self._tool), window_state_text(self._tool))))
        return HitArea("open:card", ToggleSection("card"), label, self._bar, radius=8, tip=tip)

    def _menu_area(self, right: float) -> HitArea:
        """Return the place that opens a menu; it is there when the pointer or the keyboard is."""
        side = self.style.px(_MENU_WIDTH)
        rect = QRectF(right - side, self._bar.center().y() - side / 2, side, side)
        label = tr("More actions for {call}", call=self._description)
        return HitArea("menu:card", OpenMenu(), label, rect, radius=7, tip=tr("More actions"))

    def _place_stop(self, right: float) -> float:
        """Place the button that ends a running call alone; where it begins."""
        side = self.style.px(_MENU_WIDTH)
        rect = QRectF(right - side, self._bar.center().y() - side / 2, side, side)
        label = tr("Stop {call}", call=self._description)
        tip = tr("Stop this command only. The turn continues with its output so far.")
        self.hit_areas.append(
            HitArea(_STOP, StopCall(self._tool.key.call_id), label, rect, radius=7, tip=tip)
        )
        return rect.x()

    def _place_word(self, word: _Word, rect: QRectF) -> None:
        self._words.append(word._replace(rect=rect))
        if word.area:
            tip = "\n".join(filter(None, (word.tip, tr("Open in cache: {output}", output=self._tool.digest))))
            label = tr("Open in cache: {output}", output=word.text)
            place = rect.adjusted(-3, self.style.px(6), 3, -self.style.px(6))
            action = OpenCacheEntry(self._tool.digest)
            self.hit_areas.append(HitArea(word.area, action, label, place, radius=5, tip=tip))

    def tip_at(self, x: float, y: float) -> str:
        words = (word.tip for word in self._words if not word.area and word.rect.contains(QPointF(x, y)))
        return next(filter(None, words), "") or super().tip_at(x, y)

    @property
    def unusual_words(self) -> list[_Word]:
        """Return what is unusual about the call, the most important first."""
        row, words = self._tool, list[_Word]()
        outcome = outcome_text(row)
        if outcome:
            token = "warn" if row.state in ("approval", "question", "interrupted", "stopped") else "error"
            words.append(_Word(outcome, token, tip=call_facts(row)))
        if row.removed_at_ms:
            words.append(_Word(removed_state_text(), "warn", tip=removed_text(row)))
        elif row.badge in ("cached", "excluded", "pinned"):
            area, tip = (_CACHE_WORD if row.digest else ""), window_state_text(row)
            words.append(_Word(badge_text(row.badge), "accent_text", area, tip))
        elif row.arguments_cached:
            words.append(_Word(badge_text("cached"), "accent_text", tip=window_state_text(row)))
        if form := output_form_text(row):
            token = "warn" if row.has_no_extract else "muted"
            words.append(_Word(form, token, tip=form_choice_text(row)))
        if row.changed_since:
            tip = explain_changed(row.changed_since)
            words.append(_Word(tr("Changed since"), "warn", _CHANGED_WORD, tip))
        if row.changes is not None and row.changes.uncovered:
            words.append(_Word(uncovered_text(row.changes.uncovered), "warn"))
        return words

    def _paint(self, painter: ChatPainter) -> None:
        style, theme = self.style, self.style.theme
        self._paint_block(painter, theme.raised)
        is_hovered = painter.state.hovered != "" and self.hit_area(painter.state.hovered) is not None
        if painter.state.hovered == "open:card":
            inner = self._bar.adjusted(style.px(_PAD), 0, -style.px(_PAD), 0)
            painter.box(inner, theme.row_hover, radius=8)
        for part in self._parts:
            part.paint(painter)
        glyph = "loader-circle" if self._is_running else tool_icon(self._tool.tool)
        turn = painter.state.tick * 30.0 if self._is_running else 0.0
        painter.icon(glyph, theme.muted, style.px(14), self._bar.center().y(), 15, turn)
        for line in (self._verb_line, self._target_line):
            if line is self._verb_line or line.rect.width() > style.px(24):
                line.paint(painter)
        for word in self._words:
            is_lit = word.area and painter.state.hovered == word.area
            color = theme.text if is_lit else getattr(theme, word.color)
            painter.line(word.rect, word.text, style.font(SMALL, MEDIUM), color)
        self._paint_end(painter, is_hovered or painter.state.focused != "")

    def _paint_block(self, painter: ChatPainter, color: str) -> None:
        """Paint the ground: round where no other line is joined."""
        above, below = self.context.joins
        card = QRectF(0, 0, self.width, self.height)
        if not (above or below):
            painter.box(card, color, radius=_RADIUS)
        elif above and below:
            painter.fill(card, color)
        else:
            painter.half_rounded_box(card, color, round_bottom=above)

    def _paint_end(self, painter: ChatPainter, is_active: bool) -> None:
        """Paint the clock of a running call; figures and menu where the pointer or the keyboard is."""
        style, theme, row = self.style, self.style.theme, self._tool
        small = style.font(SMALL)
        stop = self.hit_area(_STOP)
        if stop is not None:
            if row.running_output is not None:
                clock = format_elapsed(int(time.time() - row.running_output.started_at_ms / 1000))
                room = QRectF(stop.rect.x() - style.px(90), self._bar.y(), style.px(84), self._bar.height())
                painter.line(room, clock, small, theme.muted, align_right=True)
            self._paint_icon_button(painter, stop, "circle-stop")
        elif is_active and style.width(figures := figures_text(row), small) <= self._figures.width():
            painter.line(self._figures, figures, small, theme.faint, align_right=True)
        menu = self.hit_area_for(OpenMenu)
        if menu is not None and is_active:
            self._paint_icon_button(painter, menu, "ellipsis")

    def _paint_icon_button(self, painter: ChatPainter, area: HitArea, glyph: str) -> None:
        is_active, theme = painter.is_active(area), painter.theme
        if is_active:
            painter.box(area.rect, theme.hover, radius=7)
        painter.icon_in(glyph, theme.text if is_active else theme.muted, area.rect, 15)
