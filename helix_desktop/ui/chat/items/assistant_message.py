"""An answer of the model: a head, the thoughts, and a text that is built only near the viewport."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QLinearGradient, QPainter

from helix_desktop.ui.chat.actions import ToggleSection
from helix_desktop.ui.chat.items.item import (
    BlockStack,
    CodeBlock,
    ItemContext,
    ItemTools,
    RowItem,
    TextBlock,
    code_label,
    paragraph,
    source_of,
)
from helix_desktop.ui.chat.items.program_rows import quoted
from helix_desktop.ui.chat.markdown.parser import Block, Code, DisplayedFormula, TopLevelBlock
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown, MarkdownSection, MarkdownStream
from helix_desktop.ui.chat.markdown.text_layout import TextLayout, text_of_block, text_of_layout
from helix_desktop.ui.chat.rows.row_texts import text_of_row
from helix_desktop.ui.chat.rows.row_types import AssistantRow
from helix_desktop.ui.chat.rows.row_types import Row as ChatRow
from helix_desktop.ui.chat.style import BODY, BOTTOM_GAP, CODE, MAX_COLUMN_WIDTH
from helix_desktop.ui.design.highlight import SharedLexer
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Column,
    Drawing,
    Flow,
    Frame,
    Icon,
    PaintState,
    Pen,
    Pill,
    Row,
    Text,
)
from helix_desktop.ui.rows.item import BlockText
from helix_desktop.words.lines import dotted
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.times import format_elapsed, format_moment
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

TEXTS_PER_SECTION = 1 << 20  # numbers of texts that each section has for itself
_OPEN_SECTIONS = 2  # at the end of an answer that still grows: what arrives may change them
MAX_TAKEN_CHARS = 4_096  # of an answer, from one frame to the next; models write a tenth of that
MAX_GROWING_CHARS = 200_000  # of an answer that still arrives

HEADER_HEIGHT = 26  # height of the head, pixels at zoom 1
WAITING_HEIGHT = 24.0  # height of what stands for the words that have not come, pixels at zoom 1
_SILENT_S = 10  # of an answer, between two texts; until then it comes in pieces
_LONG_WAIT_S = 60  # for the first text, before the user is told what can be done


def _header(row: AssistantRow, names_model: bool) -> Box:
    parts: list[Box] = []
    if names_model:
        parts.append(Text(row.model or tr("Assistant"), 13, "text", 600, shrink=True))
    if row.side_note:
        parts.append(Pill(row.side_note, icon="message-square", high=19, shrink=True))
    if row.at_ms:
        words = dotted((format_moment(row.at_ms), row.context_note))
        parts.append(Text(words, 12, "faint", shrink=True))
    return Row(
        [Drawing((HEADER_HEIGHT, HEADER_HEIGHT), _paint_sign), Row(parts, 9, grow=True, shrink=True)], 10
    )


def _paint_sign(pen: Pen, rect: QRectF) -> None:
    shade = QLinearGradient(rect.topLeft(), rect.bottomRight())
    shade.setColorAt(0, pen.color("seg_fixed"))
    shade.setColorAt(1, pen.color("seg_turn"))
    pen.qt.setPen(Qt.PenStyle.NoPen)
    pen.qt.setBrush(shade)
    pen.qt.drawRoundedRect(rect, 8, 8)
    icon = Icon("sparkles", "on_accent", 14)
    pen.write(icon, rect.x() + (rect.width() - icon.width()) / 2, rect)


def _paint_waiting(pen: Pen, room: QRectF, words: str) -> None:
    """Draw three dots, one of them lit, while no words come; and how long that is."""
    for dot in range(3):
        color = "accent" if pen.state.tick // 3 % 3 == dot else "border_strong"
        side = scaled(6)
        pen.box(QRectF(2 + dot * scaled(11), room.y() + scaled(9), side, side), color, radius=side / 2)
    pen.write(Text(words, 12, "muted"), scaled(44), room)


def waiting_text(since_ms: int) -> str:
    """Return for how long the model is silent, since a time in milliseconds since 1970; empty for 0."""
    if not since_ms:
        return ""
    waited_s = int(time.time() - since_ms / 1000)
    if waited_s >= _LONG_WAIT_S:
        return tr("No answer from the model for {time}. Wait, or stop it.", time=format_elapsed(waited_s))
    return tr("Waiting for the model… {time}", time=format_elapsed(waited_s))


def silence_text(silent_s: float) -> str:
    """Return for how many seconds no more of an answer came; empty while that is nothing unusual."""
    return tr("Last text {time} ago", time=format_elapsed(int(silent_s))) if silent_s >= _SILENT_S else ""


class _GrowingSection(BlockStack):
    """What arrives of an answer: only what more text may still change is built again; open code grows."""

    def __init__(self, tools: ItemTools, number: int, text: str, references: dict[str, Any]) -> None:
        super().__init__(tools, number * TEXTS_PER_SECTION)
        self._stream = MarkdownStream(references)
        self._frozen_chunks = self._frozen_parts = 0
        self._fence: CodeBlock | None = None
        self.append(text)

    @property
    def is_provisional(self) -> bool:
        """Return True if it may look otherwise once the text is whole: links are defined, or it is plain."""
        return self._stream.has_references or self._stream.is_plain

    def append(self, delta: str) -> None:
        stream = self._stream
        stream.feed(delta)
        fresh = stream.frozen[self._frozen_chunks :]
        if fresh and self._fence is not None and isinstance(fresh[0].blocks[0], Code):
            self._fence.finish(fresh[0].blocks[0].text)
            self._fence = None
            fresh = fresh[1:]
            self._frozen_parts += 1
        if self._fence is None:
            self.truncate(self._frozen_parts)
            self._append_blocks(fresh)
            self._frozen_parts = len(self.blocks)
            self._append_blocks(stream.open)
        self._frozen_chunks = len(stream.frozen)
        if (fence := stream.fence) is None:
            return
        if self._fence is None:
            code = Code("", fence.info)
            self._fence = CodeBlock(self._tools, code)
            self.add(code, self._fence)
        self._fence.extend(fence.lines[self._fence.complete_lines :], fence.partial)

    def finish(self) -> None:
        if self._fence is not None and self._stream.fence is not None:
            self._fence.finish(self._stream.fence.text())

    def _append_blocks(self, chunks: Sequence[TopLevelBlock]) -> None:
        for chunk in chunks:
            for block in chunk.blocks:
                self.add(block)


class AssistantMessageItem(RowItem):
    """Markdown under a head with the model's name, the thoughts folded above it, with the text number -1.

    The text is sections, which are parsed and built on demand; the last one grows while the answer arrives.
    """

    def __init__(
        self, row: AssistantRow, context: ItemContext, tools: ItemTools, markdown: LazyMarkdown | None = None
    ) -> None:
        """`markdown` is what a previous item has parsed already, of this text or of another."""
        super().__init__(row, context, tools)
        if markdown is None or markdown.source != row.text:
            markdown = LazyMarkdown(row.text)
        self._row = row
        self._tools = tools
        self._markdown = markdown
        sources = self._sections = markdown.sections[: -_OPEN_SECTIONS if row.streaming else None]
        self._built: dict[int, BlockStack] = {}  # sections by their place in the text
        self._wrapped_fences = {
            source.fence for source in sources if source.joiner == "" and source.kind == "code"
        }
        self._lexers: dict[tuple[int, int], SharedLexer] = {}  # cut code is colored as one
        self._next_unread = 0  # all sections before this one are read
        self._tail: _GrowingSection | None = None
        self._taken_chars = len(row.text)
        if row.streaming:
            rest = markdown.sections[len(sources) :]
            at = len(sources)
            text = markdown.text[rest[0].start :] if rest else ""
            self._tail = _GrowingSection(tools, at, text, markdown.references)
            self._tail.block_above = self._block_above(at)
            self._sections = [*sources, MarkdownSection("markdown", 0, 0)]
            self._built[at] = self._tail
        self._heights = [0.0] * len(self._sections)  # estimated until a section is laid out for a width
        self._tops = [0.0, *self._heights]  # of the sections, and the end of the last one
        self._thoughts_text: TextBlock | None = None
        if "thoughts" in context.expanded and row.reasoning:
            self._thoughts_text = paragraph(row.reasoning, tools, tools.style.theme.muted)
            self._thoughts_text.text.number = -1
        self._thoughts = Box()
        self._built_texts: list[TextLayout] | None = None
        self._grew_at_s = time.monotonic()

    @property
    def is_busy(self) -> bool:
        return self._row.streaming

    @property
    def is_behind(self) -> bool:
        """Whether `try_update` with the same row shows more of it."""
        return self._taken_chars < min(len(self._row.text), MAX_GROWING_CHARS)

    def try_update(self, row: AssistantRow) -> bool:
        """Show a later state of the same answer by rendering only what is new; False when that cannot be.

        The window does not wait for very much text: a part of it is shown now, and what stands behind the
        first 200,000 characters once the answer has ended.
        """
        before = self._row
        tail = self._tail
        is_later = before.streaming and row.text.startswith(before.text) and row.reasoning == before.reasoning
        if tail is None or not is_later:
            return False
        room = max(0, MAX_GROWING_CHARS - self._taken_chars)
        taken_chars = min(len(row.text), self._taken_chars + min(room, MAX_TAKEN_CHARS))
        if not row.streaming:
            if tail.is_provisional or self._markdown.references.get("references"):
                return False
            if taken_chars < len(row.text):  # the whole is built near the viewport only
                return False

        if len(row.text) > len(before.text):
            self._grew_at_s = time.monotonic()
        if taken_chars > self._taken_chars:
            tail.append(row.text[self._taken_chars : taken_chars])
            self._taken_chars = taken_chars
        self._row = self.row = row
        if not row.streaming:
            tail.finish()
        if self.width:
            self._build_section(len(self._sections) - 1)
        self._place_again()
        return True

    @property
    def texts(self) -> Sequence[TextLayout]:
        self.build(0.0, float("inf"), float("inf"))
        return self.built_texts

    @property
    def built_texts(self) -> list[TextLayout]:
        if self._built_texts is None:
            thoughts = [self._thoughts_text] if self._thoughts_text is not None else []
            parts = (part for section in self._ready_sections() for part in section.blocks)
            self._built_texts = [part.text for part in (*thoughts, *parts)]
        return self._built_texts

    def text(self, number: int) -> TextLayout:
        if number < 0 and self._thoughts_text is not None:
            return self._thoughts_text.text
        at, part = divmod(number, TEXTS_PER_SECTION)
        if not self._is_ready(at):
            self._build_section(at)
            self._place_again()
        return self._built[at].blocks[part].text

    def block_texts(self) -> Iterator[BlockText]:
        if self._thoughts_text is not None:
            yield text_of_layout(self._thoughts_text.text)
        for at, source in enumerate(self._sections):
            if at in self._built:
                yield from (text_of_layout(part.text) for part in self._built[at].blocks)
                continue
            joiner = source.joiner
            for number, block in enumerate(self._markdown.blocks(at), at * TEXTS_PER_SECTION):
                yield text_of_block(block, number, joiner)
                joiner = None

    def edge_text(self, *, last: bool) -> int | None:
        thoughts = -1 if self._thoughts_text is not None else None
        if thoughts is not None and not last:
            return thoughts
        order = range(len(self._sections))
        for at in reversed(order) if last else order:
            if count := len(self._blocks(at)):
                return at * TEXTS_PER_SECTION + (count - 1 if last else 0)
        return thoughts

    def _blocks(self, at: int) -> Sequence[Block]:
        return self._built[at].markdown_blocks if at in self._built else self._markdown.blocks(at)

    def _block_above(self, at: int) -> Block | None:
        blocks = (self._blocks(above) for above in range(at - 1, -1, -1))
        return next((above[-1] for above in blocks if above), None)

    def _sections_between(self, top: float, bottom: float) -> range:
        """Return the sections between two heights; when there are none, it starts where they would be."""
        first = max(0, bisect_right(self._tops, top) - 1)
        return range(first, min(len(self._sections), bisect_left(self._tops, bottom)))

    def _is_ready(self, at: int) -> bool:
        return at in self._built and self._built[at].rect.width() == self.width

    def _ready_sections(self) -> Iterator[BlockStack]:
        return (self._built[at] for at in sorted(self._built) if self._is_ready(at))

    def scroll_anchor(self, top: float, bottom: float, *, at_end: bool) -> int:
        """Return what must stay still while sections between two heights are built: the first text in sight.

        When none is built, the end of all if `at_end`, else what stands at the top.
        """
        span = self._sections_between(top, bottom)
        at_top = len(self._sections) if at_end else min(span.start, len(self._sections))
        return next((at for at in span if self._is_ready(at) and self._has_text(at, top, bottom)), at_top)

    def _has_text(self, at: int, top: float, bottom: float) -> bool:
        texts = (part.text for part in self._built[at].blocks)
        return any(text.y < bottom and text.y + text.height > top for text in texts)

    def anchor_top(self, anchor: int) -> float:
        return self._tops[anchor]

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        if not self.width:
            self.layout(float(MAX_COLUMN_WIDTH))
        waiting = [at for at in self._sections_between(top, bottom) if not self._is_ready(at)]
        done = 0
        for at in reversed(waiting) if upwards else waiting:
            if time.perf_counter() > deadline:
                break
            self._build_section(at)
            done += 1
        if done:
            self._place_again()
        return done == len(waiting)

    def build_hit_area(self, top: float, bottom: float, *, forward: bool) -> None:
        order = self._sections_between(top, bottom)
        for at in order if forward else reversed(order):
            if not self._is_ready(at) and any(
                isinstance(block, Code | DisplayedFormula) for block in self._blocks(at)
            ):
                self._build_section(at)
                if self._built[at].areas:
                    break
        self._place_again()

    def read_ahead(self, deadline: float) -> bool:
        """Read, but not build, on from where it was left; True when all is read."""
        while self._next_unread < len(self._sections):
            if time.perf_counter() > deadline:
                return False
            self._blocks(self._next_unread)
            self._next_unread += 1
        return True

    def lazy_markdown(self) -> LazyMarkdown:
        """Return the text as far as it is read, and the heights that are known, for another look."""
        heights = self._heights if self.width else []
        self._markdown.heights = [height / self.style.zoom for height in heights]
        return self._markdown

    def copy_text(self, number: int) -> str | None:
        at = number // TEXTS_PER_SECTION
        source = self._sections[at]
        if source.kind == "code":
            return self._markdown.text[slice(*source.fence)]
        return source_of(self._built[at].blocks, number) if at in self._built else None

    def _build_section(self, at: int) -> None:
        """Build a section and lay it out for the current width; the sections below it do not move yet."""
        section = self._built.get(at)
        source = self._sections[at]
        if section is None:
            section = BlockStack(self._tools, at * TEXTS_PER_SECTION)
            for block in self._markdown.blocks(at):
                if isinstance(block, Code) and (source.continues_above or source.continues_below):
                    code = CodeBlock(self._tools, block, source, self._lexer_of(source, block))
                    section.add(block, code)
                else:
                    section.add(block)
            if section.blocks:
                section.blocks[0].text.joiner = source.joiner
                section.block_above = self._block_above(at) if source.joiner is None else None
            self._built[at] = section
        self._heights[at] = section.arrange(0, self._tops[at], self.width)

    def _lexer_of(self, section: MarkdownSection, code: Code) -> SharedLexer | None:
        start, end = section.fence
        if section.fence not in self._wrapped_fences and section.fence not in self._lexers:
            lexer = SharedLexer(self._markdown.text[start:end], code_label(code.info)[1])
            self._lexers[section.fence] = lexer
        return self._lexers.get(section.fence)

    def _estimate_height(self, at: int) -> float:
        """Return a likely height: lines by the mean width of a letter."""
        source = self._sections[at]
        style = self.style
        if at in self._built and (before := self._built[at].rect).width():
            return before.height() * (1.0 if source.kind == "code" else before.width() / self.width)
        chars = source.end - source.start
        if source.kind == "line":
            return chars * style.px(BODY) * 0.49 / self.width * style.px(24)
        if source.kind == "code":
            wraps = chars * style.px(CODE) * 0.6 / max(1.0, self.width - style.px(28))
            return max(source.lines, wraps) * style.px(CODE) * 1.5 + (
                0 if source.continues_above else style.px(50)
            )
        lines = self._markdown.text.count("\n", source.start, source.end)
        return chars * style.px(BODY) * 0.49 / self.width * style.px(24) + lines * style.px(9) + style.px(16)

    def _arrange(self, width: float) -> float:
        heights = self._markdown.heights
        self._markdown.heights = []
        if len(heights) == len(self._sections):
            self._heights = [self.style.px(height) for height in heights]
        else:
            self._heights = [self._estimate_height(at) for at in range(len(self._sections))]
        if self._tail is not None:
            self._build_section(len(self._sections) - 1)
        return self._place()

    def _place_again(self) -> None:
        self._built_texts = None
        if self.width:
            self.height = self._place()

    def _place(self) -> float:
        """Place all below each other, and return the height; only what is built has parts to be moved."""
        style = self.style
        row = self._row
        has_text = bool(self._sections)
        if self._tail is not None:
            has_text = len(self._sections) > 1 or bool(self._tail.blocks)
        y = 0.0
        if self.context.shows_header:  # without text, it is that of the calls below
            y = style.px(HEADER_HEIGHT + (8 if has_text or row.streaming else 0))
        if row.reasoning:
            self._thoughts = self._thoughts_box(has_answer=has_text or not row.streaming)
            tall = self._thoughts.height(self.width)
            self._thoughts.place(QRectF(0, y, self.width, tall))
            y += tall
        self._built_texts = None
        self._tops = [*accumulate(self._heights, initial=y)]
        for at, section in self._built.items():
            if self._is_ready(at) and section.rect.y() != self._tops[at]:
                section.arrange(0, self._tops[at], self.width)
        y = self._tops[-1]
        thoughts = [area for box in self._thoughts.parts() for area in box.areas]
        self.hit_areas = [*thoughts, *(area for ready in self._ready_sections() for area in ready.areas)]
        self.room_below = min(BOTTOM_GAP, style.px(WAITING_HEIGHT)) if row.streaming else 0.0
        if row.streaming:
            y += style.px(WAITING_HEIGHT) - self.room_below
        return max(y, style.px(8))

    def _thoughts_box(self, *, has_answer: bool) -> Box:
        label = tr("Thinking…")
        if has_answer:
            words = len(self._row.reasoning.split())
            label = tr.plural(words, "Thinking · %n word", "Thinking · %n words")
        sign = "chevron-right" if self._thoughts_text is None else "chevron-down"
        content = Row([Icon(sign, "faint", 14), Text(label, 12, "muted", 500)], 5)
        line = Button("open:thoughts", ToggleSection("thoughts"), content, label, "fold", high=24)
        parts: list[Box] = [Frame(Flow([line]), (0, 0, 0, scaled(4)))]
        if self._thoughts_text is not None:
            parts.append(Frame(quoted(self._thoughts_text), (0, 2, 0, scaled(14) - 2)))
        return Column(parts, 0)

    def paint(self, painter: QPainter, state: PaintState) -> None:
        pen = Pen(painter, self.style.theme, state)
        if self.context.shows_header:
            header = _header(self._row, self.context.names_model)
            pen.write(header, 0, QRectF(0, 0, self.width, self.style.px(HEADER_HEIGHT)))
        self._thoughts.paint(pen)
        for at in self._sections_between(state.clip.top(), state.clip.bottom()):
            if self._is_ready(at):
                self._built[at].paint(pen)
        if self._row.streaming:
            self._paint_arrival(pen)
        self.paint_focus(pen)

    def _paint_arrival(self, pen: Pen) -> None:
        parts = self._tail.blocks if self._tail is not None else []
        words = waiting_text(self._row.waiting_since_ms)
        if parts:
            pen.fill(parts[-1].text.caret_rect(self.style.px(BODY + 2)), "accent")
            words = silence_text(time.monotonic() - self._grew_at_s) or self._unshown_text()
        if words or not parts:
            room = QRectF(0, self._tops[-1], self.width, self.style.px(WAITING_HEIGHT))
            _paint_waiting(pen, room, words)

    def _unshown_text(self) -> str:
        unshown = len(self._row.text) - self._taken_chars
        if self.is_behind or not unshown:
            return ""
        count = format_integer(unshown)
        return tr("{count} more characters, shown when the answer ends", count=count)


class PlainRowItem(AssistantMessageItem):
    """The words of a row below a line that says why they look like that.

    What the row offers to click is gone with its looks; the rest of the window offers the same.
    """

    def __init__(self, row: ChatRow, context: ItemContext, tools: ItemTools) -> None:
        text = text_of_row(row)
        super().__init__(AssistantRow(row.key, text), context, tools, LazyMarkdown(text, is_plain=True))
        self.row = row

    def try_update(self, row: AssistantRow) -> bool:
        return False
