"""Where the sections of a text stand; those that are not built have estimated heights."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from helix_desktop.ui.chat.items.text_and_code_blocks import MessageBlock, gap_before
from helix_desktop.ui.chat.markdown.parser import Block
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown, MarkdownSection
from helix_desktop.ui.chat.style import BODY, CODE, ChatStyle


class LazySection:
    """One section, with the parts that it is built into, laid out for a width."""

    __slots__ = ("built", "height", "parts", "section", "top", "tops", "width")

    def __init__(self, section: MarkdownSection) -> None:
        self.section = section
        self.parts: list[MessageBlock] = []
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
        """Move the parts to the section's position."""
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
        """Return the bottom edge of the last section."""
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
        """Return the position of the anchor that `scroll_anchor` returned."""
        return self._tops[anchor]

    def is_ready(self, index: int) -> bool:
        """Return True if a section is built and laid out for the current width."""
        lazy_section = self.sections[index]
        return lazy_section.built and lazy_section.width == self._width

    def ready_sections(self) -> Iterator[LazySection]:
        """Return the sections that are ready, from top to bottom."""
        return (self.sections[at] for at in self._built if self.is_ready(at))

    def set_blocks(self, index: int, blocks: list[MessageBlock]) -> None:
        """Set a section's parts."""
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
