"""What an open tool card shows below its bar: where the output stands, what the agent saw, the original."""

from __future__ import annotations

from PySide6.QtCore import QRectF

from helix_desktop.domain.translatable_text import TextContext, TranslatableText, join_sentences
from helix_desktop.ui.chat.actions import CopyCode, ReadOriginal
from helix_desktop.ui.chat.items.item import CardPart, ItemTools
from helix_desktop.ui.chat.items.painting import ChatPainter, button_width
from helix_desktop.ui.chat.items.text_and_code_blocks import CodeBlock
from helix_desktop.ui.chat.markdown.parser import Code, Paragraph, Prose, Span
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_texts import STATE_TEXTS, badge_text, figures_text
from helix_desktop.ui.chat.rows.row_types import MAX_BYTES, MAX_LINES, FormChooser, HeadAndTail, ToolRow
from helix_desktop.ui.chat.style import MEDIUM, SMALL, ChatStyle
from helix_desktop.ui.design.safe_text import clean_output, escape_command, escape_invisible
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.kit.intents import ChooseForm, OpenCacheEntry
from helix_desktop.words.direction import dotted
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.rewrite_explanations import STATE_WORDS, explain_changed
from helix_desktop.words.times import format_date
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

_ARGUMENTS_CACHED = text("The arguments of this call were replaced by markers.")
_GLYPHS: dict[type[object], str] = {OpenCacheEntry: "database", ChooseForm: "minimize-2"}
_HANGING = 2  # characters that what goes on of a long line is indented by
_TOO_LARGE = text("Preview: over the size limit.")
_CHOOSER_SENTENCES: dict[FormChooser, TranslatableText] = {
    "rule": _TOO_LARGE,
    "agent": text("The agent chose this form."),
    "timeout": _TOO_LARGE,  # the note says that the agent didn't choose in time
    "user": text("You chose this form."),
}


def window_state_text(row: ToolRow) -> str:
    """Return where the output and the arguments of a call are now, in sentences."""
    output = ""
    if not row.removed_at_ms and row.badge != "" and row.badge != "in_window" and row.badge != "recalled":  # noqa: PLR1714 - mypy narrows so
        output = STATE_WORDS[row.badge].tooltip
    cached = _ARGUMENTS_CACHED if row.arguments_cached else ""
    return translate(join_sentences(output, cached))


def call_facts(row: ToolRow) -> str:
    """Return how a call went, its figures, and where its output is."""
    return dotted((translate(STATE_TEXTS[row.state]), figures_text(row), badge_text(row.badge)))


def removed_text(row: ToolRow) -> str:
    """Return that the user removed the output, and when; empty if not."""
    if not row.removed_at_ms:
        return ""
    return tr("You removed this output as a secret on {day}.", day=format_date(row.removed_at_ms))


def form_choice_text(row: ToolRow) -> str:
    """Who chose the shown form, what was asked for, what it took, and why it is not what was asked for."""
    if row.form == "full" and row.chosen_by == "rule":
        return ""
    if row.has_no_extract:
        chooser = tr("Preview instead of the requested extract.")
    else:
        chooser = translate(_CHOOSER_SENTENCES[row.chosen_by])
    instructions = row.instructions and tr("Instructions: “{instructions}”.", instructions=row.instructions)
    cost = tr("Cost: {cost}.", cost=row.form_cost) if row.form_cost else ""
    return translate(join_sentences(chooser, row.form_note, instructions, cost))


def _can_show_all_lines(row: ToolRow) -> bool:
    ends = row.original.head_and_tail if row.original is not None else row.shown_lines
    return row.size_bytes <= MAX_BYTES and ends.lines <= MAX_LINES


class _OutputSection:
    """A titled stretch of output: its first lines, what is left out, its last lines."""

    def __init__(self, title: str, ends: HeadAndTail, tools: ItemTools) -> None:
        self.title, self.lines, self.hidden_lines = title, ends.lines, ends.hidden_lines
        self.head = _output_layout(ends.head, tools)
        self.tail = _output_layout(ends.tail, tools)
        self.title_rect = QRectF()
        self.gap = QRectF()

    @property
    def texts(self) -> list[TextLayout]:
        return [text for text in (self.head, self.tail) if text is not None]


class ToolBody(CardPart):
    """The inside of one open card."""

    def __init__(self, row: ToolRow, style: ChatStyle, tools: ItemTools) -> None:
        super().__init__(style)
        self._row = row
        self._facts, self._facts_place = call_facts(row), QRectF()
        changed = explain_changed(row.changed_since) if row.changed_since else ""
        intro = join_sentences(removed_text(row), changed, window_state_text(row), form_choice_text(row))
        paragraph = Paragraph((Span(escape_invisible(translate(intro))),))
        muted = tools.style.theme.muted
        self._intro = tools.writer.write_prose(Prose((paragraph,)), muted, SMALL) if intro else None
        self._command = _command_block(row, style, tools)
        task = escape_invisible(row.target) if row.subagent_session else ""
        self._task = _output_layout(task, tools)
        self._sections = [_OutputSection(*content, tools) for content in _section_contents(row)]
        first = [self._command.text] if self._command is not None else []
        first += [layout for layout in (self._task, self._intro) if layout is not None]
        self.texts = [*first, *(text for section in self._sections for text in section.texts)]

    def copy_text(self, number: int) -> str | None:
        """Return the command if the text of that number shows it."""
        is_command = self._command is not None and self._command.text.number == number
        return self._command.source if self._command is not None and is_command else None

    def arrange(self, top: float, width: float) -> float:
        style, self.hit_areas = self._style, []
        self._facts_place = QRectF(style.px(14), top + style.px(7), width - style.px(28), style.px(20))
        y = self._facts_place.bottom() + style.px(5)
        if self._command is not None:
            height = self._command.layout(width - style.px(20))
            self._command.move(style.px(10), y)
            self.hit_areas += self._command.hit_areas()
            y += height + style.px(8)
        for layout in (self._task, self._intro):
            if layout is not None:
                y = self._place(layout, y, width) + style.px(7)
        if self._row.offers_extract and self._row.can_change_form:
            label = tr("Send extract…")
            rect = QRectF(style.px(14), y + style.px(1), button_width(style, label, True), style.px(28))
            action = ChooseForm(self._row.answer_seq, "compact")
            self.hit_areas.append(HitArea("extract:card", action, label, rect, radius=8))
            y += style.px(39)
        for at, section in enumerate(self._sections):
            last = at == len(self._sections) - 1
            y = self._arrange_section(section, y, width, last) + (0 if last else style.px(9))
        return y + style.px(11)

    def _arrange_section(self, section: _OutputSection, y: float, width: float, last: bool) -> float:
        style = self._style
        if section.title:
            section.title_rect = QRectF(style.px(14), y, width - style.px(28), style.px(18))
            y += style.px(22)
        y = self._place(section.head, y, width)
        buttons = last and bool(self._row.digest)
        if buttons or section.hidden_lines:
            y += style.px(6) if section.head is not None else -style.px(4)
            tall = style.px(34 if buttons else 22)
            section.gap = QRectF(style.px(14), y, width - style.px(28), tall)
            if buttons:
                self._place_buttons(section)
            y += tall + style.px(6)
        return self._place(section.tail, y, width)

    def _place(self, text: TextLayout | None, y: float, width: float) -> float:
        if text is None:
            return y
        text.x, text.y = self._style.px(14), y
        return y + text.layout(width - self._style.px(28))

    def _place_buttons(self, section: _OutputSection) -> None:
        style, row = self._style, self._row
        label = tr("Open in cache")
        wide = button_width(style, label, True)
        rect = QRectF(section.gap.right() - wide, section.gap.y() + style.px(3), wide, style.px(28))
        if section.hidden_lines and _can_show_all_lines(row):
            words = tr.plural(section.lines, "Show %n line", "Show all %n lines")  # as the cache counts them
            room = button_width(style, words)
            place = QRectF(rect.x() - style.px(8) - room, rect.y(), room, rect.height())
            if place.x() > section.gap.x() + style.px(60):
                action = ReadOriginal(row.key, row.digest, in_full=True)
                self.hit_areas.append(HitArea("whole:card", action, words, place, radius=8))
        self.hit_areas.append(
            HitArea("cache:open", OpenCacheEntry(row.digest), label, rect, radius=8, tip=row.digest)
        )

    def paint(self, painter: ChatPainter) -> None:
        style, theme = self._style, self._style.theme
        painter.line(self._facts_place, self._facts, style.font(SMALL), theme.faint)
        if self._command is not None:
            self._command.paint(painter)
        for text in self.texts:
            if self._command is None or text is not self._command.text:
                painter.text(text)
        for section in self._sections:
            if section.title:
                font = style.font(SMALL, MEDIUM)
                painter.line(section.title_rect, section.title, font, theme.muted)
            if not section.gap.isNull():
                self._paint_gap(painter, section)
        for area in self.hit_areas:
            if isinstance(area.action, CopyCode):
                continue  # the command has painted it
            glyph = _GLYPHS.get(type(area.action), "")
            painter.button(area, "outline", glyph)

    def _paint_gap(self, painter: ChatPainter, section: _OutputSection) -> None:
        style = self._style
        words = "" if section.head is None else tr("Full output")
        if section.hidden_lines:
            words = tr.plural(section.hidden_lines, "… %n more line", "… %n more lines")
        buttons = (area.rect for area in self.hit_areas if section.gap.contains(area.rect))
        left = min((rect.x() for rect in buttons), default=section.gap.right())
        room = QRectF(section.gap)
        room.setRight(max(room.x(), left - 8))
        painter.line(room, words, style.font(SMALL), style.theme.faint)


def _command_block(row: ToolRow, style: ChatStyle, tools: ItemTools) -> CodeBlock | None:
    """Return the command of a call in a frame of its own, below its folder and network; None without one."""
    if row.command is None:
        return None
    parts = [tr("Command")]
    if row.command.folder:
        parts.append(tr("in {folder}", "where a command runs", folder=escape_invisible(row.command.folder)))
    if row.command.network:
        parts.append(tr("with network"))
    code, shown = Code(row.command.text, "sh"), escape_command(row.command.text)
    return CodeBlock(tools.writer, style, code, tools.highlighter, title=" · ".join(parts), shown=shown)


def _section_contents(row: ToolRow) -> list[tuple[str, HeadAndTail]]:
    """Title and lines of each stretch that a card shows."""
    original = row.original
    if row.form == "full":
        return [
            ("", original.head_and_tail if original is not None and not original.problem else row.shown_lines)
        ]
    is_extract = row.form == "compact"
    sent = tr("Extract sent to the agent") if is_extract else tr("Preview sent to the agent")
    sent = f"{sent} · {format_token_count(row.tokens)}"
    if original is None:
        return [(sent, row.shown_lines), (tr("Reading the original from the cache…"), HeadAndTail())]
    if original.problem:
        problem = translate(join_sentences(tr("Couldn't read the original."), original.problem))
        return [(sent, row.shown_lines), (problem, HeadAndTail())]
    lines = tr.plural(original.head_and_tail.lines, "%n line", "%n lines")
    title = " · ".join((tr("Original output"), lines, format_token_count(original.tokens)))
    return [(sent, row.shown_lines), (title, original.head_and_tail)]


def _output_layout(text: str, tools: ItemTools) -> TextLayout | None:
    cleaned = clean_output(text).rstrip("\n")
    if not cleaned:
        return None
    layout = tools.writer.write_plain(cleaned, mono=True, size=SMALL)
    layout.wrap_at_words()
    layout.hang_wrapped_lines(_HANGING * tools.style.width(" ", tools.style.font(SMALL, mono=True)))
    return layout
