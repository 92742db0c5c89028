"""How a tool call looks: one line that opens onto its output, and strips below it; calls share a block."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainterPath

from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.chat.actions import OpenMenu, PutAutoRun, StopCall, ToggleSection
from helix_desktop.ui.chat.items.changed_files import ChangedFiles, LeftToRight
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem, SearchLine
from helix_desktop.ui.chat.items.tool_body import (
    call_facts,
    form_choice_text,
    removed_text,
    tool_body,
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
from helix_desktop.ui.chat.rows.row_types import RUNNING_PHASE_TEXTS, SubagentStatus, ToolRow
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.tool_icons import tool_icon
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Column,
    Drawing,
    Frame,
    Icon,
    Pen,
    Row,
    Space,
    Text,
    push_button,
)
from helix_desktop.ui.kit.intents import OpenCacheEntry, OpenSession
from helix_desktop.words.file_changes import auto_run_texts, uncovered_text
from helix_desktop.words.rewrite_explanations import explain_changed
from helix_desktop.words.times import format_elapsed
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

_MIN_TOOL_WIDTH = 90  # pixels; below, the newest call of a subagent is left out
_PHASES = {  # icon and color
    "queued": ("clock", "muted"),
    "thinking": ("loader-circle", "text"),
    "working": ("loader-circle", "text"),
    "waiting": ("shield-alert", "warn"),
    "full": ("clock", "muted"),
    "done": ("circle-check", "ok"),
    "stopped": ("circle-stop", "muted"),
    "failed": ("circle-x", "error"),
    "interrupted": ("pause", "muted"),
}


def _subagent_strip(row: ToolRow, name: str) -> Box:
    """Return the line of a subagent at work, which leads to its session."""
    status, buttons = row.subagent_status, list[Box]()
    if row.state == "running":
        label = tr("Stop subagent: {task}", task=name)
        tip = tr("Stop this subagent only. The turn continues with what it has so far.")
        stop = StopCall(row.key.call_id)
        buttons.append(
            push_button("stop:card", stop, tr("Stop"), "circle-stop", label=label, tip=tip, high=27)
        )
    label = tr("Open subagent session: {task}", task=name)
    action, tip = OpenSession(row.subagent_session), f"{label}\n{tr('Or double-click the card')}"
    words = tr("Open", "verb: button")
    buttons.append(
        push_button("subagent:card", action, words, "arrow-up-right", label=label, tip=tip, high=27)
    )
    line: Box = Space(grow=True)
    if status is not None:
        line = Drawing((0, 20), partial(_paint_status, status), grow=True)
    return Frame(Row([Frame(line, (0, 0, 4, 0), grow=True), *buttons], 8), (14, 2, 12, 9))


def _paint_status(status: SubagentStatus, pen: Pen, line: QRectF) -> None:
    glyph, color = _PHASES[status.phase]
    gap, small = scaled(12), 12
    pen.write(Icon(glyph, color, turns=glyph == "loader-circle"), line.x(), line)
    left = pen.write(Text(status.phase_text, small, color, 500), line.x() + scaled(24), line) + gap
    # One below the other, the gauges of several begin at one place.
    widest = max(Text(translate(words), small, weight=500).width() for words in RUNNING_PHASE_TEXTS.values())
    ratio = Text(status.window_ratio_text, small, "muted")
    gauge = QRectF(max(left, line.x() + scaled(24) + widest + gap), 0, scaled(46), scaled(5))
    if status.is_running and status.used and gauge.right() + scaled(7) + ratio.width() <= line.right():
        gauge.moveCenter(QRectF(gauge.x(), line.y(), gauge.width(), line.height()).center())
        radius = gauge.height() / 2
        pen.box(gauge, "seg_free", radius=radius)
        full = max(gauge.height(), gauge.width() * min(1.0, status.window_ratio))
        pen.box(QRectF(gauge.x(), gauge.y(), full, gauge.height()), "accent", radius=radius)
        left = pen.write(ratio, gauge.right() + scaled(7), line) + gap
    words = status.summary(wall_clock_ms(), lambda words: left + Text(words, small).width() <= line.right())
    if words:
        left = pen.write(Text(words, small, "muted"), left, line) + gap
    if status.is_running and status.current_tool and line.right() - left > scaled(_MIN_TOOL_WIDTH):
        pen.write(Text(escape_invisible(status.current_tool), small, "faint", is_code=True), left, line)


def _auto_run_lines(row: ToolRow) -> list[tuple[str, Box]]:
    """Return lines on what runs by itself, one for each outcome, with their words."""
    capture_id = row.changes.capture if row.changes else ""  # leads to it in the file history
    lines = list[tuple[str, Box]]()
    for outcomes in (("removed",), ("failed",), ("named", "kept")):
        part = [change for change in row.auto_run if change.outcome in outcomes]
        if not part:
            continue
        text, buttons = auto_run_texts(part)[0], list[Box]()
        if outcomes != ("failed",):
            is_out = outcomes == ("removed",)
            action, words = _put(part, capture_id, restore=is_out), tr("Restore") if is_out else tr("Undo")
            name, label = f"auto_run:{len(lines)}", f"{words}: {text}"
            buttons.append(push_button(name, action, words, label=label, tip=text, high=26))
        icon = Icon("shield-alert", "warn", 14)
        line = Row([icon, Text(text, 12, grow=True, shrink=True), *buttons], 10)
        lines.append((text, Frame(line, (14, 2, 12, 6), least=26)))
    return lines


def _put(part: Sequence[AutoRunChange], capture_id: str, *, restore: bool) -> PutAutoRun:
    change_ids = tuple(change.change_id for change in part if change.change_id)
    paths = tuple(change.path for change in part if not change.change_id) if capture_id else ()
    return PutAutoRun(change_ids, restore, capture_id, paths)


class _Word(NamedTuple):
    """What is unusual about a call, behind its target; a click opens the output in the cache."""

    text: str
    color: str  # a token
    area: str = ""  # the name of its area, if a click does something
    tip: str = ""


def has_menu(row: ToolRow) -> bool:
    """Return True if a call has actions other than looking at it."""
    return bool(row.digest or row.arguments or row.subagent_session)


_HIGH, _GAP = 32, 8  # pixels: the line, and between its words
_MIN_TARGET = 120  # pixels that a target keeps beside the words behind it
_MAX_TARGET = 200  # characters of a target that are measured: more than a line has room for


class _Bar(Box):
    """The line of a call: verb, target and what is unusual from the left, figures and menu from the right."""

    def __init__(self, row: ToolRow, figures: Button | None, *, is_open: bool) -> None:
        super().__init__()
        self._row, self._changes = row, figures
        target = bar_target(row)
        call, is_running = f"{call_words(row)} {target}".strip(), row.state == "running"
        is_repeated = len(bar_texts(row)) == 1
        self._icon = Icon("loader-circle" if is_running else tool_icon(row.tool), turns=is_running)
        self.verb = SearchLine(call_words(row), 13, 500)
        self.target = SearchLine(target, 12, is_code=True, is_found=not is_repeated)
        self._words = [self._word(word) for word in unusual_words(row)]
        self._figures = Text(figures_text(row), 12, "faint")
        self._open = self._stop = self._menu = None
        if row.can_open:
            label = (
                tr("Hide output of {call}", call=call) if is_open else tr("Show output of {call}", call=call)
            )
            tip = "\n".join(filter(None, (call_facts(row), window_state_text(row))))
            self._open = Button("open:card", ToggleSection("card"), Box(), label, "words", tip=tip)
        if is_running and row.key.call_id and not row.subagent_session:
            tip = tr("Stop this command only. The turn continues with its output so far.")
            label = tr("Stop {call}", call=call)
            self._stop = self._icon_button("stop:card", StopCall(row.key.call_id), "circle-stop", label, tip)
        if has_menu(row):
            label = tr("More actions for {call}", call=call)
            self._menu = self._icon_button("menu:card", OpenMenu(), "ellipsis", label, tr("More actions"))

    def _icon_button(self, name: str, action: object, icon: str, label: str, tip: str) -> Button:
        return Button(name, action, Icon(icon, px=16), label, "action", tip=tip, lit=Icon(icon, "text", 16))

    def _word(self, word: _Word) -> Box:
        text = Text(word.text, 12, word.color, 500, tip=word.tip)
        if not word.area:
            return text
        digest = self._row.digest
        tip = "\n".join(filter(None, (word.tip, tr("Open in cache: {output}", output=digest))))
        label, lit = tr("Open in cache: {output}", output=word.text), Text(word.text, 12, "text", 500)
        return Button(word.area, OpenCacheEntry(digest), text, label, "words", tip=tip, lit=lit)

    def height(self, width: float) -> float:
        return scaled(_HIGH)

    def place(self, rect: QRectF) -> None:
        self.rect, gap, right = rect, scaled(_GAP), rect.right() - scaled(14)
        if self._open is not None:
            self._open.place(rect)
        if self._changes is not None:
            right = _place(self._changes, right - self._changes.width(), rect).x() - gap
        if self._stop is not None:
            right = _place(self._stop, right - self._stop.width(), rect).x() - scaled(44)
        if self._menu is not None:
            right = _place(self._menu, right - self._menu.width(), rect).x()
        _place(self._icon, rect.x() + scaled(14), rect)
        left = rect.x() + scaled(38)
        left = _place(self.verb, left, rect, right - left).right() + gap
        words, widths = self._words[:], [word.width() for word in self._words]
        wide = min(Text(self.target.words[:_MAX_TARGET], 12, is_code=True).width() + 1, right - left)
        wide = wide if self.target.words else 0.0
        least = min(wide, scaled(_MIN_TARGET))
        while len(words) > 1 and right - left - sum(widths) - gap * len(words) < least:
            words.pop().place(QRectF())
            widths.pop()
        wide = max(0.0, min(wide, right - left - sum(widths) - gap * len(words)))
        left = _place(self.target, left, rect, wide).right() + (gap if self.target.words else 0)
        for word in words:
            left = _place(word, left, rect, max(0.0, right - left)).right() + gap
        fits = self._figures.width() <= right - gap - left
        _place(
            self._figures, right - gap - self._figures.width(), rect, self._figures.width() if fits else 0.0
        )

    def parts(self) -> Iterator[Box]:
        yield self
        for part in (self._open, self.verb, self.target, self._stop, *self._words, self._menu, self._changes):
            if part is not None:
                yield part

    def paint(self, pen: Pen) -> None:
        is_active = bool(pen.state.hovered or pen.state.focused)
        target = self.target if self.target.rect.width() > scaled(24) else None
        if pen.state.hovered == "open:card":
            pen.box(self.rect.adjusted(scaled(4), 0, -scaled(4), 0), "row_hover", radius=8)
        for part in (self._icon, self.verb, target, *self._words, self._changes, self._stop):
            if part is not None:
                part.paint(pen)
        if self._stop is not None and self._row.running_output is not None:
            started_s = self._row.running_output.started_at_ms / 1000
            clock = Text(format_elapsed(int(time.time() - started_s)), 12, "muted")
            pen.write(clock, self._stop.rect.x() - scaled(6) - clock.width(), self.rect)
        if is_active and self._stop is None:
            self._figures.paint(pen)
        if is_active and self._menu is not None:
            self._menu.paint(pen)


def _place(box: Box, left: float, line: QRectF, room: float = 1e6) -> QRectF:
    """Place a box into the middle of a line; return where it is."""
    wide = max(0.0, min(box.width(), room))
    tall = box.height(wide)
    box.place(QRectF(left, line.y() + (line.height() - tall) / 2, wide, tall))
    return box.rect


class _Block(Frame):
    """The ground that lines of calls share: round where no other one is joined."""

    joins = (False, False)

    def paint(self, pen: Pen) -> None:
        above, below = self.joins
        path, rect = QPainterPath(), self.rect.adjusted(0, -20 * above, 0, 20 * below)
        path.addRoundedRect(rect, 12, 12)
        pen.qt.save()
        if above or below:
            pen.qt.setClipRect(self.rect, Qt.ClipOperation.IntersectClip)
        pen.qt.fillPath(path, pen.color("raised"))
        pen.qt.restore()
        Frame.paint(self, pen)


class ToolCard(RowItem):
    def __init__(self, row: ToolRow, context: ItemContext, tools: ItemTools) -> None:
        target, is_open = bar_target(row), "card" in context.expanded and row.can_open
        changes, notes = None, list[str]()
        parts: list[Box] = []
        if row.subagent_session:
            parts.append(_subagent_strip(row, target))
        elif is_open and row.state == "running" and row.running_output:
            lines = row.running_output.lines or (tr("no output yet"),)
            output = Column([Text(line, 12, is_code=True) for line in lines], 1)
            parts.append(LeftToRight(output, (14, 8, 14, 8)))
        if row.changes is not None:
            call = f"{call_words(row)} {target}".strip()
            changes = ChangedFiles(row, row.changes, call, context.expanded, tools)
            parts.append(changes.body)
            notes += changes.notes
        auto_run = _auto_run_lines(row)
        notes += [". ".join(text for text, _ in auto_run)] if auto_run else []
        parts += [line for _, line in auto_run]
        if is_open:
            parts.append(tool_body(row, tools))
        self.bar = _Bar(row, changes.figures if changes else None, is_open=is_open)
        above, below = (0 if joined else 4 for joined in context.joins)
        block = _Block(Column([self.bar, *parts], 0), (0, above, 0, below))
        block.joins = context.joins
        super().__init__(row, context, tools, block, notes)
        self._is_running = row.state == "running"

    @property
    def is_busy(self) -> bool:
        return self._is_running


def unusual_words(row: ToolRow) -> list[_Word]:
    """Return what is unusual about the call, the most important first."""
    words = list[_Word]()
    outcome = outcome_text(row)
    if outcome:
        token = "warn" if row.state in ("approval", "question", "interrupted", "stopped") else "error"
        words.append(_Word(outcome, token, tip=call_facts(row)))
    if row.removed_at_ms:
        words.append(_Word(removed_state_text(), "warn", tip=removed_text(row)))
    elif row.badge in ("cached", "excluded", "pinned"):
        area, tip = ("cache" if row.digest else ""), window_state_text(row)
        words.append(_Word(badge_text(row.badge), "accent_text", area, tip))
    elif row.arguments_cached:
        words.append(_Word(badge_text("cached"), "accent_text", tip=window_state_text(row)))
    if form := output_form_text(row):
        token = "warn" if row.has_no_extract else "muted"
        words.append(_Word(form, token, tip=form_choice_text(row)))
    if row.changed_since:
        tip = explain_changed(row.changed_since)
        words.append(_Word(tr("Changed since"), "warn", "changed", tip))
    if row.changes is not None and row.changes.uncovered:
        words.append(_Word(uncovered_text(row.changes.uncovered), "warn"))
    return words
