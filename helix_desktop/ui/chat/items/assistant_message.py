"""An answer of the model: a head, the thoughts, and a text that is built only near the viewport."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import Any

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QLinearGradient, QPainter

from helix_desktop.ui.chat.actions import ToggleSection
from helix_desktop.ui.chat.items.dividers_and_notices import quoted
from helix_desktop.ui.chat.items.item import (
    BlockStack,
    CodeBlock,
    CodeSplit,
    ItemContext,
    ItemTools,
    RowItem,
    TextBlock,
    code_label,
    gap_before,
    make_block,
    paragraph,
)
from helix_desktop.ui.chat.markdown.parser import Block, Code, DisplayedFormula, TopLevelBlock
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown, MarkdownSection, MarkdownStream
from helix_desktop.ui.chat.markdown.text_layout import TextLayout, text_of_block, text_of_layout
from helix_desktop.ui.chat.rows.row_texts import text_of_row
from helix_desktop.ui.chat.rows.row_types import AssistantRow
from helix_desktop.ui.chat.rows.row_types import Row as ChatRow
from helix_desktop.ui.chat.style import BODY, BOTTOM_GAP, CODE, MAX_COLUMN_WIDTH, ChatStyle
from helix_desktop.ui.design.highlight import SharedLexer
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Drawing,
    HitArea,
    Icon,
    PaintState,
    Pen,
    Pill,
    Row,
    Text,
)
from helix_desktop.ui.rows.item import BlockText
from helix_desktop.words.direction import dotted
from helix_desktop.words.times import format_elapsed, format_moment
from helix_desktop.words.translation import Translator

TEXTS_PER_SECTION = 1 << 20  # numbers of texts that each section has for itself


class LazySection:
    """One section, with the parts that it is built into, laid out for a width."""

    __slots__ = ("built", "height", "parts", "section", "top", "tops", "width")

    def __init__(self, section: MarkdownSection) -> None:
        self.section = section
        self.parts: list[TextBlock] = []
        self.built = False
        self.width = 0.0  # that the parts are laid out for
        self.height = 0.0
        self.tops: list[float] = []  # of the parts, below the section's top
        self.top = 0.0

    def layout(
        self, markdown_blocks: tuple[Block, ...], previous: Block | None, width: float, style: ChatStyle
    ) -> None:
        """Lay the parts of these blocks out for a width, below a block of the section above."""
        self.tops, y = [], 0.0
        for block, part in zip(markdown_blocks, self.parts, strict=True):
            joined = self.section.joiner is not None
            y += 0.0 if joined else style.px(gap_before(block, previous))
            self.tops.append(y)
            y += part.layout(width)
            previous = block
        self.width, self.height = width, y

    def move(self, x: float) -> None:
        for part, top in zip(self.parts, self.tops, strict=True):
            part.move(x, self.top + top)


class LazyText:
    """Sections from top to bottom, parsed and built on demand; all measures in pixels of the item."""

    def __init__(self, markdown: LazyMarkdown, tools: ItemTools, omit_last: int = 0) -> None:
        """Take a text without its last `omit_last` sections, which stay in `remaining_text`."""
        self._markdown = markdown
        sections = markdown.sections
        stacked = sections[: max(0, len(sections) - omit_last)] if omit_last else sections
        self.remaining_text = (
            markdown.text[sections[len(stacked)].start :] if len(stacked) < len(sections) else ""
        )
        self._style = tools.style
        self._sections = [LazySection(section) for section in stacked]
        self._tops: list[float] = [0.0]
        self._x = 0.0
        self._width = 0.0
        self._built: list[int] = []  # in order
        self._tools = tools
        self._wrapped_fences = {
            section.fence for section in stacked if section.joiner == "" and section.kind == "code"
        }
        self._lexers: dict[tuple[int, int], SharedLexer] = {}  # cut code is colored as one
        self._next_unread = 0  # all sections before this one are read

    def __len__(self) -> int:
        return len(self._sections)

    @property
    def references(self) -> dict[str, Any]:
        return self._markdown.references

    @property
    def has_references(self) -> bool:
        return bool(self._markdown.references.get("references"))

    @property
    def bottom(self) -> float:
        return self._tops[-1]

    def arrange(self, x: float, y: float, width: float) -> float:
        """Stand below a point for a width; nothing is built or laid out again. The bottom."""
        if (x, y, width) == (self._x, self._tops[0], self._width):
            return self.bottom
        if width != self._width:
            self._width = width
            previous, self._markdown.heights = self._markdown.heights, []
            is_unchanged = len(previous) == len(self._sections)
            for at, lazy_section in enumerate(self._sections):
                lazy_section.height = (
                    self._style.px(previous[at]) if is_unchanged else self._estimate_height(lazy_section)
                )
        self._x = x
        self._position_below(y)
        return self.bottom

    def restack(self) -> None:
        """Let sections follow those above them whose heights have changed."""
        self._position_below(self._tops[0])

    def sections_between(self, top: float, bottom: float) -> range:
        """Return the sections between two heights; when there are none, it starts where they would be."""
        first = max(0, bisect_right(self._tops, top) - 1)
        return range(first, min(len(self._sections), bisect_left(self._tops, bottom)))

    def scroll_anchor(self, top: float, bottom: float, *, at_end: bool) -> int:
        """Return what must stay still while sections between two heights are built: the first that is ready.

        When none is, the end of all if `at_end`, else what stands at the top.
        """
        span = self.sections_between(top, bottom)
        at_top = len(self._sections) if at_end else min(span.start, len(self._sections))
        return next((at for at in span if self.is_ready(at)), at_top)

    def anchor_top(self, anchor: int) -> float:
        return self._tops[anchor]

    def is_ready(self, index: int) -> bool:
        """Return True if a section is built and laid out for the current width."""
        lazy_section = self._sections[index]
        return lazy_section.built and lazy_section.width == self._width

    def ready_sections(self) -> Iterator[LazySection]:
        return (self._sections[at] for at in self._built if self.is_ready(at))

    def _position_below(self, y: float) -> None:
        """Stand below each other; only what is built has parts to be moved."""
        tops = [y]
        for at, lazy_section in enumerate(self._sections):
            if lazy_section.top != y:
                lazy_section.top = y
                if self.is_ready(at):
                    lazy_section.move(self._x)
            y += lazy_section.height
            tops.append(y)
        self._tops = tops

    def _estimate_height(self, lazy_section: LazySection) -> float:
        """Return a likely height: lines by the mean width of a letter."""
        section, style = lazy_section.section, self._style
        if lazy_section.built and lazy_section.width:
            return lazy_section.height * (lazy_section.width / self._width if section.kind != "code" else 1.0)
        chars = section.end - section.start
        if section.kind == "line":
            return chars * style.px(BODY) * 0.49 / self._width * style.px(24)
        if section.kind == "code":
            wraps = chars * style.px(CODE) * 0.6 / max(1.0, self._width - style.px(28))
            return max(section.lines, wraps) * style.px(CODE) * 1.5 + (
                0 if section.continues_above else style.px(50)
            )
        lines = self._markdown.text.count("\n", section.start, section.end)
        return chars * style.px(BODY) * 0.49 / self._width * style.px(24) + lines * style.px(9) + style.px(16)

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        """Build what lies between two heights, until a time of time.perf_counter; True when all is built."""
        waiting = [at for at in self.sections_between(top, bottom) if not self.is_ready(at)]
        done = 0
        for at in reversed(waiting) if upwards else waiting:
            if time.perf_counter() > deadline:
                break
            self._build_section(at)
            done += 1
        if done:
            self.restack()
        return done == len(waiting)

    def build_hit_area(self, top: float, bottom: float, *, forward: bool) -> None:
        order = self.sections_between(top, bottom)
        for at in order if forward else reversed(order):
            if not self.is_ready(at) and any(
                isinstance(block, Code | DisplayedFormula) for block in self._markdown.blocks(at)
            ):
                self._build_section(at)
                if any(part.areas for part in self._sections[at].parts):
                    break
        self.restack()

    def read_ahead(self, deadline: float) -> bool:
        """Read, but not build, on from where it was left; True when all is read."""
        while self._next_unread < len(self._sections):
            if time.perf_counter() > deadline:
                return False
            self._markdown.blocks(self._next_unread)
            self._next_unread += 1
        return True

    def lazy_markdown(self) -> LazyMarkdown:
        """Return the text as far as it is read, and the heights that are known, for another look."""
        zoom, sections = self._style.zoom, self._sections
        self._markdown.heights = [section.height / zoom for section in sections] if self._width else []
        return self._markdown

    def built_texts(self) -> list[TextLayout]:
        return [part.text for lazy_section in self.ready_sections() for part in lazy_section.parts]

    def text(self, number: int) -> TextLayout:
        """Return a text by its number, built and laid out when it was not; IndexError when there is none."""
        at, part = divmod(number, TEXTS_PER_SECTION)
        if not self.is_ready(at):
            self._build_section(at)
            self.restack()
        return self._sections[at].parts[part].text

    def block_texts(self) -> Iterator[BlockText]:
        for at, lazy_section in enumerate(self._sections):
            if lazy_section.built:
                yield from (text_of_layout(part.text) for part in lazy_section.parts)
                continue
            for number, block in enumerate(self._markdown.blocks(at)):
                yield text_of_block(
                    block,
                    at * TEXTS_PER_SECTION + number,
                    lazy_section.section.joiner if not number else None,
                )

    def edge_text(self, *, last: bool) -> int | None:
        order = range(len(self._sections))
        for at in reversed(order) if last else order:
            blocks = self._markdown.blocks(at)
            if blocks:
                return at * TEXTS_PER_SECTION + (len(blocks) - 1 if last else 0)
        return None

    def hit_areas(self) -> list[HitArea]:
        return [
            area
            for lazy_section in self.ready_sections()
            for part in lazy_section.parts
            for area in part.areas
        ]

    def paint(self, pen: Pen) -> None:
        clip = pen.state.clip
        for at in self.sections_between(clip.top(), clip.bottom()):
            lazy_section = self._sections[at]
            for part in lazy_section.parts:
                if self.is_ready(at) and part.rect.bottom() > clip.top():
                    part.paint(pen)

    def copy_text(self, number: int) -> str | None:
        at, part = divmod(number, TEXTS_PER_SECTION)
        section = self._sections[at].section
        if section.kind == "code":
            return self._markdown.text[section.fence[0] : section.fence[1]]
        block = self._markdown.blocks(at)[part]
        if isinstance(block, DisplayedFormula):
            return block.source
        return block.text if isinstance(block, Code) else None

    def _build_section(self, index: int) -> None:
        """Build a section and lay it out for the current width; the sections below it do not move yet."""
        blocks, section = self._markdown.blocks(index), self._sections[index]
        if not section.built:
            parts = [self._make_block(index, number, block) for number, block in enumerate(blocks)]
            section.parts, section.built = parts, True
            insort(self._built, index)
        section.layout(blocks, self.block_before(index) if blocks else None, self._width, self._style)
        section.move(self._x)

    def _make_block(self, index: int, number: int, block: Block) -> TextBlock:
        """Return the part of a block, numbered by section, not laid out."""
        section, tools = self._sections[index].section, self._tools
        if isinstance(block, Code) and (section.continues_above or section.continues_below):
            split = self._code_split(section, block)
            part: TextBlock = CodeBlock(tools, block, split)
        else:
            part = make_block(block, tools)
        part.text.number = index * TEXTS_PER_SECTION + number
        part.text.joiner = section.joiner if not number else None
        return part

    def _code_split(self, section: MarkdownSection, code: Code) -> CodeSplit:
        lexer = None
        if section.fence not in self._wrapped_fences:
            lexer = self._lexers.get(section.fence)
            if lexer is None:
                start, end = section.fence
                lexer = SharedLexer(self._markdown.text[start:end], code_label(code.info)[1])
                self._lexers[section.fence] = lexer
        return CodeSplit(section.continues_above, section.continues_below, lexer, section.line)

    def block_before(self, index: int) -> Block | None:
        for above in range(index - 1, -1, -1):
            blocks = self._markdown.blocks(above)
            if blocks:
                return blocks[-1]
        return None


tr = Translator("Chat")

_OPEN_SECTIONS = 2  # at the end of an answer that still grows: what arrives may change them

HEADER_HEIGHT = 26  # height of the head, pixels at zoom 1
WAITING_HEIGHT = 24.0  # height of what stands for the words that have not come, pixels at zoom 1
_SILENT_S = 10  # of an answer, between two texts; until then it comes in pieces


def _header(row: AssistantRow, names_model: bool) -> Box:
    """Return the speaker and the time at the top of an item."""
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
    shade.setColorAt(0, pen.color("seg_system"))
    shade.setColorAt(1, pen.color("seg_assistant"))
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
    return tr("Waiting for the model… {time}", time=format_elapsed(int(time.time() - since_ms / 1000)))


def silence_text(silent_s: float) -> str:
    """Return for how many seconds no more of an answer came; empty while that is nothing unusual."""
    return tr("Last text {time} ago", time=format_elapsed(int(silent_s))) if silent_s >= _SILENT_S else ""


class StreamingText:
    """Rebuilds only the parts that arriving text may still change; open code grows in place."""

    def __init__(self, stack: BlockStack, references: dict[str, Any]) -> None:
        """Grow an empty stack; `references` are the link references of the text above it."""
        self._stack = stack
        self._stream = MarkdownStream(references)
        self._frozen_chunks = 0
        self._frozen_parts = 0
        self._fence: CodeBlock | None = None

    @property
    def has_references(self) -> bool:
        """Return True if what arrived defines link references."""
        return self._stream.has_references

    @property
    def is_plain(self) -> bool:
        """Whether what arrives is shown as it is; of the whole text, less may have to be."""
        return self._stream.is_plain

    def append(self, delta: str) -> int:
        """Show what arrived; the number of parts, from the top, that it left as they were."""
        stream, kept_count = self._stream, self._frozen_parts
        stream.feed(delta)
        fresh = stream.frozen[self._frozen_chunks :]
        if fresh and self._fence is not None and isinstance(fresh[0].blocks[0], Code):
            self._fence.finish(fresh[0].blocks[0].text)
            self._fence, fresh = None, fresh[1:]
            self._frozen_parts += 1
        if self._fence is None:
            self._stack.truncate(self._frozen_parts)
            self._append_blocks(fresh)
            self._frozen_parts = len(self._stack.blocks)
            self._append_blocks(stream.open)
        self._frozen_chunks = len(stream.frozen)
        self._update_fence()
        return kept_count

    def finish(self) -> int:
        """End code that is still open; the number of parts, from the top, that this leaves as they were."""
        if self._fence is not None and self._stream.fence is not None:
            self._fence.finish(self._stream.fence.text())
        return self._frozen_parts

    def _append_blocks(self, chunks: Sequence[TopLevelBlock]) -> None:
        for chunk in chunks:
            for block in chunk.blocks:
                self._stack.add(block)

    def _update_fence(self) -> None:
        fence = self._stream.fence
        if fence is None:
            return
        if self._fence is None:
            part = self._stack.add(Code("", fence.info))
            self._fence = part if isinstance(part, CodeBlock) else None
        if self._fence is not None:
            self._fence.extend(fence.lines[self._fence.complete_lines :], fence.partial)


class ThinkingBlock:
    """The fold's line and, when it is open, its text, which has the number -1; nothing without thoughts."""

    def __init__(self, reasoning: str, tools: ItemTools, *, is_open: bool) -> None:
        self._reasoning = reasoning
        self._line: Button | None = None
        self._quoted: Box | None = None
        self.text: TextLayout | None = None
        if is_open and reasoning:
            block = paragraph(reasoning, tools, tools.style.theme.muted)
            self.text, self._quoted = block.text, quoted(block)
            self.text.number = -1

    @property
    def areas(self) -> Sequence[HitArea]:
        return self._line.areas if self._line is not None else ()

    def arrange(self, y: float, width: float, *, has_answer: bool) -> float:
        """Lay out below `y` for a width, pixels; `has_answer` when the answer has text. Return the bottom."""
        if not self._reasoning:
            return y
        label = tr("Thinking…")
        if has_answer:
            words = len(self._reasoning.split())
            label = tr.plural(words, "Thinking · %n word", "Thinking · %n words")
        icon = Icon("chevron-down" if self.text is not None else "chevron-right", "faint", 14)
        content = Row([icon, Text(label, 12, "muted", 500)], 5)
        self._line = Button("open:thoughts", ToggleSection("thoughts"), content, label, "fold", high=24)
        self._line.place(QRectF(0, y, self._line.width(), self._line.height(width)))
        y = self._line.rect.bottom() + scaled(4)
        if self._quoted is not None:
            tall = self._quoted.height(width)
            self._quoted.place(QRectF(0, y + 2, width, tall))
            y += tall + scaled(14)
        return y

    def paint(self, pen: Pen) -> None:
        for box in filter(None, (self._line, self._quoted)):
            box.paint(pen)


class AssistantMessageItem(RowItem):
    """Markdown under a head with the model's name, the thoughts folded above it.

    Its text is sections, and below them a stack of parts that grows in place while the answer arrives.
    """

    def __init__(
        self, row: AssistantRow, context: ItemContext, tools: ItemTools, markdown: LazyMarkdown | None = None
    ) -> None:
        """`markdown` is what a previous item has parsed already, of this text or of another."""
        super().__init__(row, context, tools)
        if markdown is None or markdown.source != row.text:
            markdown = LazyMarkdown(row.text)
        self._row = row
        self._lazy_text = LazyText(markdown, tools, _OPEN_SECTIONS if row.streaming else 0)
        before = self._lazy_text.block_before(len(self._lazy_text)) if row.streaming else None
        self._stack = BlockStack(tools, len(self._lazy_text) * TEXTS_PER_SECTION, before)
        self._streaming_text = StreamingText(self._stack, self._lazy_text.references)
        self._thinking = ThinkingBlock(row.reasoning, tools, is_open="thoughts" in context.expanded)
        self._top = self._bottom = 0.0  # of the text, pixels
        self._lazy_bottom = 0.0
        self._built_texts: list[TextLayout] | None = None
        self._grew_at_s = time.monotonic()
        if row.streaming:
            self._streaming_text.append(self._lazy_text.remaining_text)

    @property
    def is_busy(self) -> bool:
        return self._row.streaming

    def try_update(self, row: AssistantRow) -> bool:
        """Show a later state of the same answer by rendering only what is new; False when that cannot be."""
        before = self._row
        if not (before.streaming and row.text.startswith(before.text) and row.reasoning == before.reasoning):
            return False
        streamed = self._streaming_text
        if not row.streaming and (
            streamed.has_references or streamed.is_plain or self._lazy_text.has_references
        ):
            return False
        kept_count = len(self._stack.blocks)
        if len(row.text) > len(before.text):
            self._grew_at_s = time.monotonic()
            kept_count = self._streaming_text.append(row.text[len(before.text) :])
        self._row = self.row = row
        if not row.streaming:
            kept_count = min(kept_count, self._streaming_text.finish())
        self._relayout(kept_count)
        return True

    @property
    def texts(self) -> Sequence[TextLayout]:
        self.build(0.0, float("inf"), float("inf"))
        return self.built_texts

    @property
    def built_texts(self) -> list[TextLayout]:
        if self._built_texts is None:
            thoughts = [self._thinking.text] if self._thinking.text is not None else []
            stacked = (part.text for part in self._stack.blocks)
            self._built_texts = [*thoughts, *self._lazy_text.built_texts(), *stacked]
        return self._built_texts

    def text(self, number: int) -> TextLayout:
        if number < 0 and self._thinking.text is not None:
            return self._thinking.text
        if number >= len(self._lazy_text) * TEXTS_PER_SECTION:
            return self._stack.blocks[number - len(self._lazy_text) * TEXTS_PER_SECTION].text
        text = self._lazy_text.text(number)
        self._follow_lazy_text()
        return text

    def block_texts(self) -> Iterator[BlockText]:
        if self._thinking.text is not None:
            yield text_of_layout(self._thinking.text)
        yield from self._lazy_text.block_texts()
        yield from (text_of_layout(part.text) for part in self._stack.blocks)

    def edge_text(self, *, last: bool) -> int | None:
        thoughts = self._thinking.text.number if self._thinking.text is not None else None
        tail = self._stack.blocks[-1 if last else 0].text.number if self._stack.blocks else None
        order = (thoughts, self._lazy_text.edge_text(last=last), tail)
        return next((number for number in (order[::-1] if last else order) if number is not None), None)

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        """Build what lies between two heights, until a time of time.perf_counter; True when all is built."""
        if not self.width:
            self.layout(float(MAX_COLUMN_WIDTH))
        done = self._lazy_text.build(top, bottom, deadline, upwards=upwards)
        self._follow_lazy_text()
        return done

    def build_hit_area(self, top: float, bottom: float, *, forward: bool) -> None:
        self._lazy_text.build_hit_area(top, bottom, forward=forward)
        self._follow_lazy_text()

    def read_ahead(self, deadline: float) -> bool:
        return self._lazy_text.read_ahead(deadline)

    def scroll_anchor(self, top: float, bottom: float, *, at_end: bool) -> int:
        ends_in_sight = bool(self._stack.blocks) and self._lazy_text.bottom < bottom
        return self._lazy_text.scroll_anchor(top, bottom, at_end=at_end or ends_in_sight)

    def anchor_top(self, anchor: int) -> float:
        return self._lazy_text.anchor_top(anchor)

    def lazy_markdown(self) -> LazyMarkdown:
        """Return the parsed Markdown that a later item of the same row can reuse."""
        return self._lazy_text.lazy_markdown()

    def copy_text(self, number: int) -> str | None:
        if number < len(self._lazy_text) * TEXTS_PER_SECTION:
            return self._lazy_text.copy_text(number)
        return self._stack.copy_text(number)

    def _follow_lazy_text(self) -> None:
        """Let what stands below the sections follow them."""
        moved = self._lazy_text.bottom != self._lazy_bottom
        self._relayout(0 if moved else len(self._stack.blocks))

    def _relayout(self, unchanged: int) -> None:
        """Place all but the first `unchanged` parts of the stack again after it changed."""
        self._built_texts = None
        if self.width:
            self.height = self._place(self.width, unchanged)

    def _arrange(self, width: float) -> float:
        return self._place(width, 0)

    def _place(self, width: float, unchanged: int) -> float:
        style = self.style
        has_text = bool(self._stack.blocks or len(self._lazy_text))
        is_head = not (has_text or self._row.streaming)  # of the calls below
        y = style.px(HEADER_HEIGHT + (0 if is_head else 8)) if self.context.shows_header else 0.0
        self._top = self._thinking.arrange(y, width, has_answer=has_text or not self._row.streaming)
        self._built_texts = None
        self._lazy_bottom = self._lazy_text.arrange(0, self._top, width)
        y = self._stack.arrange(0, self._lazy_bottom, width, unchanged)
        self.hit_areas = [*self._thinking.areas, *self._lazy_text.hit_areas(), *self._stack.areas]
        self._bottom = y
        self.room_below = min(BOTTOM_GAP, style.px(WAITING_HEIGHT)) if self._row.streaming else 0.0
        if self._row.streaming:
            y += style.px(WAITING_HEIGHT) - self.room_below
        return max(y, style.px(8))

    def paint(self, painter: QPainter, state: PaintState) -> None:
        pen = Pen(painter, self.style.theme, state)
        if self.context.shows_header:
            header = _header(self._row, self.context.names_model)
            pen.write(header, 0, QRectF(0, 0, self.width, self.style.px(HEADER_HEIGHT)))
        self._thinking.paint(pen)
        self._lazy_text.paint(pen)
        self._stack.paint(pen)
        if self._row.streaming:
            self._paint_arrival(pen)
        self.paint_focus(pen)

    def _paint_arrival(self, pen: Pen) -> None:
        words = waiting_text(self._row.waiting_since_ms)
        if self._stack.blocks:
            pen.fill(self._stack.blocks[-1].text.caret_rect(self.style.px(BODY + 2)), "accent")
            words = silence_text(time.monotonic() - self._grew_at_s)
        if words or not self._stack.blocks:
            _paint_waiting(pen, QRectF(0, self._bottom, self.width, self.style.px(WAITING_HEIGHT)), words)


class PlainRowItem(AssistantMessageItem):
    """The words of a row below a line that says why they look like that.

    What the row offers to click is gone with its looks; the rest of the window offers the same.
    """

    def __init__(self, row: ChatRow, context: ItemContext, tools: ItemTools) -> None:
        text = text_of_row(row)
        super().__init__(AssistantRow(row.key, text), context, tools, LazyMarkdown(text, is_plain=True))
        self.row = row

    def try_update(self, row: AssistantRow) -> bool:
        """Words that change are shown by another item."""
        return False
