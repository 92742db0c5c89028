"""An item with a long text: finished parts are built only near the viewport."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from helix_desktop.ui.chat.items.block_stack import BlockStack
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.lazy_text import LazyText
from helix_desktop.ui.chat.items.section_blocks import TEXTS_PER_SECTION
from helix_desktop.ui.chat.markdown.plain_text import BlockText, text_of_layout
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_types import Row
from helix_desktop.ui.chat.style import MAX_COLUMN_WIDTH


class LazyMessageItem(RowItem):
    """A text that leads, if there is one, sections below it, and below them a stack that grows in place."""

    def __init__(
        self, row: Row, context: ItemContext, tools: ItemTools, markdown: LazyMarkdown, open_sections: int
    ) -> None:
        """Keep the last `open_sections` out of the sections, for the stack."""
        super().__init__(row, context, tools)
        self._lead_text: TextLayout | None = None
        self._lazy_text = LazyText(markdown, tools, open_sections)
        before = self._lazy_text.last_block() if open_sections else None
        self._stack = BlockStack(tools, len(self._lazy_text) * TEXTS_PER_SECTION, before)
        self._lazy_bottom = 0.0
        self._built_texts: list[TextLayout] | None = None

    @property
    def texts(self) -> Sequence[TextLayout]:
        """Return all texts from top to bottom, built for it as a whole."""
        self.build(0.0, float("inf"), float("inf"))
        return self.built_texts

    @texts.setter
    def texts(self, texts: Sequence[TextLayout]) -> None:
        raise AttributeError("an answer makes its texts itself")

    @property
    def built_texts(self) -> list[TextLayout]:
        """Return the texts that are built, from top to bottom."""
        if self._built_texts is None:
            lead = [self._lead_text] if self._lead_text is not None else []
            self._built_texts = [
                *lead,
                *self._lazy_text.built_texts(),
                *(part.text for part in self._stack.blocks),
            ]
        return self._built_texts

    def text(self, number: int) -> TextLayout:
        """Return a text by its number, built when it was not; IndexError when there is none."""
        if number < 0 and self._lead_text is not None:
            return self._lead_text
        if number >= len(self._lazy_text) * TEXTS_PER_SECTION:
            return self._stack.blocks[number - len(self._lazy_text) * TEXTS_PER_SECTION].text
        text = self._lazy_text.text(number)
        self._follow_lazy_text()
        return text

    def block_texts(self) -> Iterator[BlockText]:
        """Return the words of all texts; nothing is built for them."""
        if self._lead_text is not None:
            yield text_of_layout(self._lead_text)
        yield from self._lazy_text.block_texts()
        yield from (text_of_layout(part.text) for part in self._stack.blocks)

    def edge_text(self, *, last: bool) -> int | None:
        """Return the number of the first or the last text, None when there is none."""
        lead = self._lead_text.number if self._lead_text is not None else None
        tail = self._stack.blocks[-1 if last else 0].text.number if self._stack.blocks else None
        order = (lead, self._lazy_text.edge_text(last=last), tail)
        return next((number for number in (order[::-1] if last else order) if number is not None), None)

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        """Build what lies between two heights, until a time of time.perf_counter; True when all is built."""
        if not self.width:
            self.layout(float(MAX_COLUMN_WIDTH))
        done = self._lazy_text.build(top, bottom, deadline, upwards=upwards)
        self._follow_lazy_text()
        return done

    def build_hit_area(self, top: float, bottom: float, *, forward: bool) -> None:
        """Build the first place to click that lies between two heights, if it is not built yet."""
        self._lazy_text.build_hit_area(top, bottom, forward=forward)
        self._follow_lazy_text()

    def read_ahead(self, deadline: float) -> bool:
        """Prepare, until a time, what will be built later; True when nothing is left."""
        return self._lazy_text.read_ahead(deadline)

    def scroll_anchor(self, top: float, bottom: float, *, at_end: bool) -> int:
        """Return what must not move in sight while the part between two heights is built."""
        ends_in_sight = bool(self._stack.blocks) and self._lazy_text.stack.bottom < bottom
        return self._lazy_text.stack.scroll_anchor(top, bottom, at_end=at_end or ends_in_sight)

    def anchor_top(self, anchor: int) -> float:
        """Return the position, in pixels, of the anchor that `scroll_anchor` returned."""
        return self._lazy_text.stack.anchor_top(anchor)

    def lazy_markdown(self) -> LazyMarkdown:
        """Return the parsed Markdown that a later item of the same row can reuse."""
        return self._lazy_text.lazy_markdown()

    def copy_text(self, number: int) -> str | None:
        """Return the source of a code block, by the number of its text."""
        if number < len(self._lazy_text) * TEXTS_PER_SECTION:
            return self._lazy_text.copy_text(number)
        return self._stack.copy_text(number)

    def _relayout(self, unchanged: int) -> None:
        """Place all but the first `unchanged` parts of the stack again after it changed."""
        self._built_texts = None
        if self.width:
            self.height = self._place(self.width, unchanged)

    def _follow_lazy_text(self) -> None:
        """Let what stands below the sections follow them."""
        moved = self._lazy_text.stack.bottom != self._lazy_bottom
        self._relayout(0 if moved else len(self._stack.blocks))

    def _arrange(self, width: float) -> float:
        return self._place(width, 0)

    @abstractmethod
    def _place(self, width: float, unchanged: int) -> float:
        """Place texts and hit areas for a width; the first `unchanged` parts stay. Return the height."""

    def _place_text(self, y: float, width: float, unchanged: int) -> float:
        """Place sections and stack below a height, pixels; the bottom."""
        self._built_texts = None
        self._lazy_bottom = self._lazy_text.stack.arrange(0, y, width)
        return self._stack.arrange(0, self._lazy_bottom, width, unchanged)
