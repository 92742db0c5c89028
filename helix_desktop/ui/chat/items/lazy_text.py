"""A finished text in sections that become documents only near the viewport."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.items.item import ItemTools
from helix_desktop.ui.chat.items.lazy_stack import LazyStack
from helix_desktop.ui.chat.items.painting import HitArea, PaintState
from helix_desktop.ui.chat.items.text_and_code_blocks import (
    CodeBlock,
    CodeSplit,
    MessageBlock,
    code_label,
    make_block,
)
from helix_desktop.ui.chat.markdown.parser import Block, Code, DisplayedFormula
from helix_desktop.ui.chat.markdown.plain_text import BlockText, text_of_block, text_of_layout
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown, MarkdownSection
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.design.highlight import SharedLexer

TEXTS_PER_SECTION = 1 << 20  # numbers of texts that each section has for itself


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
        """Return the link references that the text defines."""
        return self._markdown.references

    @property
    def has_references(self) -> bool:
        """Return True if the text defines link references."""
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
        """Build the first place to click that lies between two heights, if it is not built yet."""
        order = self.stack.sections_between(top, bottom)
        for at in order if forward else reversed(order):
            if not self.stack.is_ready(at) and any(
                isinstance(block, Code | DisplayedFormula) for block in self._markdown.blocks(at)
            ):
                self._build_section(at)
                if any(part.hit_areas() for part in self._sections[at].parts):
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
        """Return the texts that are built and laid out, from top to bottom."""
        return [part.text for lazy_section in self.stack.ready_sections() for part in lazy_section.parts]

    def text(self, number: int) -> TextLayout:
        """Return a text by its number, built and laid out when it was not; IndexError when there is none."""
        at, part = divmod(number, TEXTS_PER_SECTION)
        if not self.stack.is_ready(at):
            self._build_section(at)
            self.stack.restack()
        return self._sections[at].parts[part].text

    def block_texts(self) -> Iterator[BlockText]:
        """Return the words of all texts; nothing is built for them."""
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
        """Return the number of the first or the last text, None when there is none."""
        order = range(len(self._sections))
        for at in reversed(order) if last else order:
            blocks = self._markdown.blocks(at)
            if blocks:
                return at * TEXTS_PER_SECTION + (len(blocks) - 1 if last else 0)
        return None

    def hit_areas(self) -> list[HitArea]:
        """Return the places of all parts that are built."""
        return [
            area
            for lazy_section in self.stack.ready_sections()
            for part in lazy_section.parts
            for area in part.hit_areas()
        ]

    def paint(self, painter: QPainter, state: PaintState) -> None:
        """Draw what is built and in sight."""
        for at in self.stack.sections_between(state.clip.top(), state.clip.bottom()):
            lazy_section = self._sections[at]
            for part, top in zip(lazy_section.parts, lazy_section.tops, strict=False):
                if self.stack.is_ready(at) and lazy_section.top + top + part.height > state.clip.top():
                    part.paint(painter, state)

    def copy_text(self, number: int) -> str | None:
        """Return the source of a text that is code, by its number; None when it is none."""
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

    def _make_block(self, index: int, number: int, block: Block) -> MessageBlock:
        """Return the part of a block, numbered by section, not laid out."""
        section, tools = self._sections[index].section, self._tools
        if isinstance(block, Code) and (section.continues_above or section.continues_below):
            split = self._code_split(section, block)
            part: MessageBlock = CodeBlock(tools.writer, tools.style, block, tools.highlighter, split)
        else:
            part = make_block(block, tools.writer, tools.style, tools.highlighter)
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
