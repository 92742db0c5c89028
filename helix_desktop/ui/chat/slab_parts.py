"""Makes the parts of a text's sections; code that is cut is coloured as one."""

from __future__ import annotations

from helix_desktop.ui.chat.highlight import Lexing
from helix_desktop.ui.chat.markdown import Block, Code
from helix_desktop.ui.chat.parts import CodeCut, CodePart, Part, code_label, make_part
from helix_desktop.ui.chat.sections import Reading, Section
from helix_desktop.ui.chat.sheet import Studio

NUMBERS = 1 << 20  # numbers of texts that each section has for itself


class SlabParts:
    """Makes parts, numbered by section, and keeps how far cut code has been lexed."""

    def __init__(self, reading: Reading, studio: Studio, kept: list[Section]) -> None:
        """`kept` are the sections of the text that parts are made of."""
        self._reading = reading
        self._studio = studio
        self._sections = kept
        self._folded = {one.fence for one in kept if one.joins == "" and one.kind == "code"}
        self._lexed: dict[tuple[int, int], Lexing] = {}

    def make(self, at: int) -> list[Part]:
        """The parts of a section, not laid out."""
        return [self._part(at, number, block) for number, block in enumerate(self._reading.blocks(at))]

    def _part(self, at: int, number: int, block: Block) -> Part:
        section, studio = self._sections[at], self._studio
        if isinstance(block, Code) and (section.above or section.below):
            piece = self._code_cut(section, block)
            part: Part = CodePart(studio.writer, studio.look, block, studio.highlighter, piece)
        else:
            part = make_part(block, studio.writer, studio.look, studio.highlighter)
        part.text.number = at * NUMBERS + number
        part.text.joins = section.joins if not number else None
        return part

    def _code_cut(self, section: Section, code: Code) -> CodeCut:
        start, end = section.fence
        lexing = None
        if section.fence not in self._folded:
            lexing = self._lexed.get(section.fence)
            if lexing is None:
                source = self._reading.text[start:end]
                lexing = self._lexed[section.fence] = Lexing(source, code_label(code.info)[1])
        return CodeCut(section.above, section.below, lexing, section.line)
