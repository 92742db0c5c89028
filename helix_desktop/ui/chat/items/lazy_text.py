"""A finished text in sections that become documents near the viewport; of others heights are estimates."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any

from helix_desktop.ui.chat.items.text_and_code_blocks import (
    CodeBlock,
    CodeSplit,
    ItemTools,
    TextBlock,
    code_label,
    gap_before,
    make_block,
)
from helix_desktop.ui.chat.markdown.parser import Block, Code, DisplayedFormula
from helix_desktop.ui.chat.markdown.plain_text import text_of_block, text_of_layout
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown, MarkdownSection
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.style import BODY, CODE, ChatStyle
from helix_desktop.ui.design.highlight import SharedLexer
from helix_desktop.ui.kit.boxes import HitArea, Pen
from helix_desktop.ui.rows.item import BlockText

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


class LazyStack:
    """Sections from top to bottom; all measures in pixels of the item."""

    def __init__(self, markdown: LazyMarkdown, style: ChatStyle, sections: list[MarkdownSection]) -> None:
        """Stack `sections` of a text, without a width yet."""
        self._markdown = markdown
        self._style = style
        self.sections = [LazySection(section) for section in sections]
        self._tops: list[float] = [0.0]
        self._x = 0.0
        self._width = 0.0
        self._built: list[int] = []  # in order

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
            is_unchanged = len(previous) == len(self.sections)
            for at, lazy_section in enumerate(self.sections):
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
        return range(first, min(len(self.sections), bisect_left(self._tops, bottom)))

    def scroll_anchor(self, top: float, bottom: float, *, at_end: bool) -> int:
        """Return what must stay still while sections between two heights are built: the first that is ready.

        When none is, the end of all if `at_end`, else what stands at the top.
        """
        span = self.sections_between(top, bottom)
        at_top = len(self.sections) if at_end else min(span.start, len(self.sections))
        return next((at for at in span if self.is_ready(at)), at_top)

    def anchor_top(self, anchor: int) -> float:
        return self._tops[anchor]

    def is_ready(self, index: int) -> bool:
        """Return True if a section is built and laid out for the current width."""
        lazy_section = self.sections[index]
        return lazy_section.built and lazy_section.width == self._width

    def ready_sections(self) -> Iterator[LazySection]:
        return (self.sections[at] for at in self._built if self.is_ready(at))

    def set_blocks(self, index: int, blocks: list[TextBlock]) -> None:
        self.sections[index].parts, self.sections[index].built = blocks, True
        insort(self._built, index)

    def layout_section(self, index: int, markdown_blocks: tuple[Block, ...], previous: Block | None) -> None:
        """Lay a built section out for the current width; the sections below it do not move yet."""
        lazy_section = self.sections[index]
        lazy_section.layout(markdown_blocks, previous, self._width, self._style)
        lazy_section.move(self._x)

    def heights(self) -> list[float]:
        """Return the heights of all sections, pixels at zoom 1; none before there is a width."""
        return (
            [lazy_section.height / self._style.zoom for lazy_section in self.sections] if self._width else []
        )

    def _position_below(self, y: float) -> None:
        """Stand below each other; only what is built has parts to be moved."""
        tops = [y]
        for at, lazy_section in enumerate(self.sections):
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


class LazyText:
    """Parses and builds the sections of a text on demand; `stack` knows their positions."""

    def __init__(self, markdown: LazyMarkdown, tools: ItemTools, omit_last: int = 0) -> None:
        """Take a text without its last `omit_last` sections, which stay in `remaining_text`."""
        self._markdown = markdown
        sections = markdown.sections
        stacked = sections[: max(0, len(sections) - omit_last)] if omit_last else sections
        self.remaining_text = (
            markdown.text[sections[len(stacked)].start :] if len(stacked) < len(sections) else ""
        )
        self.stack = LazyStack(markdown, tools.style, stacked)
        self._sections = self.stack.sections
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

    def last_block(self) -> Block | None:
        """Return the block that what follows stands below."""
        return self._block_before(len(self._sections))

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        """Build what lies between two heights, until a time of time.perf_counter; True when all is built."""
        waiting = [at for at in self.stack.sections_between(top, bottom) if not self.stack.is_ready(at)]
        done = 0
        for at in reversed(waiting) if upwards else waiting:
            if time.perf_counter() > deadline:
                break
            self._build_section(at)
            done += 1
        if done:
            self.stack.restack()
        return done == len(waiting)

    def build_hit_area(self, top: float, bottom: float, *, forward: bool) -> None:
        order = self.stack.sections_between(top, bottom)
        for at in order if forward else reversed(order):
            if not self.stack.is_ready(at) and any(
                isinstance(block, Code | DisplayedFormula) for block in self._markdown.blocks(at)
            ):
                self._build_section(at)
                if any(part.areas for part in self._sections[at].parts):
                    break
        self.stack.restack()

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
        self._markdown.heights = self.stack.heights()
        return self._markdown

    def built_texts(self) -> list[TextLayout]:
        return [part.text for lazy_section in self.stack.ready_sections() for part in lazy_section.parts]

    def text(self, number: int) -> TextLayout:
        """Return a text by its number, built and laid out when it was not; IndexError when there is none."""
        at, part = divmod(number, TEXTS_PER_SECTION)
        if not self.stack.is_ready(at):
            self._build_section(at)
            self.stack.restack()
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
            for lazy_section in self.stack.ready_sections()
            for part in lazy_section.parts
            for area in part.areas
        ]

    def paint(self, pen: Pen) -> None:
        clip = pen.state.clip
        for at in self.stack.sections_between(clip.top(), clip.bottom()):
            lazy_section = self._sections[at]
            for part in lazy_section.parts:
                if self.stack.is_ready(at) and part.rect.bottom() > clip.top():
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
        blocks = self._markdown.blocks(index)
        if not self._sections[index].built:
            parts = [self._make_block(index, number, block) for number, block in enumerate(blocks)]
            self.stack.set_blocks(index, parts)
        self.stack.layout_section(index, blocks, self._block_before(index) if blocks else None)

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

    def _block_before(self, index: int) -> Block | None:
        for above in range(index - 1, -1, -1):
            blocks = self._markdown.blocks(above)
            if blocks:
                return blocks[-1]
        return None
