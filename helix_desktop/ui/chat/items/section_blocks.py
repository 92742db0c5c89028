"""Makes the parts of a text's sections; code that is cut is colored as one."""

from __future__ import annotations

from helix_desktop.ui.chat.items.item import ItemTools
from helix_desktop.ui.chat.items.text_and_code_blocks import (
    CodeBlock,
    CodeSplit,
    MessageBlock,
    code_label,
    make_block,
)
from helix_desktop.ui.chat.markdown.parser import Block, Code
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown, Section
from helix_desktop.ui.design.highlight import SharedLexer

TEXTS_PER_SECTION = 1 << 20  # numbers of texts that each section has for itself


class SectionBlocks:
    """Makes parts, numbered by section, and keeps how far cut code has been lexed."""

    def __init__(self, markdown: LazyMarkdown, tools: ItemTools, sections: list[Section]) -> None:
        """`sections` are the sections of the text that parts are made of."""
        self._markdown = markdown
        self._tools = tools
        self._sections = sections
        self._wrapped_fences = {
            section.fence for section in sections if section.joiner == "" and section.kind == "code"
        }
        self._lexers: dict[tuple[int, int], SharedLexer] = {}

    def make(self, index: int) -> list[MessageBlock]:
        """Return the parts of a section, not laid out."""
        return [
            self._make_block(index, number, block)
            for number, block in enumerate(self._markdown.blocks(index))
        ]

    def _make_block(self, index: int, number: int, block: Block) -> MessageBlock:
        section, studio = self._sections[index], self._tools
        if isinstance(block, Code) and (section.continues_above or section.continues_below):
            split = self._code_split(section, block)
            part: MessageBlock = CodeBlock(studio.writer, studio.style, block, studio.highlighter, split)
        else:
            part = make_block(block, studio.writer, studio.style, studio.highlighter)
        part.text.number = index * TEXTS_PER_SECTION + number
        part.text.joiner = section.joiner if not number else None
        return part

    def _code_split(self, section: Section, code: Code) -> CodeSplit:
        start, end = section.fence
        lexing = None
        if section.fence not in self._wrapped_fences:
            lexing = self._lexers.get(section.fence)
            if lexing is None:
                source = self._markdown.text[start:end]
                lexing = self._lexers[section.fence] = SharedLexer(source, code_label(code.info)[1])
        return CodeSplit(section.continues_above, section.continues_below, lexing, section.line)
