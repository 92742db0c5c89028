"""A finished text in slabs that become documents only near the viewport."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.markdown import Block, Code
from helix_desktop.ui.chat.paint import Hot, Paint
from helix_desktop.ui.chat.pile import Pile
from helix_desktop.ui.chat.sections import Reading
from helix_desktop.ui.chat.sheet import Studio
from helix_desktop.ui.chat.slab_parts import NUMBERS, SlabParts
from helix_desktop.ui.chat.text_piece import TextPiece
from helix_desktop.ui.chat.words import Words, words_of_block, words_of_piece


class Slabs:
    """Reads and builds the sections of a text, late; `pile` knows where they stand."""

    def __init__(self, reading: Reading, studio: Studio, all_but: int = 0) -> None:
        """Take a text but its last `all_but` sections, which `rest` keeps."""
        self._reading = reading
        sections = reading.sections
        kept = sections[: max(0, len(sections) - all_but)] if all_but else sections
        self.rest = reading.text[sections[len(kept)].start :] if len(kept) < len(sections) else ""
        self.pile = Pile(reading, studio.look, kept)
        self._slabs = self.pile.slabs
        self._parts = SlabParts(reading, studio, kept)
        self._unread = 0  # all slabs before this one are read

    def __len__(self) -> int:
        return len(self._slabs)

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

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        """Build what lies between two heights, until a time of time.perf_counter; True when all is built."""
        waiting = [at for at in self.pile.span(top, bottom) if not self.pile.ready(at)]
        done = 0
        for at in reversed(waiting) if upwards else waiting:
            if time.perf_counter() > deadline:
                break
            self._lay(at)
            done += 1
        if done:
            self.pile.restack()
        return done == len(waiting)

    def reach(self, top: float, bottom: float, *, forward: bool) -> None:
        """Build the first place to click that lies between two heights, if it is not built yet."""
        order = self.pile.span(top, bottom)
        for at in order if forward else reversed(order):
            if not self.pile.ready(at) and any(isinstance(block, Code) for block in self._reading.blocks(at)):
                self._lay(at)
                if any(part.hots() for part in self._slabs[at].parts):
                    break
        self.pile.restack()

    def read_ahead(self, deadline: float) -> bool:
        """Read, but not build, on from where it was left; True when all is read."""
        while self._unread < len(self._slabs):
            if time.perf_counter() > deadline:
                return False
            self._reading.blocks(self._unread)
            self._unread += 1
        return True

    def reading(self) -> Reading:
        """The text as far as it is read, and the heights that are known, for another look."""
        self._reading.heights = self.pile.heights()
        return self._reading

    def shown(self) -> list[TextPiece]:
        """The texts that are built and laid out, from top to bottom."""
        return [part.text for slab in self.pile.laid() for part in slab.parts]

    def text(self, number: int) -> TextPiece:
        """A text by its number, built and laid out when it was not; IndexError when there is none."""
        at, part = divmod(number, NUMBERS)
        if not self.pile.ready(at):
            self._lay(at)
            self.pile.restack()
        return self._slabs[at].parts[part].text

    def words(self) -> Iterator[Words]:
        """The words of all texts; nothing is built for them."""
        for at, slab in enumerate(self._slabs):
            if slab.built:
                yield from (words_of_piece(part.text) for part in slab.parts)
                continue
            for number, block in enumerate(self._reading.blocks(at)):
                yield words_of_block(block, at * NUMBERS + number, slab.section.joins if not number else None)

    def end(self, *, last: bool) -> int | None:
        """The number of the first or the last text, None when there is none."""
        order = range(len(self._slabs))
        for at in reversed(order) if last else order:
            blocks = self._reading.blocks(at)
            if blocks:
                return at * NUMBERS + (len(blocks) - 1 if last else 0)
        return None

    def hots(self) -> list[Hot]:
        """The places of all parts that are built."""
        return [hot for slab in self.pile.laid() for part in slab.parts for hot in part.hots()]

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw what is built and in sight."""
        for at in self.pile.span(paint.clip.top(), paint.clip.bottom()):
            slab = self._slabs[at]
            for part, top in zip(slab.parts, slab.tops, strict=False):
                if self.pile.ready(at) and slab.top + top + part.height > paint.clip.top():
                    part.paint(painter, paint)

    def copy_of(self, hot: str) -> str | None:
        """The source of the code whose Copy button has a name."""
        number, _, action = hot.partition(":")
        if action != "copy" or not number.isdigit():
            return None
        at, part = divmod(int(number), NUMBERS)
        section = self._slabs[at].section
        if section.kind == "code":
            return self._reading.text[section.fence[0] : section.fence[1]]
        block = self._reading.blocks(at)[part]
        return block.text if isinstance(block, Code) else None

    def _lay(self, at: int) -> None:
        """Build a slab and lay it out for the present width; what stands below it does not move yet."""
        blocks = self._reading.blocks(at)
        if not self._slabs[at].built:
            self.pile.fill(at, self._parts.make(at))
        self.pile.lay(at, blocks, self._before(at) if blocks else None)

    def _before(self, at: int) -> Block | None:
        for above in range(at - 1, -1, -1):
            blocks = self._reading.blocks(above)
            if blocks:
                return blocks[-1]
        return None
