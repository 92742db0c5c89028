"""What cards show of outputs: where one stands, what the agent saw, the original; and excerpts."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from helix_desktop.domain.tools import Excerpt
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, join_sentences
from helix_desktop.ui.chat.actions import ReadExcerpt, ReadOriginal, ToggleSection
from helix_desktop.ui.chat.items.item import CodeBlock, ItemContext, ItemTools, TextBlock, paragraph
from helix_desktop.ui.chat.markdown.parser import Code
from helix_desktop.ui.chat.rows.row_texts import (
    STATE_TEXTS,
    badge_text,
    excerpt_source,
    excerpt_title,
    figures_text,
)
from helix_desktop.ui.chat.rows.row_types import (
    MAX_BYTES,
    MAX_LINES,
    ExcerptContent,
    FormChooser,
    HeadAndTail,
    ShellCommand,
    ToolRow,
)
from helix_desktop.ui.chat.style import SMALL
from helix_desktop.ui.design.mirror import turn_back
from helix_desktop.ui.design.safe_text import clean_output, escape_command, escape_invisible
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Column,
    Flow,
    Frame,
    Icon,
    Pen,
    Row,
    Text,
    face,
    push_button,
)
from helix_desktop.ui.kit.intents import ChooseForm, OpenCacheEntry
from helix_desktop.words.direction import dotted
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.rewrite_explanations import STATE_WORDS, explain_changed
from helix_desktop.words.times import format_date
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

_WAS_IN_PART = text("Before that, the model got only a part of it.")
_ARGUMENTS_CACHED = text("The arguments of this call were replaced by markers.")
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
        if row.badge == "cached" and row.form != "full":
            output = join_sentences(output, _WAS_IN_PART)
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


def tool_body(row: ToolRow, tools: ItemTools) -> Box:
    """Return the inside of one open card."""
    theme = tools.style.theme
    parts: list[Box] = [Text(call_facts(row), 12, "faint")]
    if row.command is not None:
        parts.append(Frame(_command_block(row.command, tools), (-4, 0, -4, 1)))
    if row.subagent_session and (task := _output(escape_invisible(row.target), tools)):
        parts.append(task)
    changed = explain_changed(row.changed_since) if row.changed_since else ""
    intro = join_sentences(removed_text(row), changed, window_state_text(row), form_choice_text(row))
    if intro:
        parts.append(paragraph(escape_invisible(translate(intro)), tools, theme.muted, SMALL))
    if row.offers_extract and row.can_change_form:
        action, label = ChooseForm(row.answer_seq, "compact"), tr("Send extract…")
        button = push_button("extract:card", action, label, "minimize-2", high=28)
        parts.append(Frame(Flow([button]), (0, 1, 0, 3)))
    sections = _section_contents(row)
    for number, (title, ends) in enumerate(sections, 1):
        parts += _section(row, title, ends, tools, is_last=number == len(sections))
    return Frame(Column(parts, 7), (14, 9, 14, 11))


def _section(
    row: ToolRow, title: str, ends: HeadAndTail, tools: ItemTools, *, is_last: bool
) -> Iterator[Box]:
    """Yield a stretch of output: its title, its first lines, what is left out, its last lines."""
    if title:
        yield Text(title, 12, "muted", 500)
    head, tail = _output(ends.head, tools), _output(ends.tail, tools)
    if head is not None:
        yield head
    words = "" if head is None else tr("Full output")
    if ends.hidden_lines:
        words = tr.plural(ends.hidden_lines, "… %n more line", "… %n more lines")
    buttons = []
    if ends.hidden_lines and is_last and row.digest and _can_show_all_lines(row):
        label = tr.plural(ends.lines, "Show %n line", "Show all %n lines")  # as the cache counts them
        action = ReadOriginal(row.key, row.digest, in_full=True)
        buttons.append(push_button("whole:card", action, label, high=28))
    if is_last and row.digest:
        yield Frame(card_foot(words, buttons, row.digest), (0, -3, 0, -2))
    elif ends.hidden_lines:
        yield Frame(Text(words, 12, "faint"), (0, 3, 0, 4))
    if tail is not None:
        yield tail


def _command_block(command: ShellCommand, tools: ItemTools) -> CodeBlock:
    """Return the command of a call in a frame of its own, below its folder and network."""
    parts = [tr("Command")]
    if command.folder:
        parts.append(tr("in {folder}", "where a command runs", folder=escape_invisible(command.folder)))
    if command.network:
        parts.append(tr("with network"))
    code, shown = Code(command.text, "sh"), escape_command(command.text)
    return CodeBlock(tools, code, title=" · ".join(parts), shown=shown)


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


def _output(text: str, tools: ItemTools) -> TextBlock | None:
    cleaned = clean_output(text).rstrip("\n")
    if not cleaned:
        return None
    layout = tools.writer.write_plain(cleaned, mono=True, size=SMALL)
    layout.wrap_at_words()
    layout.hang_wrapped_lines(_HANGING * face(SMALL, is_code=True)[1].horizontalAdvance(" "))
    return TextBlock(layout)


_MAX_IMAGE_HEIGHT = 560  # pixels


class _Image(Box):
    """An image, no larger than it is and than there is room for."""

    def __init__(self, image: QImage) -> None:
        super().__init__()
        self._image = image

    def _factor(self, width: float) -> float:
        return min(1.0, width / self._image.width(), scaled(_MAX_IMAGE_HEIGHT) / self._image.height())

    def height(self, width: float) -> float:
        return self._image.height() * self._factor(width)

    def paint(self, pen: Pen) -> None:
        wide = self._image.width() * self._factor(self.rect.width())
        place = QRectF(self.rect.x(), self.rect.y(), wide, self.rect.height())
        pen.qt.save()
        pen.qt.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        turn_back(pen.qt, place)
        pen.qt.drawImage(place, self._image)
        pen.qt.restore()


def excerpt_card(row: ToolRow, excerpt: Excerpt, context: ItemContext, tools: ItemTools) -> Box:
    content = row.excerpt_content or ExcerptContent()
    is_open = ("card" in context.expanded) != row.starts_open
    title, source = map(escape_invisible, (excerpt_title(excerpt), excerpt_source(excerpt)))
    label = tr("Hide {title}", title=title) if is_open else tr("Show {title}", title=title)
    words = [
        Icon("eye", "accent"),
        Text(title, 13, "text", 600, shrink=True),
        Text(source, 12, "muted", is_code=True, grow=True, shrink=True),
        Icon("chevron-down" if is_open else "chevron-right", "faint"),
    ]
    head = Button("open:card", ToggleSection("card"), Frame(Row(words, 9), (14, 0, 14, 0)), label, high=40)
    head.look = "words" if is_open else "card"
    parts: list[Box] = []
    if is_open and content.text:
        info = "" if " " in excerpt.target else excerpt.target
        parts.append(CodeBlock(tools, Code(content.text, info)))
    if is_open and content.image is not None:
        parts.append(_Image(content.image))
    if is_open:
        parts.append(_foot(row, excerpt, content))
    body = [Frame(Column(parts, 4), (12, 0, 12, 0))] if parts else []
    return Frame(Column([head, *body], 0), (0, 0, 0, 0), "surface", "border", radius=10)


def _foot(row: ToolRow, excerpt: Excerpt, content: ExcerptContent) -> Box:
    """Return what is not in the card: a problem, or lines that are left out; and buttons."""
    words = content.problem
    if row.excerpt_content is None:
        words = tr("Reading from the cache…")
    elif content.hidden_lines and not words:
        words = tr.plural(content.hidden_lines, "… %n more line", "… %n more lines")
    buttons = []
    if content.can_show_more:
        label = tr.plural(excerpt.lines, "Show %n line", "Show all %n lines")
        buttons.append(push_button("whole:card", ReadExcerpt(row.key, excerpt, in_full=True), label, high=28))
    return card_foot(words, buttons, excerpt.digest)


def card_foot(words: str, buttons: list[Button], digest: str = "") -> Box:
    """Return the last line of a card: a note, and buttons, one of them for its content in the cache."""
    if digest:
        label = tr("Open in cache")
        buttons.append(
            push_button("cache:open", OpenCacheEntry(digest), label, "database", tip=digest, high=28)
        )
    note = Text(words, 12, "faint", grow=True, shrink=True)
    return Frame(Row([note, Flow(buttons, 8, is_at_end=True)], 8), (0, 5, 0, 7))
