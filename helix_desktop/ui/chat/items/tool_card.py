"""How a tool call looks: a line that opens onto its output, and strips below it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainterPath

from helix_desktop.agent.session import SubagentProgress
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import FormChosen
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, join_sentences
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.chat.actions import OpenMenu, PutAutoRun, ReadContent, StopCall, ToggleSection
from helix_desktop.ui.chat.items.changed_files import ChangedFiles
from helix_desktop.ui.chat.items.item import (
    CodeBlock,
    ItemContext,
    ItemTools,
    RowItem,
    SearchLine,
    TextBlock,
    all_lines_button,
    card_foot,
    more_lines_text,
    paragraph,
)
from helix_desktop.ui.chat.markdown.parser import Code
from helix_desktop.ui.chat.rows.row_texts import (
    RUNNING_PHASES,
    STATE_TEXTS,
    badge_text,
    bar_target,
    call_words,
    figures_text,
    outcome_text,
    output_form_texts,
    phase_text,
    removed_state_text,
    result_text,
    subagent_figures,
)
from helix_desktop.ui.chat.rows.row_types import (
    MAX_BYTES,
    MAX_LINES,
    FormChooser,
    HeadAndTail,
    ToolRow,
)
from helix_desktop.ui.chat.style import SMALL
from helix_desktop.ui.design.safe_text import clean_output, escape_command, escape_invisible
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.tool_icons import tool_icon
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Column,
    Dot,
    Drawing,
    Flow,
    Frame,
    Icon,
    Pen,
    Row,
    Space,
    Text,
    face,
    push_button,
)
from helix_desktop.ui.kit.intents import OpenOutput, OpenSession, Recall, SendAll
from helix_desktop.words.file_changes import auto_run_texts, uncovered_text
from helix_desktop.words.lines import dotted
from helix_desktop.words.model_names import slow_model_text
from helix_desktop.words.numbers import format_token_count, format_tokens, format_whole_percent
from helix_desktop.words.state_words import OUTDATED, REPEATED, STATE_WORDS, StateWords, explain_outdated
from helix_desktop.words.times import format_date, format_elapsed, format_exact_duration
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

_BADGE_WORDS = dict[str, StateWords]([*STATE_WORDS.items(), ("repeated", REPEATED)])
_ARGUMENTS_CACHED = text("The text of this call is cached.")
_HANGING = 2  # characters that what goes on of a long line is indented by
_CHOOSER_SENTENCES: dict[FormChooser, TranslatableText] = {
    "rule": text("Over the size limit: only a part was sent."),
    "agent": text("The agent chose which part to get."),
    "timeout": text("The model was too slow to say which part to send."),
    "user": text("You chose which part to send."),
}


def window_state_text(row: ToolRow) -> str:
    """Return where the output and the arguments of a call are now, in sentences."""
    output = ""
    if not row.removed_at_ms and row.badge != "in_window" and (words := _BADGE_WORDS.get(row.badge)):
        output = words.tooltip
    cached = _ARGUMENTS_CACHED if row.arguments_cached else ""
    return translate(join_sentences(output, cached))


def call_facts(row: ToolRow, figures: str = "") -> str:
    place = "" if row.is_part and row.badge == "in_window" else badge_text(row.badge)  # the figures say that
    return dotted((translate(STATE_TEXTS[row.state]), figures or figures_text(row), place))


def removed_text(row: ToolRow) -> str:
    if not row.removed_at_ms:
        return ""
    return tr("You removed this output as a secret on {day}.", day=format_date(row.removed_at_ms))


def form_choice_text(row: ToolRow) -> str:
    """Who chose the shown form, or what was asked for; why it is not that, and what choosing took."""
    shown = row.shown
    if not row.is_part and row.chosen_by == "rule":
        return ""
    chooser = instructions = ""
    has_note = row.chosen_by == "timeout" and isinstance(shown, ToolAnswered) and shown.intake_note
    if not (shown.asked or has_note):
        chooser = translate(_CHOOSER_SENTENCES[row.chosen_by])
    if part := shown.asked.removesuffix("."):  # the sentence around it has its own
        by_user = row.chosen_by == "user"
        instructions = (
            tr("You asked for: “{part}”.", part=part)
            if by_user
            else tr("The agent asked for: “{part}”.", part=part)
        )
    notes = list[TranslatableText | str]()
    if isinstance(shown, ToolAnswered):
        notes = [shown.intake_note, slow_model_text(shown.intake_slow_model)]
    cost = tr("Cost of choosing: {cost}.", cost=_form_cost(shown)) if shown.intake_tokens else ""
    return translate(join_sentences(chooser, instructions, *notes, cost))


def _form_cost(shown: ToolAnswered | FormChosen) -> str:
    tokens = tr("{tokens} tokens", tokens=format_tokens(shown.intake_tokens))
    return " · ".join(filter(None, (tokens, format_exact_duration(shown.intake_ms), shown.intake_model)))


def _can_show_all_lines(row: ToolRow) -> bool:
    ends = row.original.head_and_tail if row.original is not None else row.shown_lines
    return row.answer.size <= MAX_BYTES and ends.lines <= MAX_LINES


def tool_body(row: ToolRow, tools: ItemTools) -> Box:
    theme = tools.style.theme
    parts: list[Box] = [Text(call_facts(row), 12, "faint")]
    if row.command:
        parts.append(Frame(_command_block(row, tools), (-4, 0, -4, 1)))
    if row.subagent_session and (task := _output(escape_invisible(row.target), tools)):
        parts.append(task)
    outdated = explain_outdated() if row.changed_since else ""
    intro = join_sentences(removed_text(row), outdated, window_state_text(row), form_choice_text(row))
    if intro:
        parts.append(paragraph(escape_invisible(intro), tools, theme.muted, SMALL))
    if row.can_change_form and (row.form_failure or is_cached_whole(row)):
        label = tr("Send all of it")
        icon = "maximize-2"
        if not row.form_failure:
            label = dotted((translate(STATE_WORDS["cached"].verb), format_token_count(row.tokens)))
            icon = "undo-2"
        button = push_button("send_all", SendAll(row.answer_seq), label, icon, high=28)
        parts.append(Frame(Flow([button]), (0, 1, 0, 3)))
    elif row.digest and _BADGE_WORDS.get(row.badge) is STATE_WORDS["folded"]:
        label = tr("Recall into your message")
        button = push_button("recall", Recall(row.digest), label, "corner-down-left", high=28)
        parts.append(Frame(Flow([button]), (0, 1, 0, 3)))
    sections = _section_contents(row)
    for number, (title, ends) in enumerate(sections, 1):
        parts += _section(row, title, ends, tools, is_last=number == len(sections))
    return Frame(Column(parts, 7), (14, 9, 14, 11))


def _section(
    row: ToolRow, title: str, ends: HeadAndTail, tools: ItemTools, *, is_last: bool
) -> Iterator[Box]:
    if title:
        yield Text(title, 12, "muted", 500)
    head = _output(ends.head, tools)
    tail = _output(ends.tail, tools)
    if head is not None:
        yield head
    words = more_lines_text(ends.hidden_lines) or ("" if head is None else tr("Full output"))
    buttons = []
    if ends.hidden_lines and is_last and row.digest and _can_show_all_lines(row):
        action = ReadContent(row.key, in_full=True)
        buttons.append(all_lines_button("card", action, ends.lines))  # as the cache counts them
    if is_last and row.digest:
        yield Frame(card_foot(words, buttons, row.digest), (0, -3, 0, -2))
    elif ends.hidden_lines:
        yield Frame(Text(words, 12, "faint"), (0, 3, 0, 4))
    if tail is not None:
        yield tail


def _command_block(row: ToolRow, tools: ItemTools) -> CodeBlock:
    parts = [tr("Command")]
    if folder := str(row.values.get("folder") or ""):
        parts.append(tr("in {folder}", "where a command runs", folder=escape_invisible(folder)))
    if row.values.get("network") is True:
        parts.append(tr("with network"))
    code = Code(row.command, "sh")
    shown = escape_command(row.command)
    return CodeBlock(tools, code, title=" · ".join(parts), shown=shown)


def _section_contents(row: ToolRow) -> list[tuple[str, HeadAndTail]]:
    original = row.original
    if row.form == "full":
        return [
            ("", original.head_and_tail if original is not None and not original.problem else row.shown_lines)
        ]
    sent = dotted((tr("Sent to the agent"), format_token_count(row.tokens)))
    if original is None:
        return [(sent, row.shown_lines), (tr("Reading the original…"), HeadAndTail())]
    if original.problem:
        problem = translate(join_sentences(tr("Couldn't read the original."), original.problem))
        return [(sent, row.shown_lines), (problem, HeadAndTail())]
    lines = tr.plural(original.head_and_tail.lines, "%n line", "%n lines")
    title = " · ".join((tr("Original output"), lines, format_token_count(original.tokens)))
    return [(sent, row.shown_lines), (title, original.head_and_tail)]


def _output(text: str, tools: ItemTools) -> TextBlock | None:
    cleaned = clean_output(text).rstrip("\n")
    if not cleaned:
        return None
    layout = tools.writer.write_plain(cleaned, mono=True, size=SMALL)
    layout.hang_wrapped_lines(_HANGING * face(SMALL, is_code=True)[1].horizontalAdvance(" "))
    return TextBlock(layout)


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
    status = row.subagent_status
    buttons = list[Box]()
    if row.state == "running":
        label = tr("Stop subagent: {task}", task=name)
        tip = tr("Stop this subagent only. The turn continues with what it has so far.")
        stop = StopCall(row.key.call_id)
        buttons.append(
            push_button("stop:card", stop, tr("Stop"), "circle-stop", label=label, tip=tip, high=27)
        )
    label = tr("Open subagent session: {task}", task=name)
    action = OpenSession(row.subagent_session)
    tip = f"{label}\n{tr('Or double-click the card')}"
    words = tr("Open", "verb: button")
    buttons.append(
        push_button("subagent:card", action, words, "arrow-up-right", label=label, tip=tip, high=27)
    )
    line: Box = Space(grow=True)
    if status is not None:
        line = Drawing((0, 20), partial(_paint_status, row, status), grow=True)
    return Frame(Row([Frame(line, (0, 0, 4, 0), grow=True), *buttons], 8), (14, 2, 12, 9))


def _paint_status(row: ToolRow, status: SubagentProgress, pen: Pen, line: QRectF) -> None:
    glyph, color = _PHASES[status.phase]
    is_running = status.phase in RUNNING_PHASES
    gap = scaled(12)
    small = 12
    pen.write(Icon(glyph, color, turns=glyph == "loader-circle"), line.x(), line)
    left = pen.write(Text(phase_text(status), small, color, 500), line.x() + scaled(24), line) + gap
    # One below the other, the gauges of several begin at one place.
    widest = max(Text(translate(words), small, weight=500).width() for words in RUNNING_PHASES.values())
    share = status.used / status.window if status.window else 0.0  # of its next request; it may pass 1
    ratio = Text(tr("{share} of context", share=format_whole_percent(share)), small, "muted")
    gauge = QRectF(max(left, line.x() + scaled(24) + widest + gap), 0, scaled(46), scaled(5))
    if is_running and status.used and gauge.right() + scaled(7) + ratio.width() <= line.right():
        gauge.moveCenter(QRectF(gauge.x(), line.y(), gauge.width(), line.height()).center())
        radius = gauge.height() / 2
        pen.box(gauge, "seg_free", radius=radius)
        full = max(gauge.height(), gauge.width() * min(1.0, share))
        pen.box(QRectF(gauge.x(), gauge.y(), full, gauge.height()), "accent", radius=radius)
        left = pen.write(ratio, gauge.right() + scaled(7), line) + gap
    room = line.right() - left
    if words := subagent_figures(row, wall_clock_ms(), lambda words: Text(words, small).width() <= room):
        left = pen.write(Text(words, small, "muted"), left, line) + gap
    if is_running and status.current_tool and line.right() - left > scaled(_MIN_TOOL_WIDTH):
        pen.write(Text(escape_invisible(status.current_tool), small, "faint", is_code=True), left, line)


def _auto_run_lines(row: ToolRow) -> list[tuple[str, Box]]:
    """Return lines on what runs by itself, one for each outcome, with their words."""
    capture_id = row.changes.capture if row.changes else ""  # leads to it in the file history
    lines = list[tuple[str, Box]]()
    for outcomes in (("removed",), ("failed",), ("named", "kept")):
        part = [change for change in row.auto_run if change.outcome in outcomes]
        if not part:
            continue
        text = auto_run_texts(part)[0]
        buttons = list[Box]()
        if outcomes != ("failed",):
            is_out = outcomes == ("removed",)
            action = _put(part, capture_id, restore=is_out)
            words = tr("Restore") if is_out else tr("Undo")
            name = f"auto_run:{len(lines)}"
            label = f"{words}: {text}"
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
    dot: str = ""  # the token of a state's color


def has_menu(row: ToolRow) -> bool:
    return bool(row.digest or row.argument_digests or row.subagent_session)


_HIGH = 32  # pixels of the line
_GAP = 8  # pixels between its words
_MIN_TARGET = 120  # pixels that a target keeps beside the words behind it
_MOST_OF_WORD = 0.5  # of the line that one of these words takes
_MAX_TARGET = 200  # characters of a target that are measured: more than a line has room for


class _Bar(Box):
    """The line of a call: verb, target and what is unusual from the left, figures and menu from the right."""

    def __init__(
        self, row: ToolRow, target: str, changes: Button | None, *, is_open: bool, repeats_state: bool
    ) -> None:
        super().__init__()
        self._row = row
        self._changes = changes
        self._repeats_state = repeats_state
        verb = call_words(row)
        figures = figures_text(row)
        is_running = row.state == "running"
        call = f"{verb} {target}".strip()
        self._icon = Icon("loader-circle" if is_running else tool_icon(row.call.name), turns=is_running)
        self.verb = SearchLine(verb, 13, 500)
        self.target = SearchLine(target, 12, is_code=True, is_found=not row.is_target_repeated)
        self._words = [self._word(word) for word in unusual_words(row)]
        self._least_words = min(1, len(self._words))
        if result := "" if is_open else result_text(row):
            self._words.append(Text(result, 12, "muted"))
        self._figures = Text(figures, 12, "faint")
        self._open = self._stop = self._menu = None
        if row.can_open:
            label = (
                tr("Hide output of {call}", call=call) if is_open else tr("Show output of {call}", call=call)
            )
            tip = "\n".join(filter(None, (call_facts(row, figures), window_state_text(row))))
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
        is_dot = self._repeats_state and bool(word.dot)
        tip = word.tip
        text: Box = Text(word.text, 12, word.color, 500, tip=tip, shrink=True)
        lit: Box = Text(word.text, 12, "text", 500, shrink=True)
        if is_dot:
            tip = f"{word.text}\n{tip}"
            text = lit = Frame(Dot(word.dot, 6, tip=tip), (0, 0, 6, 0), least=16)
        elif word.dot:
            text, lit = (Row([Dot(word.dot, 6), each], 5) for each in (text, lit))
        if not word.area:
            return text
        digest = self._row.digest
        tip = "\n".join(filter(None, (tip, tr("Open output: {output}", output=digest))))
        label = tr("Open output: {output}", output=word.text)
        return Button(word.area, OpenOutput(digest), text, label, "words", tip=tip, lit=lit)

    def height(self, width: float) -> float:
        return scaled(_HIGH)

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        gap = scaled(_GAP)
        right = rect.right() - scaled(14)
        if self._open is not None:
            self._open.place(rect)
        for button, room in ((self._changes, gap), (self._stop, scaled(44)), (self._menu, 0)):
            if button is not None:
                right = _place(button, right - button.width(), rect).x() - room
        _place(self._icon, rect.x() + scaled(14), rect)
        left = rect.x() + scaled(38)
        left = _place(self.verb, left, rect, right - left).right() + gap
        most = (right - left) * _MOST_OF_WORD
        words = self._words[:]
        widths = [min(most, word.width()) for word in self._words]
        wide = min(Text(self.target.words[:_MAX_TARGET], 12, is_code=True).width() + 1, right - left)
        wide = wide if self.target.words else 0.0
        least = min(wide, scaled(_MIN_TARGET))
        while len(words) > self._least_words and right - left - sum(widths) - gap * len(words) < least:
            words.pop().place(QRectF())
            widths.pop()
        wide = max(0.0, min(wide, right - left - sum(widths) - gap * len(words)))
        left = _place(self.target, left, rect, wide).right() + (gap if self.target.words else 0)
        for word, width in zip(words, widths, strict=True):
            left = _place(word, left, rect, max(0.0, min(width, right - left))).right() + gap
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
        is_cut_short = self.target.rect.width() < min(scaled(24), self.target.width())
        target = None if is_cut_short else self.target
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
        path = QPainterPath()
        rect = self.rect.adjusted(0, -20 * above, 0, 20 * below)
        path.addRoundedRect(rect, 12, 12)
        pen.qt.save()
        if above or below:
            pen.qt.setClipRect(self.rect, Qt.ClipOperation.IntersectClip)
        pen.qt.fillPath(path, pen.color("raised"))
        pen.qt.restore()
        Frame.paint(self, pen)


class ToolCard(RowItem):
    def __init__(self, row: ToolRow, context: ItemContext, tools: ItemTools) -> None:
        target = bar_target(row)
        is_open = "card" in context.expanded and row.can_open
        changes = None
        notes = list[str]()
        parts: list[Box] = []
        if row.subagent_session:
            parts.append(_subagent_strip(row, target))
        elif is_open and row.state == "running" and row.running_output:
            lines = row.running_output.lines or (tr("no output yet"),)
            output = Column([Text(line, 12, is_code=True) for line in lines], 1)
            parts.append(Frame(output, (14, 8, 14, 8)))
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
        self.bar = _Bar(
            row,
            target,
            changes.figures if changes else None,
            is_open=is_open,
            repeats_state=context.repeats_state,
        )
        above, below = (0 if joined else 4 for joined in context.joins)
        block = _Block(Column([self.bar, *parts], 0), (0, above, 0, below))
        block.joins = context.joins
        super().__init__(row, context, tools, block, notes)
        self._is_running = row.state == "running"

    @property
    def is_busy(self) -> bool:
        return self._is_running


def is_cached_whole(row: ToolRow) -> bool:
    """Return True if a marker stands for an output that was sent whole."""
    return row.badge in ("cached", "repeated") and row.form == "full"


def _state_word(row: ToolRow) -> _Word | None:
    """Return where the output or the arguments of a call are, if they are not in the context as they came."""
    if row.badge not in ("", "in_window", "recalled", "repeated"):
        area = "cache" if row.digest else ""
        tip = window_state_text(row)
        return _Word(badge_text(row.badge), "muted", area, tip, _BADGE_WORDS[row.badge].color)
    if row.arguments_cached:
        cached = STATE_WORDS["cached"]
        return _Word(translate(cached.label), "muted", tip=window_state_text(row), dot=cached.color)
    return None


def has_state_of(row: ToolRow, above: ToolRow) -> bool:
    """Return True if the lines of two calls name the same state."""
    state = _state_word(row)
    other = _state_word(above)
    if state is None or other is None or row.removed_at_ms or above.removed_at_ms:
        return False
    return state.text == other.text


def unusual_words(row: ToolRow) -> list[_Word]:
    words = list[_Word]()
    outcome = outcome_text(row)
    if outcome:
        token = "warn" if row.state in ("approval", "question", "interrupted", "stopped") else "error"
        words.append(_Word(outcome, token, tip=call_facts(row)))
    if row.removed_at_ms:
        words.append(_Word(removed_state_text(), "warn", tip=removed_text(row)))
    elif (state := _state_word(row)) is not None:
        words.append(state)
    words += [_Word(form, "muted", tip=form_choice_text(row)) for form in output_form_texts(row)]
    if row.is_outdated:
        words.append(_Word(translate(OUTDATED), "warn", "outdated", explain_outdated()))
    if row.changes is not None and row.changes.uncovered:
        words.append(_Word(uncovered_text(row.changes.uncovered), "warn"))
    return words
