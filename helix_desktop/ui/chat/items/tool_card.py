"""How a tool call looks: a card of one or two lines that opens onto its output; a call at work adds lines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from helix_desktop.domain.messages import display_name
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.ui.chat.actions import OpenCacheEntry, OpenMenu, PutAutoRun, StopCall, ToggleSection
from helix_desktop.ui.chat.items.changed_files import ChangedFiles
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painted_line import PaintedLine
from helix_desktop.ui.chat.items.painting import (
    CHIP_HEIGHT,
    ChipStyle,
    HitArea,
    PaintState,
    button_width,
    chip_width,
    paint_box,
    paint_button,
    paint_chip,
    paint_half_rounded_box,
    paint_icon,
    paint_line,
)
from helix_desktop.ui.chat.items.subagent_strip import SubagentStrip
from helix_desktop.ui.chat.items.tool_body import ToolBody, form_choice_text, removed_text, window_state_text
from helix_desktop.ui.chat.rows.row_texts import (
    STATE_TEXTS,
    badge_text,
    bar_target,
    bar_texts,
    output_form_text,
    removed_state_text,
)
from helix_desktop.ui.chat.rows.row_types import Badge, ToolRow, ToolState
from helix_desktop.ui.chat.rows.running_output import RunningOutput
from helix_desktop.ui.chat.rows.tool_figures import figures_text
from helix_desktop.ui.chat.style import SEMIBOLD, SMALL, UI, ChatStyle
from helix_desktop.ui.design.mirror import turn_back
from helix_desktop.ui.design.tool_icons import tool_icon
from helix_desktop.words.file_changes import auto_run_texts
from helix_desktop.words.rewrite_explanations import explain_changed
from helix_desktop.words.times import format_elapsed
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

_LINE = 40.0  # pixels, the card's first line
_SECOND_LINE = 25.0
_MAX_NARROW_WIDTH = 640.0  # below, figures go to a line of their own
_MAX_TITLE_WIDTH = 520.0
"""What tool and target keep next to the figures if they need it, or these go to a line of their own."""
_FIGURES_GAP, _TITLE_GAP = 4.0, 12.0  # behind the figures, and before them
_TARGET_GAP = 9.0  # between tool and target
_MAX_TARGET = 200  # characters of a target that are measured: more than a card has room for
_MENU_WIDTH, _ARROW_WIDTH = 30.0, 36.0  # widths of the two places at the right end
_HASH_DIGITS = 6
_CACHE_CHIP, _CHANGED_CHIP = "cache", "changed"

_STATE_ICONS: dict[ToolState, str] = {
    "waiting": "clock",
    "approval": "shield-alert",
    "question": "circle-question-mark",
    "running": "loader-circle",
    "ok": "check",
    "failed": "x",
    "denied": "x",
    "interrupted": "pause",
    "stopped": "circle-stop",
}
_BADGE_ICONS: dict[Badge, str] = {
    "cached": "zap",
    "excluded": "eye-off",
    "folded": "list-tree",
    "left_out": "scissors",
    "observed": "eye",
    "handed_over": "layers",
    "recalled": "archive-restore",
    "pinned": "pin",
}

_HEIGHT, _LEFT, _RIGHT = 34.0, 38.0, 12.0  # pixels


class AutoRunStrip:
    """Lines below a card's bar, one for each outcome; sizes in pixels."""

    def __init__(self, changes: Sequence[AutoRunChange], capture_id: str, style: ChatStyle) -> None:
        """`capture_id` leads to what the file history has of the call."""
        self._style = style
        self._lines: list[tuple[str, str, PutAutoRun | None, QRectF]] = []
        for outcomes in (("removed",), ("failed",), ("named", "kept")):
            part = [change for change in changes if change.outcome in outcomes]
            if part:
                label, action = "", None
                if outcomes != ("failed",):
                    is_out = outcomes == ("removed",)
                    label = tr("Restore") if is_out else tr("Undo")
                    action = _action(part, capture_id, found=is_out)
                self._lines.append((auto_run_texts(part)[0], label, action, QRectF()))
        self.hit_areas: list[HitArea] = []

    @property
    def words(self) -> str:
        """Return all of it, as a screen reader reads it."""
        return ". ".join(text for text, *_ in self._lines)

    def arrange(self, top: float, width: float) -> float:
        """Place it below `top`; where it ends."""
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

    def paint(self, painter: QPainter, state: PaintState) -> None:
        """Draw the lines with their buttons."""
        style, theme = self._style, self._style.theme
        areas = {area.action: area for area in self.hit_areas}
        for text, label, action, line in self._lines:
            middle, side = line.center().y() - style.px(2), style.px(14)
            icon = QRectF(style.px(14), middle - side / 2, side, side)
            paint_icon(painter, style, "shield-alert", theme.warn, icon)
            right = line.right() - style.px(_RIGHT)
            area = areas.get(action) if action is not None else None
            if area is not None:
                paint_button(painter, style, area._replace(label=label), state, "outline")
                right = area.rect.x() - style.px(10)
            room = QRectF(style.px(_LEFT), middle - style.px(10), right - style.px(_LEFT), style.px(20))
            paint_line(painter, style, room, text, style.font(SMALL), theme.text)


def _action(part: Sequence[AutoRunChange], capture_id: str, *, found: bool) -> PutAutoRun:
    kept_ids = tuple(change.kept_id for change in part if change.kept_id)
    paths = tuple(change.path for change in part if not change.kept_id) if capture_id else ()
    return PutAutoRun(kept_ids, found, capture_id, paths)


_BAR_HEIGHT = 38.0  # pixels


class RunningStrip:
    """Lines and a bar below a card's first line; sizes in pixels."""

    def __init__(self, output: RunningOutput, call_id: str, name: str, style: ChatStyle) -> None:
        self._output, self._call_id, self._name, self._style = output, call_id, name, style
        self._background_rect, self._bar_rect = QRectF(), QRectF()
        self.hit_areas: list[HitArea] = []

    @property
    def _line_height(self) -> float:
        return self._style.metrics(self._style.font(SMALL, mono=True)).lineSpacing() + self._style.px(1)

    def arrange(self, top: float, width: float) -> float:
        """Place it below `top`; where it ends."""
        style, count = self._style, len(self._output.lines)
        tall = count * self._line_height + style.px(16) if count else 0.0
        self._background_rect = QRectF(1, top, width - 2, tall)
        self._bar_rect = QRectF(0, top + tall, width, style.px(_BAR_HEIGHT))
        wide = button_width(style, tr("Stop"), True)
        place = QRectF(
            width - style.px(12) - wide, self._bar_rect.center().y() - style.px(13.5), wide, style.px(27)
        )
        label = tr("Stop {call}", call=self._name)
        tip = tr("Stop this command only. The turn continues with its output so far.")
        self.hit_areas = [HitArea("stop:card", StopCall(self._call_id), label, place, radius=8, tip=tip)]
        return self._bar_rect.bottom()

    def paint(self, painter: QPainter, state: PaintState) -> None:
        """Draw the lines, the clock and the button."""
        style, theme = self._style, self._style.theme
        if self._output.lines:
            painter.fillRect(self._background_rect, style.color(theme.code_surface))
            for edge in (self._background_rect.top(), self._background_rect.bottom() - 1):
                painter.fillRect(QRectF(1, edge, self._background_rect.width(), 1), style.color(theme.border))
        font = style.font(SMALL, mono=True)
        painter.save()
        turn_back(painter, self._background_rect)
        for at, line in enumerate(self._output.lines):
            top = self._background_rect.top() + style.px(8) + at * self._line_height
            room = QRectF(style.px(14), top, self._background_rect.width() - style.px(28), self._line_height)
            paint_line(painter, style, room, line, font, theme.text)
        painter.restore()
        self._paint_bar(painter, state)

    def _paint_bar(self, painter: QPainter, state: PaintState) -> None:
        style, (area,) = self._style, self.hit_areas
        paint_button(painter, style, area._replace(label=tr("Stop")), state, "outline", "circle-stop")
        words = format_elapsed(int(time.time() - self._output.started_at_ms / 1000))
        if not self._output.lines:
            words = f"{words} · {tr('no output yet')}"
        left = style.px(38)
        room = QRectF(left, self._bar_rect.y(), area.rect.x() - left - style.px(12), self._bar_rect.height())
        paint_line(painter, style, room, words, style.font(SMALL), style.theme.muted)


class _PlacedChip(NamedTuple):
    """A chip of the bar, where it stands once it is placed."""

    text: str
    style: ChipStyle
    area: str = ""  # the name of its area, if a click opens the output in the cache
    tip: str = ""
    rect: QRectF = QRectF()


def has_menu(row: ToolRow) -> bool:
    """Return True if a call has actions other than looking at it."""
    return bool(row.digest or row.arguments or row.subagent_session)


class ToolCard(RowItem):
    """The card of one tool call."""

    def __init__(self, row: ToolRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._tool = row
        self._figures_text = figures_text(row)
        self._target = bar_target(row)
        theme = self.style.theme
        name_font, target_font = self.style.font(UI, SEMIBOLD), self.style.font(SMALL, mono=True)
        self._name_line = PaintedLine(display_name(row.tool), name_font, theme.text)
        self._target_line = PaintedLine(self._target, target_font, theme.muted, keeps_end=True)
        self._set_lines([self._name_line, self._target_line][: len(bar_texts(row))])
        self._placed_chips: list[_PlacedChip] = []
        self._title = QRectF()
        self._figures = QRectF()
        self._bar_height = self._body_top = _LINE
        running = row.state == "running"
        self._running_strip = (
            RunningStrip(row.running_output, row.key.call_id, self._description, self.style)
            if row.running_output and running and not row.subagent_session
            else None
        )
        self._can_open = row.can_open
        self._subagent_strip = (
            SubagentStrip(
                row.subagent_status,
                row.subagent_session,
                self._target,
                self.style,
                row.key.call_id if running else "",
            )
            if row.subagent_session
            else None
        )
        self._changed_files = self._make_changed_files(row, context, tools)
        self._auto_run_strip = (
            AutoRunStrip(row.auto_run, row.changes.capture_id if row.changes else "", self.style)
            if row.auto_run
            else None
        )
        self._body: ToolBody | None = None
        if "card" in context.expanded and self._can_open:
            self._body = ToolBody(row, self.style, tools)
        changed = self._changed_files.texts if self._changed_files is not None else []
        self._set_texts([*changed, *(self._body.texts if self._body is not None else [])])
        if self._changed_files is not None:
            self.accessible_notes = self._changed_files.notes
        if self._auto_run_strip is not None:
            self.accessible_notes = [*self.accessible_notes, self._auto_run_strip.words]

    def _make_changed_files(
        self, row: ToolRow, context: ItemContext, tools: ItemTools
    ) -> ChangedFiles | None:
        if row.changes is None:
            return None
        return ChangedFiles(
            row.changes,
            row.changed_files,
            self._description,
            row.target,
            tools,
            is_open="changes" in context.expanded,
            shows_all="changed_lines" in context.expanded,
        )

    def tip_at(self, x: float, y: float) -> str:
        """Return what the chip at a point says, or the area there."""
        chips = (
            chip.tip for chip in self._placed_chips if not chip.area and chip.rect.contains(QPointF(x, y))
        )
        return next(chips, "") or super().tip_at(x, y)

    def copy_text(self, number: int) -> str | None:
        """Return the command of a call that runs one."""
        return self._body.copy_text(number) if self._body is not None else None

    @property
    def is_busy(self) -> bool:
        """Return True if the tool runs."""
        return self._tool.state == "running"

    def _arrange_bar(self, width: float) -> None:
        style = self.style
        ends = style.px(
            (_ARROW_WIDTH if self._can_open else 14) + (_MENU_WIDTH if has_menu(self._tool) else 0)
        )
        words = self._figures_text
        wide = style.width(words, style.font(SMALL)) + 1 if words else 0.0
        chips = self._chips()
        chips_width = sum(chip_width(style, chip.text, chip.style) + style.px(8) for chip in chips) + wide
        state_chip = _PlacedChip(translate(STATE_TEXTS[self._tool.state]), self._state_style())
        state = chip_width(style, state_chip.text, state_chip.style) + style.px(8)
        left = style.px(38)
        title = width - left - style.px(_TITLE_GAP) - ends - state - chips_width - _FIGURES_GAP
        cramped = width < style.px(_MAX_NARROW_WIDTH) and self._subagent_strip is None
        two = bool(chips or words) and (cramped or title < self._needed_title_width())
        self._bar_height = style.px(_LINE + (_SECOND_LINE if two else 0))
        self._placed_chips = []
        self.hit_areas = [self._expand_area(width)] if self._can_open else []
        middle = style.px(_LINE) / 2
        right = self._place_chip(width - ends, middle, state_chip)
        self._title = QRectF(left, 0, right - left - 6 if two else title, style.px(_LINE))
        line = style.px(_LINE + _SECOND_LINE / 2 - 6) if two else middle
        if cramped:
            right = width - style.px(14)
            for chip in chips:
                right = self._place_chip(right, line, chip)
            self._figures = QRectF(left, line - style.px(10), right - left, style.px(20))
        else:  # below those of the cards above, whatever chips each has, in one line or two
            wide = min(wide, right - left - (chips_width - wide))
            self._figures = QRectF(right - wide - _FIGURES_GAP, line - style.px(10), wide, style.px(20))
            right = self._figures.x() - style.px(8) if words else right
            for chip in chips:
                right = self._place_chip(right, line, chip)
        self._place_title()
        if has_menu(self._tool):
            self.hit_areas.append(self._menu_area(width))

    def _needed_title_width(self) -> float:
        """Return how wide tool and target are, at most what is kept free for them."""
        style = self.style
        name = style.width(self._name_line.words, self._name_line.font)
        target = style.width(self._target[:_MAX_TARGET], self._target_line.font)
        return min(name + style.px(_TARGET_GAP) + target + 2, style.px(_MAX_TITLE_WIDTH))

    def _arrange(self, width: float) -> float:
        self._arrange_bar(width)
        self._body_top = self._bar_height
        if self._subagent_strip is not None:
            self._body_top = self._subagent_strip.arrange(self._body_top, width)
            self.hit_areas += self._subagent_strip.hit_areas
        if self._running_strip is not None:
            self._body_top = self._running_strip.arrange(self._body_top, width)
            self.hit_areas += self._running_strip.hit_areas
        if self._changed_files is not None:
            self._body_top = self._changed_files.arrange(self._body_top, width)
            self.hit_areas += self._changed_files.hit_areas
        if self._auto_run_strip is not None:
            self._body_top = self._auto_run_strip.arrange(self._body_top, width)
            self.hit_areas += self._auto_run_strip.hit_areas
        if self._body is None:
            return self._body_top
        height = self._body.arrange(self._body_top, width)
        self.hit_areas += self._body.hit_areas
        return height

    @property
    def _description(self) -> str:
        return f"{display_name(self._tool.tool)} {self._target}".strip()

    def _expand_area(self, width: float) -> HitArea:
        """Return the bar, all of which opens the card."""
        call = self._description
        label = (
            tr("Hide output of {call}", call=call) if self._body else tr("Show output of {call}", call=call)
        )
        return HitArea(
            "open:card", ToggleSection("card"), label, QRectF(0, 0, width, self._bar_height), radius=10
        )

    def _menu_area(self, width: float) -> HitArea:
        """Return the place at the right end that opens a menu."""
        style = self.style
        side = style.px(26)
        left = width - style.px(_ARROW_WIDTH if self._can_open else 10) - side
        rect = QRectF(left, style.px(_LINE) / 2 - side / 2, side, side)
        label = tr("More actions for {call}", call=self._description)
        return HitArea("menu:card", OpenMenu(), label, rect, radius=7, tip=tr("More actions"))

    def _chips(self) -> list[_PlacedChip]:
        """Return where things stand, from right to left."""
        row, theme = self._tool, self.style.theme
        soft = ChipStyle(theme.accent_text, theme.accent_soft)
        plain = ChipStyle(theme.muted, "", theme.border)
        chips: list[_PlacedChip] = []
        if row.removed_at_ms:
            warning = ChipStyle(theme.warn, theme.warn_soft, icon="trash-2")
            chips.append(_PlacedChip(removed_state_text(), warning, tip=removed_text(row)))
        elif row.badge == "in_window":
            chips.append(_PlacedChip(badge_text(row.badge), plain))
        elif row.badge:
            styles = {
                "pinned": ChipStyle(theme.ok, theme.ok_soft),
                "left_out": ChipStyle(theme.warn, theme.warn_soft),
            }
            style = styles.get(row.badge, soft)._replace(icon=_BADGE_ICONS[row.badge])
            digits = "" if row.badge == "pinned" else row.digest[:_HASH_DIGITS]
            text = f"{badge_text(row.badge)} {digits}".strip()
            chips.append(_PlacedChip(text, style, _CACHE_CHIP if row.digest else "", window_state_text(row)))
        if row.is_choosing_form:
            chips.append(_PlacedChip(tr("form not chosen yet"), plain._replace(icon="clock")))
        if row.form != "full":
            glyph = "minimize-2" if row.form == "compact" else "list-filter"
            style = ChipStyle(theme.warn, theme.warn_soft) if row.has_no_extract else plain
            chips.append(
                _PlacedChip(output_form_text(row), style._replace(icon=glyph), tip=form_choice_text(row))
            )
        if row.arguments_cached:
            braces = soft._replace(icon="braces")
            chips.append(_PlacedChip(tr("arguments cached"), braces, tip=window_state_text(row)))
        if row.changed_since:
            tip, style = explain_changed(row.changed_since), plain._replace(icon="diff")
            chips.append(_PlacedChip(tr("changed since"), style, _CHANGED_CHIP, tip))
        return chips

    def _place_chip(self, right: float, middle: float, chip: _PlacedChip) -> float:
        style = self.style
        wide, tall = chip_width(style, chip.text, chip.style), style.px(CHIP_HEIGHT)
        rect = QRectF(right - wide, middle - tall / 2, wide, tall)
        self._placed_chips.append(chip._replace(rect=rect))
        if chip.area:
            tip = "\n".join(filter(None, (chip.tip, tr("Open in cache: {output}", output=self._tool.digest))))
            label = tr("Open in cache: {output}", output=chip.text)
            action, radius = OpenCacheEntry(self._tool.digest), rect.height() / 2
            self.hit_areas.append(HitArea(chip.area, action, label, rect, radius=radius, tip=tip))
        return right - wide - style.px(8)

    def _state_style(self) -> ChipStyle:
        theme, state = self.style.theme, self._tool.state
        colors = {
            "ok": (theme.ok, theme.ok_soft),
            "running": (theme.warn, theme.warn_soft),
            "approval": (theme.warn, theme.warn_soft),
            "question": (theme.warn, theme.warn_soft),
            "failed": (theme.error, theme.error_soft),
            "denied": (theme.error, theme.error_soft),
        }
        color, fill = colors.get(state, (theme.muted, theme.hover))
        return ChipStyle(color, fill, "", _STATE_ICONS[state])

    def _paint(self, painter: QPainter, state: PaintState) -> None:
        chat_style, theme = self.style, self.style.theme
        card = QRectF(0, 0, self.width, self.height)
        paint_box(painter, card, chat_style.color(theme.surface), chat_style.color(theme.border), 10)
        if self._body is not None:
            background = card.adjusted(1, self._body_top, -1, -1)
            paint_half_rounded_box(
                painter, background, chat_style.color(theme.code_surface), round_bottom=True
            )
            painter.fillRect(QRectF(1, self._body_top - 1, self.width - 2, 1), chat_style.color(theme.border))
            self._body.paint(painter, state)
        bar = self.hit_area_for(ToggleSection)
        if bar is not None and state.hovered == bar.name:
            inner = QRectF(1, 1, self.width - 2, self._bar_height - 2)
            strips = (self._subagent_strip, self._running_strip, self._changed_files, self._auto_run_strip)
            is_bar_only = self._body is None and not any(strips)
            paint_box(
                painter, inner, chat_style.color(theme.row_hover), None, 9
            ) if is_bar_only else paint_half_rounded_box(painter, inner, chat_style.color(theme.row_hover))
        if self._subagent_strip is not None:
            self._subagent_strip.paint(painter, state)
        if self._running_strip is not None:
            self._running_strip.paint(painter, state)
        if self._changed_files is not None:
            self._changed_files.paint(painter, state)
        if self._auto_run_strip is not None:
            self._auto_run_strip.paint(painter, state)
        side, line = chat_style.px(15), chat_style.px(_LINE)
        paint_icon(
            painter,
            chat_style,
            tool_icon(self._tool.tool),
            theme.muted,
            QRectF(14, (line - side) / 2, side, side),
        )
        self._paint_title(painter, state)
        paint_line(
            painter, chat_style, self._figures, self._figures_text, chat_style.font(SMALL), theme.faint
        )
        for item in self._placed_chips:
            turn = state.tick * 30.0 if item.style.icon == "loader-circle" else 0.0
            style = item.style
            if item.area and state.hovered == item.area:
                style = style._replace(border=theme.accent)
            paint_chip(painter, chat_style, item.rect, item.text, style, turn)
        self._paint_ends(painter, state)

    def _paint_ends(self, painter: QPainter, state: PaintState) -> None:
        style, theme = self.style, self.style.theme
        side, line = style.px(15), style.px(_LINE)
        menu = self.hit_area_for(OpenMenu)
        if menu is not None:
            active = menu.name in (state.hovered, state.pressed)
            if active:
                paint_box(painter, menu.rect, style.color(theme.hover), None, 7)
            place = QRectF(0, 0, side, side)
            place.moveCenter(menu.rect.center())
            paint_icon(painter, style, "ellipsis", theme.text if active else theme.faint, place)
        if self._can_open:
            arrow = "chevron-down" if self._body is not None else "chevron-right"
            corner = QRectF(self.width - style.px(29), (line - side) / 2, side, side)
            paint_icon(painter, style, arrow, theme.faint, corner)

    def _place_title(self) -> None:
        name, title = self._name_line, self._title
        wide = min(self.style.width(name.words, name.font) + 1, title.width())
        name.rect = QRectF(title.x(), title.y(), wide, title.height())
        self._target_line.rect = title.adjusted(wide + self.style.px(_TARGET_GAP), 0, 0, 0)

    def _paint_title(self, painter: QPainter, state: PaintState) -> None:
        for line in (self._name_line, self._target_line):
            if line is self._name_line or line.rect.width() > self.style.px(24):
                line.paint(painter, self.style, state.marks.get(line.number, ()) if line.number else ())
