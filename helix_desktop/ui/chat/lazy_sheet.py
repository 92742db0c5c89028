"""A sheet of a long text: what is finished is built near the viewport only."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from helix_desktop.ui.chat.look import COLUMN
from helix_desktop.ui.chat.rows import Row
from helix_desktop.ui.chat.sections import Reading
from helix_desktop.ui.chat.sheet import Setting, Sheet, Studio
from helix_desktop.ui.chat.slab_parts import NUMBERS
from helix_desktop.ui.chat.slabs import Slabs
from helix_desktop.ui.chat.stack import Stack
from helix_desktop.ui.chat.text_piece import TextPiece
from helix_desktop.ui.chat.words import Words, words_of_piece


class LazySheet(Sheet):
    """A text that leads, if there is one, slabs below it, and below them a stack that grows in place."""

    def __init__(
        self, row: Row, setting: Setting, studio: Studio, reading: Reading, open_sections: int
    ) -> None:
        """Keep the last `open_sections` out of the slabs, for the stack."""
        super().__init__(row, setting, studio)
        self._lead: TextPiece | None = None
        self._slabs = Slabs(reading, studio, open_sections)
        before = self._slabs.last_block() if open_sections else None
        self._stack = Stack(studio, len(self._slabs) * NUMBERS, before)
        self._slabs_bottom = 0.0
        self._shown: list[TextPiece] | None = None

    @property
    def texts(self) -> Sequence[TextPiece]:
        """All texts from top to bottom, built for it as a whole."""
        self.build(0.0, float("inf"), float("inf"))
        return self.shown

    @texts.setter
    def texts(self, texts: Sequence[TextPiece]) -> None:
        raise AttributeError("an answer makes its texts itself")

    @property
    def shown(self) -> list[TextPiece]:
        """The texts that are built, from top to bottom."""
        if self._shown is None:
            lead = [self._lead] if self._lead is not None else []
            self._shown = [*lead, *self._slabs.shown(), *(part.text for part in self._stack.parts)]
        return self._shown

    def text(self, number: int) -> TextPiece:
        """A text by its number, built when it was not; IndexError when there is none."""
        if number < 0 and self._lead is not None:
            return self._lead
        if number >= len(self._slabs) * NUMBERS:
            return self._stack.parts[number - len(self._slabs) * NUMBERS].text
        text = self._slabs.text(number)
        self._restack()
        return text

    def words(self) -> Iterator[Words]:
        """The words of all texts; nothing is built for them."""
        if self._lead is not None:
            yield words_of_piece(self._lead)
        yield from self._slabs.words()
        yield from (words_of_piece(part.text) for part in self._stack.parts)

    def end(self, *, last: bool) -> int | None:
        """The number of the first or the last text, None when there is none."""
        lead = self._lead.number if self._lead is not None else None
        tail = self._stack.parts[-1 if last else 0].text.number if self._stack.parts else None
        order = (lead, self._slabs.end(last=last), tail)
        return next((number for number in (order[::-1] if last else order) if number is not None), None)

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        """Build what lies between two heights, until a time of time.perf_counter; True when all is built."""
        if not self.width:
            self.layout(float(COLUMN))
        done = self._slabs.build(top, bottom, deadline, upwards=upwards)
        self._restack()
        return done

    def reach(self, top: float, bottom: float, *, forward: bool) -> None:
        """Build the first place to click that lies between two heights, if it is not built yet."""
        self._slabs.reach(top, bottom, forward=forward)
        self._restack()

    def read_ahead(self, deadline: float) -> bool:
        """Prepare, until a time, what will be built later; True when nothing is left."""
        return self._slabs.read_ahead(deadline)

    def pin(self, top: float, bottom: float, *, at_end: bool) -> int:
        """What must not move in sight while the part between two heights is built."""
        ends_in_sight = bool(self._stack.parts) and self._slabs.pile.bottom < bottom
        return self._slabs.pile.pin(top, bottom, at_end=at_end or ends_in_sight)

    def top_of(self, pin: int) -> float:
        """Where what `pin` has named stands, pixels."""
        return self._slabs.pile.top_of(pin)

    def reading(self) -> Reading:
        """What a later sheet of the same row needs not read again."""
        return self._slabs.reading()

    def copy_of(self, hot: str) -> str | None:
        """The source of a code block."""
        number = hot.partition(":")[0]
        if number.isdigit() and int(number) < len(self._slabs) * NUMBERS:
            return self._slabs.copy_of(hot)
        return self._stack.copy_of(hot)

    def _changed(self, kept: int) -> None:
        """Place all but the first `kept` parts of the stack anew after it changed."""
        self._shown = None
        if self.width:
            self.height = self._place(self.width, kept)

    def _restack(self) -> None:
        """Let what stands below the slabs follow them."""
        moved = self._slabs.pile.bottom != self._slabs_bottom
        self._changed(0 if moved else len(self._stack.parts))

    def _arrange(self, width: float) -> float:
        return self._place(width, 0)

    @abstractmethod
    def _place(self, width: float, kept: int) -> float:
        """Place texts and hots for a width; the first `kept` parts of the stack stay. The height."""

    def _place_text(self, y: float, width: float, kept: int) -> float:
        """Place slabs and stack below a height, pixels; the bottom."""
        self._shown = None
        self._slabs_bottom = self._slabs.pile.arrange(0, y, width)
        return self._stack.arrange(0, self._slabs_bottom, width, kept)
