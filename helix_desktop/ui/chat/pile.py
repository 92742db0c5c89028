"""Where the slabs of a text stand; those that are not built have estimated heights."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from helix_desktop.ui.chat.look import BODY, CODE, Look
from helix_desktop.ui.chat.markdown import Block
from helix_desktop.ui.chat.parts import Part, gap_before
from helix_desktop.ui.chat.sections import Reading, Section


class Slab:
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

    def lay(self, blocks: tuple[Block, ...], before: Block | None, width: float, look: Look) -> None:
        """Lay the parts of these blocks out for a width, below a block of the slab above."""
        self.tops, y = [], 0.0
        for block, part in zip(blocks, self.parts, strict=True):
            joined = self.section.joins is not None
            y += 0.0 if joined else look.px(gap_before(block, before))
            self.tops.append(y)
            y += part.layout(width)
            before = block
        self.width, self.height = width, y

    def move(self, x: float) -> None:
        """Let the parts stand where the slab stands."""
        for part, top in zip(self.parts, self.tops, strict=True):
            part.move(x, self.top + top)


class Pile:
    """Slabs from top to bottom; all measures in pixels of the sheet."""

    def __init__(self, reading: Reading, look: Look, kept: list[Section]) -> None:
        """Pile up the sections `kept` of a text, without a width yet."""
        self._reading = reading
        self._look = look
        self.slabs = [Slab(section) for section in kept]
        self._tops: list[float] = [0.0]
        self._x = 0.0
        self._width = 0.0
        self._built: list[int] = []  # in order

    @property
    def bottom(self) -> float:
        """Where the last slab ends."""
        return self._tops[-1]

    def arrange(self, x: float, y: float, width: float) -> float:
        """Stand below a point for a width; nothing is built or laid out anew. The bottom."""
        if (x, y, width) == (self._x, self._tops[0], self._width):
            return self.bottom
        if width != self._width:
            self._width = width
            former, self._reading.heights = self._reading.heights, []
            known = len(former) == len(self.slabs)
            for at, slab in enumerate(self.slabs):
                slab.height = self._look.px(former[at]) if known else self._estimate(slab)
        self._x = x
        self._stand_below(y)
        return self.bottom

    def restack(self) -> None:
        """Let slabs follow those above them whose heights have changed."""
        self._stand_below(self._tops[0])

    def span(self, top: float, bottom: float) -> range:
        """The slabs between two heights; when there are none, it starts where they would be."""
        first = max(0, bisect_right(self._tops, top) - 1)
        return range(first, min(len(self.slabs), bisect_left(self._tops, bottom)))

    def pin(self, top: float, bottom: float, *, at_end: bool) -> int:
        """What must stay still while slabs between two heights are built: the first that is ready.

        When none is, the end of all if `at_end`, else what stands at the top.
        """
        span = self.span(top, bottom)
        at_top = len(self.slabs) if at_end else min(span.start, len(self.slabs))
        return next((at for at in span if self.ready(at)), at_top)

    def top_of(self, pin: int) -> float:
        """Where what `pin` has named stands."""
        return self._tops[pin]

    def ready(self, at: int) -> bool:
        """Whether a slab is built and laid out for the present width."""
        slab = self.slabs[at]
        return slab.built and slab.width == self._width

    def laid(self) -> Iterator[Slab]:
        """The slabs that are ready, from top to bottom."""
        return (self.slabs[at] for at in self._built if self.ready(at))

    def fill(self, at: int, parts: list[Part]) -> None:
        """Give a slab its parts."""
        self.slabs[at].parts, self.slabs[at].built = parts, True
        insort(self._built, at)

    def lay(self, at: int, blocks: tuple[Block, ...], before: Block | None) -> None:
        """Lay a filled slab out for the present width; what stands below it does not move yet."""
        slab = self.slabs[at]
        slab.lay(blocks, before, self._width, self._look)
        slab.move(self._x)

    def heights(self) -> list[float]:
        """The heights of all slabs, pixels at zoom 1; none before there is a width."""
        return [slab.height / self._look.zoom for slab in self.slabs] if self._width else []

    def _stand_below(self, y: float) -> None:
        """Stand below each other; only what is built has parts to be moved."""
        tops = [y]
        for at, slab in enumerate(self.slabs):
            if slab.top != y:
                slab.top = y
                if self.ready(at):
                    slab.move(self._x)
            y += slab.height
            tops.append(y)
        self._tops = tops

    def _estimate(self, slab: Slab) -> float:
        """A likely height: lines by the mean width of a letter."""
        section, look = slab.section, self._look
        if slab.built and slab.width:
            return slab.height * (slab.width / self._width if section.kind != "code" else 1.0)
        chars = section.end - section.start
        if section.kind == "line":
            return chars * look.px(BODY) * 0.49 / self._width * look.px(24)
        if section.kind == "code":
            wraps = chars * look.px(CODE) * 0.6 / max(1.0, self._width - look.px(28))
            return max(section.lines, wraps) * look.px(CODE) * 1.5 + (0 if section.above else look.px(50))
        lines = self._reading.text.count("\n", section.start, section.end)
        return chars * look.px(BODY) * 0.49 / self._width * look.px(24) + lines * look.px(9) + look.px(16)
