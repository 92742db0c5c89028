"""A finished text in slabs that become documents only near the viewport; others have estimated heights."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any

from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.highlight import Lexing
from helix_desktop.ui.chat.look import BODY, CODE
from helix_desktop.ui.chat.markdown import Block, Code
from helix_desktop.ui.chat.paint import Hot, Paint
from helix_desktop.ui.chat.parts import CodeCut, CodePart, Part, code_label, gap_before, make_part
from helix_desktop.ui.chat.sections import Reading, Section
from helix_desktop.ui.chat.sheet import Studio
from helix_desktop.ui.chat.text_piece import TextPiece
from helix_desktop.ui.chat.words import Words, words_of_block, words_of_piece

NUMBERS = 1 << 20  # numbers of texts that each slab has for itself


class _Slab:
    """One section, with the parts that it is built into, laid out for a width."""

    __slots__ = ("built", "height", "parts", "section", "top", "tops", "width")

    def __init__(self, section: Section) -> None:
        self.section = section
        self.parts: list[Part] = []
        self.built = False
        self.width = 0.0  # that the parts are laid out for
        self.height = 0.0
        self.tops: list[float] = []  # of the parts, below the slab's top
        self.top = 0.0


class Slabs:
    """The sections of a text from top to bottom; all measures in pixels of the sheet."""

    def __init__(self, reading: Reading, studio: Studio, all_but: int = 0) -> None:
        """Take a text but its last `all_but` sections, which `rest` keeps."""
        self._reading = reading
        self._text = reading.text
        self._studio = studio
        sections = reading.sections
        kept = sections[: max(0, len(sections) - all_but)] if all_but else sections
        self.rest = self._text[sections[len(kept)].start :] if len(kept) < len(sections) else ""
        self._slabs = [_Slab(section) for section in kept]
        self._folded = {one.fence for one in kept if one.joins == "" and one.kind == "code"}
        self._lexed: dict[tuple[int, int], Lexing] = {}
        self._tops: list[float] = [0.0]
        self._x = 0.0
        self._width = 0.0
        self._built: list[int] = []  # in order
        self._unread = 0  # all slabs before this one are read

    def __len__(self) -> int:
        return len(self._slabs)

    @property
    def bottom(self) -> float:
        """Where the last slab ends."""
        return self._tops[-1]

    @property
    def known(self) -> dict[str, Any]:
        """The link references that the text defines."""
        return self._reading.known

    @property
    def has_references(self) -> bool:
        """Whether the text defines link references."""
        return bool(self._reading.known.get("references"))

    def last_block(self) -> Block | None:
        """The block that what follows stands below."""
        return self._before(len(self._slabs))

    def arrange(self, x: float, y: float, width: float) -> float:
        """Stand below a point for a width; nothing is built or laid out anew. The bottom."""
        if (x, y, width) == (self._x, self._tops[0], self._width):
            return self.bottom
        if width != self._width:
            self._width = width
            former, self._reading.heights = self._reading.heights, []
            for at, slab in enumerate(self._slabs):
                known = len(former) == len(self._slabs)
                slab.height = self._studio.look.px(former[at]) if known else self._estimate(slab)
        self._x = x
        self._restack(y)
        return self.bottom

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        """Build what lies between two heights, until a time of time.perf_counter; True when all is built."""
        first = max(0, bisect_right(self._tops, top) - 1)
        last = min(len(self._slabs), bisect_left(self._tops, bottom))
        waiting = [at for at in range(first, last) if not self._ready(at)]
        done = 0
        for at in reversed(waiting) if upwards else waiting:
            if time.perf_counter() > deadline:
                break
            self._lay(at)
            done += 1
        if done:
            self._restack(self._tops[0])
        return done == len(waiting)

    def reach(self, top: float, bottom: float, *, forward: bool) -> None:
        """Build the first place to click that lies between two heights, if it is not built yet."""
        first = max(0, bisect_right(self._tops, top) - 1)
        order = range(first, min(len(self._slabs), bisect_left(self._tops, bottom)))
        for at in order if forward else reversed(order):
            if not self._ready(at) and any(isinstance(block, Code) for block in self._read(at)):
                self._lay(at)
                if any(part.hots() for part in self._slabs[at].parts):
                    break
        self._restack(self._tops[0])

    def read_ahead(self, deadline: float) -> bool:
        """Read, but not build, on from where it was left; True when all is read."""
        while self._unread < len(self._slabs):
            if time.perf_counter() > deadline:
                return False
            self._read(self._unread)
            self._unread += 1
        return True

    def pin(self, top: float, bottom: float, *, at_end: bool) -> int:
        """What must stay still while slabs between two heights are built: the first that is ready.

        When none is, the end of all if `at_end`, else what stands at the top.
        """
        first = max(0, bisect_right(self._tops, top) - 1)
        for at in range(first, min(len(self._slabs), bisect_left(self._tops, bottom))):
            if self._ready(at):
                return at
        return len(self._slabs) if at_end else min(first, len(self._slabs))

    def top_of(self, pin: int) -> float:
        """Where what `pin` has named stands."""
        return self._tops[pin]

    def reading(self) -> Reading:
        """The text as far as it is read, and the heights that are known, for another look."""
        zoom = self._studio.look.zoom
        self._reading.heights = [slab.height / zoom for slab in self._slabs] if self._width else []
        return self._reading

    def shown(self) -> list[TextPiece]:
        """The texts that are built and laid out, from top to bottom."""
        return [part.text for slab in self._laid() for part in slab.parts]

    def text(self, number: int) -> TextPiece:
        """A text by its number, built and laid out when it was not; IndexError when there is none."""
        at, part = divmod(number, NUMBERS)
        if not self._ready(at):
            self._lay(at)
            self._restack(self._tops[0])
        return self._slabs[at].parts[part].text

    def words(self) -> Iterator[Words]:
        """The words of all texts; nothing is built for them."""
        for at, slab in enumerate(self._slabs):
            if slab.built:
                yield from (words_of_piece(part.text) for part in slab.parts)
                continue
            for number, block in enumerate(self._read(at)):
                yield words_of_block(block, at * NUMBERS + number, slab.section.joins if not number else None)

    def end(self, *, last: bool) -> int | None:
        """The number of the first or the last text, None when there is none."""
        order = range(len(self._slabs))
        for at in reversed(order) if last else order:
            blocks = self._read(at)
            if blocks:
                return at * NUMBERS + (len(blocks) - 1 if last else 0)
        return None

    def hots(self) -> list[Hot]:
        """The places of all parts that are built."""
        return [hot for slab in self._laid() for part in slab.parts for hot in part.hots()]

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw what is built and in sight."""
        first = max(0, bisect_right(self._tops, paint.clip.top()) - 1)
        for at in range(first, min(len(self._slabs), bisect_left(self._tops, paint.clip.bottom()))):
            slab = self._slabs[at]
            for part, top in zip(slab.parts, slab.tops, strict=False):
                if self._ready(at) and slab.top + top + part.height > paint.clip.top():
                    part.paint(painter, paint)

    def copy_of(self, hot: str) -> str | None:
        """The source of the code whose Copy button has a name."""
        number, _, action = hot.partition(":")
        if action != "copy" or not number.isdigit():
            return None
        at, part = divmod(int(number), NUMBERS)
        section = self._slabs[at].section
        if section.kind == "code":
            return self._text[section.fence[0] : section.fence[1]]
        block = self._read(at)[part]
        return block.text if isinstance(block, Code) else None

    def _ready(self, at: int) -> bool:
        slab = self._slabs[at]
        return slab.built and slab.width == self._width

    def _read(self, at: int) -> tuple[Block, ...]:
        return self._reading.blocks(at)

    def _before(self, at: int) -> Block | None:
        for above in range(at - 1, -1, -1):
            blocks = self._read(above)
            if blocks:
                return blocks[-1]
        return None

    def _lay(self, at: int) -> None:
        """Build a slab and lay it out for the present width; what stands below it does not move yet."""
        slab = self._slabs[at]
        blocks = self._read(at)
        if not slab.built:
            slab.parts = [self._part(at, number, block) for number, block in enumerate(blocks)]
            slab.built = True
            insort(self._built, at)
        slab.tops, y = [], 0.0
        before = self._before(at) if blocks else None
        for block, part in zip(blocks, slab.parts, strict=True):
            joined = slab.section.joins is not None
            y += 0.0 if joined else self._studio.look.px(gap_before(block, before))
            slab.tops.append(y)
            y += part.layout(self._width)
            before = block
        slab.width, slab.height = self._width, y
        self._move(slab)

    def _part(self, at: int, number: int, block: Block) -> Part:
        section, studio = self._slabs[at].section, self._studio
        if isinstance(block, Code) and (section.above or section.below):
            piece = self._code_cut(at, block)
            part: Part = CodePart(studio.writer, studio.look, block, studio.highlighter, piece)
        else:
            part = make_part(block, studio.writer, studio.look, studio.highlighter)
        part.text.number = at * NUMBERS + number
        part.text.joins = section.joins if not number else None
        return part

    def _code_cut(self, at: int, code: Code) -> CodeCut:
        section = self._slabs[at].section
        start, end = section.fence
        lexing = None
        if section.fence not in self._folded:
            lexing = self._lexed.get(section.fence)
            if lexing is None:
                lexing = self._lexed[section.fence] = Lexing(self._text[start:end], code_label(code.info)[1])
        return CodeCut(section.above, section.below, lexing, section.line)

    def _move(self, slab: _Slab) -> None:
        for part, top in zip(slab.parts, slab.tops, strict=True):
            part.move(self._x, slab.top + top)

    def _restack(self, y: float) -> None:
        """Stand below each other; only what is built has parts to be moved."""
        tops = [y]
        for slab in self._slabs:
            if slab.top != y:
                slab.top = y
                if slab.built and slab.width == self._width:
                    self._move(slab)
            y += slab.height
            tops.append(y)
        self._tops = tops

    def _estimate(self, slab: _Slab) -> float:
        """A likely height: lines by the mean width of a letter."""
        section, look = slab.section, self._studio.look
        if slab.built and slab.width:
            return slab.height * (slab.width / self._width if section.kind != "code" else 1.0)
        chars = section.end - section.start
        if section.kind == "line":
            return chars * look.px(BODY) * 0.49 / self._width * look.px(24)
        if section.kind == "code":
            wraps = chars * look.px(CODE) * 0.6 / max(1.0, self._width - look.px(28))
            return max(section.lines, wraps) * look.px(CODE) * 1.5 + (0 if section.above else look.px(50))
        lines = self._text.count("\n", section.start, section.end)
        return chars * look.px(BODY) * 0.49 / self._width * look.px(24) + lines * look.px(9) + look.px(16)

    def _laid(self) -> Iterator[_Slab]:
        return (self._slabs[at] for at in self._built if self._ready(at))
