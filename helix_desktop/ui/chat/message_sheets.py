"""How messages look: the person's in a bubble, the model's as a text with a head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QLinearGradient, QPainter

from helix_desktop.ui.chat.look import BODY, COLUMN, GAP, MEDIUM, SEMIBOLD, SMALL, UI
from helix_desktop.ui.chat.markdown import Chunk, Code, Leaf, Prose, Span, read_typed
from helix_desktop.ui.chat.markdown_stream import MarkdownStream
from helix_desktop.ui.chat.paint import (
    CHIP_HEIGHT,
    ChipStyle,
    Hot,
    Paint,
    box,
    chip,
    chip_width,
    icon,
    line_of_text,
)
from helix_desktop.ui.chat.parts import CodePart
from helix_desktop.ui.chat.rows import AssistantRow, UserRow
from helix_desktop.ui.chat.sections import Reading
from helix_desktop.ui.chat.sheet import Setting, Sheet, Studio
from helix_desktop.ui.chat.slabs import NUMBERS, Slabs
from helix_desktop.ui.chat.stack import Stack
from helix_desktop.ui.chat.text_piece import TextPiece
from helix_desktop.ui.chat.words import Words, words_of_piece

_HEAD = 26.0
_LONG_LINES, _LONG_CHARS = 40, 4_000  # a pasted wall of text is folded above
_SHOWN_LINES, _SHOWN_CHARS = 24, 2_500
_OPEN_SECTIONS = 2  # at the end of an answer that still grows: what arrives may change them


def clock(at_ms: int) -> str:
    """A time of day in the local zone, from milliseconds since 1970; empty for 0."""
    return datetime.fromtimestamp(at_ms / 1000).strftime("%H:%M") if at_ms else ""


class UserSheet(Sheet):
    """A bubble at the right; only code is marked up, very long texts are folded until opened."""

    def __init__(self, row: UserRow, setting: Setting, studio: Studio) -> None:
        super().__init__(row, setting, studio)
        self._files = row.attachments
        self._stack = Stack(studio)
        self._bubble = QRectF()
        lines = row.text.count("\n") + 1
        self._long = lines > _LONG_LINES or len(row.text) > _LONG_CHARS
        self._more = (
            f"Show all {lines:,} lines" if lines > _SHOWN_LINES else f"Show all {len(row.text):,} characters"
        )
        text = row.text
        if self._long and "more" not in setting.opened:
            text = "\n".join(text[:_SHOWN_CHARS].split("\n")[:_SHOWN_LINES]) + " …"
        for chunk in read_typed(text):
            for block in chunk.blocks:
                self._stack.add(block)
        self.texts = [part.text for part in self._stack.parts]

    def copy_of(self, hot: str) -> str | None:
        """The source of a code block."""
        return self._stack.copy_of(hot)

    def _arrange(self, width: float) -> float:
        look = self.look
        pad = look.px(16)
        widest = min(width, max(look.px(280), width * 0.82)) - 2 * pad
        self._stack.arrange(0, 0, widest)
        only_prose = all(not isinstance(part, CodePart) for part in self._stack.parts)
        if only_prose and self.texts:
            ideal = max(text.document.idealWidth() for text in self.texts)
            widest = min(widest, ideal + 1)
        if self._long:
            widest = max(widest, look.px(220))
        left = width - widest - pad
        bottom = self._stack.arrange(left, look.px(11), widest)
        self.hots = self._stack.hots()
        if self._long:
            rect = QRectF(
                left - 8, bottom + 6, look.width(self._words(), look.font(SMALL, MEDIUM)) + 16, look.px(24)
            )
            self.hots.append(Hot("open:more", self._words(), rect, radius=6))
            bottom = rect.bottom() - 2
        self._bubble = QRectF(left - pad, 0, widest + 2 * pad, bottom + look.px(12))
        return self._bubble.height() + (look.px(CHIP_HEIGHT + 8) if self._files else 0)

    def _words(self) -> str:
        return "Show less" if "more" in self.setting.opened else self._more

    def _paint(self, painter: QPainter, paint: Paint) -> None:
        look, theme = self.look, self.look.theme
        box(painter, self._bubble, look.color(theme.user_bubble), None, 14)
        self._stack.paint(painter, paint)
        more = self.hot("open:more")
        if more is not None:
            if more.name == paint.hovered:
                box(painter, more.rect, look.color(theme.hover), None, 6)
            rect = more.rect.adjusted(8, 0, 0, 0)
            line_of_text(painter, look, rect, more.label, look.font(SMALL, MEDIUM), theme.accent_text)
        right = self.width
        style = ChipStyle(theme.muted, theme.raised, theme.border, "paperclip")
        for name in reversed(self._files):
            wide = min(chip_width(look, name, style), max(60.0, right - 4))
            rect = QRectF(right - wide, self._bubble.bottom() + 8, wide, look.px(CHIP_HEIGHT))
            chip(painter, look, rect, name, style)
            right -= wide + 6


class AssistantSheet(Sheet):
    """Markdown under a head with the model's name; finished text is built near the viewport only.

    What still streams stands below the finished slabs in a stack that grows in place.
    """

    def __init__(
        self, row: AssistantRow, setting: Setting, studio: Studio, reading: Reading | None = None
    ) -> None:
        """`reading` is what a former sheet has read already, of this text or of another."""
        super().__init__(row, setting, studio)
        self._row = row
        self._studio = studio
        if reading is None or reading.source != row.text:
            reading = Reading(row.text)
        self._slabs = Slabs(reading, studio, _OPEN_SECTIONS if row.streaming else 0)
        before = self._slabs.last_block() if row.streaming else None
        self._stack = Stack(studio, len(self._slabs) * NUMBERS, before)
        self._stream = MarkdownStream(self._slabs.known)
        self._frozen_chunks = 0
        self._frozen_parts = 0
        self._fence: CodePart | None = None
        self._top = 0.0
        self._rearrange_from = 0
        self._shown: list[TextPiece] | None = None
        self._slabs_bottom = 0.0
        self._thoughts = self._make_thoughts()
        if row.streaming:
            self._take(self._slabs.rest)

    @property
    def busy(self) -> bool:
        """Whether the answer still grows."""
        return self._row.streaming

    @property
    def texts(self) -> list[TextPiece]:
        """All texts from top to bottom, built for it as a whole."""
        self.build(0.0, float("inf"), float("inf"))
        return self.shown

    @texts.setter
    def texts(self, texts: list[TextPiece]) -> None:
        raise AttributeError("an answer makes its texts itself")

    @property
    def shown(self) -> list[TextPiece]:
        """The texts that are built, from top to bottom."""
        if self._shown is None:
            thoughts = [self._thoughts] if self._thoughts is not None else []
            self._shown = [*thoughts, *self._slabs.shown(), *(part.text for part in self._stack.parts)]
        return self._shown

    def text(self, number: int) -> TextPiece:
        """A text by its number, built when it was not; IndexError when there is none."""
        if number < 0 and self._thoughts is not None:
            return self._thoughts
        if number >= len(self._slabs) * NUMBERS:
            return self._stack.parts[number - len(self._slabs) * NUMBERS].text
        text = self._slabs.text(number)
        self._restack()
        return text

    def words(self) -> Iterator[Words]:
        """The words of all texts; nothing is built for them."""
        if self._thoughts is not None:
            yield words_of_piece(self._thoughts)
        yield from self._slabs.words()
        yield from (words_of_piece(part.text) for part in self._stack.parts)

    def end(self, *, last: bool) -> int | None:
        """The number of the first or the last text, None when there is none."""
        thoughts = self._thoughts.number if self._thoughts is not None else None
        tail = self._stack.parts[-1 if last else 0].text.number if self._stack.parts else None
        order = (thoughts, self._slabs.end(last=last), tail)
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
        ends_in_sight = bool(self._stack.parts) and self._slabs.bottom < bottom
        return self._slabs.pin(top, bottom, at_end=at_end or ends_in_sight)

    def top_of(self, pin: int) -> float:
        """Where what `pin` has named stands, pixels."""
        return self._slabs.top_of(pin)

    def reading(self) -> Reading:
        """What a later sheet of the same row needs not read again."""
        return self._slabs.reading()

    def copy_of(self, hot: str) -> str | None:
        """The source of a code block."""
        number = hot.partition(":")[0]
        if number.isdigit() and int(number) < len(self._slabs) * NUMBERS:
            return self._slabs.copy_of(hot)
        return self._stack.copy_of(hot)

    def become(self, row: AssistantRow) -> bool:
        """Show a later state of the same answer by rendering only what is new; False when that cannot be."""
        before = self._row
        if not (before.streaming and row.text.startswith(before.text) and row.reasoning == before.reasoning):
            return False
        if not row.streaming and (self._stream.has_references or self._slabs.has_references):
            return False
        if len(row.text) > len(before.text):
            self._take(row.text[len(before.text) :])
        else:
            self._rearrange_from = len(self._stack.parts)
        self._row = self.row = row
        if not row.streaming:
            self._close_fence()
            self._rearrange_from = min(self._rearrange_from, self._frozen_parts)
        if self.width:
            self.height = self._arrange(self.width, self._rearrange_from)
        return True

    def _restack(self) -> None:
        """Let what stands below the slabs follow them."""
        if self.width:
            moved = self._slabs.bottom != self._slabs_bottom
            self.height = self._arrange(self.width, 0 if moved else len(self._stack.parts))

    def _take(self, delta: str) -> None:
        stream = self._stream
        stream.feed(delta)
        self._rearrange_from = self._frozen_parts
        fresh = stream.frozen[self._frozen_chunks :]
        if fresh and self._fence is not None and isinstance(fresh[0].blocks[0], Code):
            self._fence.close(fresh[0].blocks[0].text)
            self._fence, fresh = None, fresh[1:]
            self._frozen_parts += 1
        if self._fence is None:
            self._stack.cut(self._frozen_parts)
            self._add(fresh)
            self._frozen_parts = len(self._stack.parts)
            self._add(stream.open)
        self._frozen_chunks = len(stream.frozen)
        self._take_fence()
        self._shown = None

    def _add(self, chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            for block in chunk.blocks:
                self._stack.add(block)

    def _take_fence(self) -> None:
        fence = self._stream.fence
        if fence is None:
            return
        if self._fence is None:
            part = self._stack.add(Code("", fence.info))
            self._fence = part if isinstance(part, CodePart) else None
        if self._fence is not None:
            self._fence.grow(fence.lines[self._fence.complete :], fence.partial)

    def _close_fence(self) -> None:
        if self._fence is not None and self._stream.fence is not None:
            self._fence.close(self._stream.fence.text())

    def _make_thoughts(self) -> TextPiece | None:
        if "thoughts" not in self.setting.opened or not self._row.reasoning:
            return None
        block = Prose((Leaf((Span(self._row.reasoning),)),))
        thoughts = self._studio.writer.prose(block, self.look.theme.muted, UI)
        thoughts.number = -1
        return thoughts

    def _arrange(self, width: float, kept: int = 0) -> float:
        look = self.look
        y = look.px(_HEAD + 8) if self.setting.head else 0.0
        heads: list[Hot] = []
        if self._row.reasoning:
            rect = QRectF(
                0, y, look.width(self._thinking(), look.font(SMALL, MEDIUM)) + look.px(40), look.px(24)
            )
            heads.append(Hot("open:thoughts", self._thinking(), rect, radius=6))
            y = rect.bottom() + look.px(4)
            if self._thoughts is not None:
                self._thoughts.x, self._thoughts.y = look.px(14), y + 2
                y += self._thoughts.layout(width - look.px(14)) + look.px(14)
        self._top = y
        y = self._slabs_bottom = self._slabs.arrange(0, y, width)
        y = self._stack.arrange(0, y, width, kept)
        self.hots = heads + self._slabs.hots() + self._stack.hots()
        self._shown = None
        if not (self._stack.parts or len(self._slabs)) and self._row.streaming:
            y += look.px(24)
        if self._row.stopped:
            y += look.px(CHIP_HEIGHT + GAP)
        return max(y, look.px(8))

    def _thinking(self) -> str:
        words = len(self._row.reasoning.split())
        begun = self._stack.parts or len(self._slabs) or not self._row.streaming
        return f"Thinking · {words:,} words" if begun else "Thinking…"

    def _paint(self, painter: QPainter, paint: Paint) -> None:
        if self.setting.head:
            self._paint_head(painter)
        if self._row.reasoning:
            self._paint_thoughts(painter, paint)
        self._slabs.paint(painter, paint)
        self._stack.paint(painter, paint)
        if self._row.streaming:
            self._paint_caret(painter, paint)
        if self._row.stopped:
            theme = self.look.theme
            style = ChipStyle(theme.muted, theme.raised, theme.border, "square")
            wide = chip_width(self.look, "Stopped by you", style)
            tall = self.look.px(CHIP_HEIGHT)
            chip(painter, self.look, QRectF(0, self.height - tall, wide, tall), "Stopped by you", style)

    def _paint_head(self, painter: QPainter) -> None:
        look, theme, row = self.look, self.look.theme, self._row
        side = look.px(_HEAD)
        shade = QLinearGradient(0, 0, side, side)
        shade.setColorAt(0, look.color(theme.seg_system))
        shade.setColorAt(1, look.color(theme.seg_assistant))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(shade)
        painter.drawRoundedRect(QRectF(0, 0, side, side), 8, 8)
        icon(
            painter,
            look,
            "sparkles",
            theme.on_accent,
            QRectF(side * 0.23, side * 0.23, look.px(14), look.px(14)),
        )
        x = side + look.px(10)
        x = self._word(painter, x, row.model or "Assistant", True) + look.px(9)
        if row.demo:
            style = ChipStyle(theme.accent_text, theme.accent_soft)
            wide = chip_width(look, "offline demo", style)
            chip(painter, look, QRectF(x, (side - look.px(19)) / 2, wide, look.px(19)), "offline demo", style)
            x += wide + look.px(9)
        if row.at_ms:
            self._word(painter, x, clock(row.at_ms), False)

    def _word(self, painter: QPainter, x: float, text: str, strong: bool) -> float:
        look, theme = self.look, self.look.theme
        font = look.font(UI, SEMIBOLD) if strong else look.font(SMALL)
        wide = min(look.width(text, font) + 1, max(40.0, self.width - x - 60))
        rect = QRectF(x, 0, wide, look.px(_HEAD))
        line_of_text(painter, look, rect, text, font, theme.text if strong else theme.faint)
        return x + wide

    def _paint_thoughts(self, painter: QPainter, paint: Paint) -> None:
        look, theme = self.look, self.look.theme
        hot = self.hots[0]
        if hot.name in (paint.hovered, paint.pressed):
            box(painter, hot.rect, look.color(theme.hover), None, 6)
        side = look.px(14)
        top = hot.rect.center().y() - side / 2
        arrow = "chevron-down" if self._thoughts is not None else "chevron-right"
        icon(painter, look, arrow, theme.faint, QRectF(4, top, side, side))
        words = hot.rect.adjusted(side + 9, 0, 0, 0)
        line_of_text(painter, look, words, hot.label, look.font(SMALL, MEDIUM), theme.muted)
        if self._thoughts is not None:
            bar = QRectF(0, self._thoughts.y, 2, self._thoughts.height)
            painter.fillRect(bar, look.color(theme.border_strong))
            self._thoughts.paint(painter, paint.clip, paint.marks_of(self._thoughts))

    def _paint_caret(self, painter: QPainter, paint: Paint) -> None:
        look, theme = self.look, self.look.theme
        if not self._stack.parts:
            for dot in range(3):
                color = theme.accent if paint.tick // 3 % 3 == dot else theme.border_strong
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(look.color(color))
                painter.drawEllipse(
                    QRectF(2 + dot * look.px(11), self._top + look.px(9), look.px(6), look.px(6))
                )
            return
        text = self._stack.parts[-1].text
        line = text.line_rect(text.length)
        tall = look.px(BODY + 2)
        caret = QRectF(line.x() + _line_width(text) + 3, line.bottom() - tall - 2, 2.5, tall)
        painter.fillRect(caret, look.color(theme.accent))


def _line_width(text: TextPiece) -> float:
    line = text.document.lastBlock().layout()
    count = line.lineCount()
    return line.lineAt(count - 1).naturalTextWidth() if count else 0.0
