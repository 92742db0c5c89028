"""The choice of how far a handover reaches: each range in words, with its price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from helix_desktop.agent.compaction.handover_writer import WHOLE_SESSION, HandoverScope
from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import covered_counts
from helix_desktop.context.summaries.legal_ranges import HandoverRange
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.store import MessageCounts
from helix_desktop.domain.text_format import ellipsize, one_line
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import row
from helix_desktop.ui.design.text_fields import TextField
from helix_desktop.words.call_targets import call_title
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.model_names import writer_name
from helix_desktop.words.translation import Translator, translate

tr = Translator("Handover")

WHOLE_CONVERSATION = -1
"""Stands for the range of every message, whose handover another session begins with."""
_MAX_TEXT_CHARS = 28  # characters of the last message that a range covers
_MIN_CHARS = 24  # of a range that are shown at least; the whole is its tooltip


class RangeItem(msgspec.Struct, frozen=True):
    """How far a handover could reach: the last event it covers, and that as text."""

    upto: int
    text: str


def range_items(
    ranges: Sequence[HandoverRange], transcript: Transcript, *, is_same_first: bool = False
) -> Iterator[RangeItem]:
    """Return the ranges that a user can choose from: the proposed one, or that of the active handover, first.

    A new handover replaces the active one, too: the messages that it stands for are counted.
    """
    furthest = max((range_.upto for range_ in ranges), default=0)
    if is_same_first:
        first = tr("The same messages")
    else:
        first = tr("As far as possible") if ranges and ranges[0].upto == furthest else tr("Older messages")
    for place, range_ in enumerate(ranges):
        name = first if place == 0 else _end_text(range_.upto, transcript)
        yield _named_range(range_.upto, name, covered_counts(transcript, range_.upto, range_.kept_seq))


def _named_range(upto: int, name: str, counts: MessageCounts) -> RangeItem:
    return RangeItem(upto, f"{name} · {translate(counts.text)}")


def _end_text(upto: int, transcript: Transcript) -> str:
    item = transcript.messages.item(upto)
    match item.event if item is not None else None:
        case UserSpoke(text=text) | AssistantSpoke(text=text):
            last = text
        case ToolAnswered(name=name, target=target):
            last = call_title(name, target)
        case _:
            last = ""
    excerpt = ellipsize(one_line(last), _MAX_TEXT_CHARS)
    if not excerpt:
        return tr("Up to e{number}", number=str(upto))
    return tr("Up to “{excerpt}” (e{number})", excerpt=excerpt, number=str(upto))


class RangeBox(ComboBox):
    def __init__(self) -> None:
        super().__init__(least_chars=_MIN_CHARS, words=tr("Range"))

    def show_ranges(self, ranges: Sequence[RangeItem]) -> None:
        self.clear()
        for range_item in ranges:
            self.addItem(range_item.text, range_item.upto)

    def showPopup(self) -> None:
        view = self.view()
        view.ensurePolished()  # its style has a frame
        around_px = view.verticalScrollBar().sizeHint().width() + 2 * view.frameWidth()
        view.setMinimumWidth(view.sizeHintForColumn(0) + around_px)
        super().showPopup()


class RangeChoice(QWidget):
    """Range and focus of what is to be written; `price` stands elsewhere in the window."""

    chosen = Signal()
    """Another range."""

    def __init__(self, conversation: Conversation, start: StartCoroutine) -> None:
        super().__init__()
        self._conversation = conversation
        self._start = start
        self.scope: int | None = None
        """The handover that is written again, 0 for none, whose ranges are offered; None: of none yet."""
        self._ranges: dict[int, list[RangeItem]] = {}  # by scope
        self.box = RangeBox()
        self.focus = TextField(tr("Focus for the model (optional)"))
        self.focus.setAccessibleName(tr("Focus"))
        self.price = label("", "muted", name="handover-price", wrap=True)
        fields = row(self.box, self.focus, gap=8)
        fields.setStretch(0, 3)
        fields.setStretch(1, 2)
        self.setLayout(fields)
        self.box.currentIndexChanged.connect(lambda _: self._on_chosen())

    @property
    def upto(self) -> int | None:
        """Return the last event of the chosen range; None while there is none to choose."""
        upto: int | None = self.box.currentData()
        return upto

    def scope_of(self, upto: int) -> HandoverScope:
        return WHOLE_SESSION if upto == WHOLE_CONVERSATION else HandoverScope(self.scope or 0)

    def choose(self, upto: int) -> None:
        """Choose the range that ends at an event: as near before it as can be, else the shortest."""
        ends = {int(self.box.itemData(at)): at for at in range(self.box.count())}
        events = [end for end in ends if end > 0]
        nearest = max((end for end in events if end <= upto), default=min(events, default=upto))
        self.box.setCurrentIndex(ends.get(upto, ends.get(nearest, 0)))

    def offer(self, scope: int, upto: int) -> None:
        """Offer the ranges of a scope, once they are known, with the one that ends at an event chosen."""
        if scope in self._ranges:
            self.show_ranges(scope, self._ranges[scope])
        else:
            self.scope = scope
            self.box.show_ranges(())
            self._start(self._read(scope, upto), "handover ranges")

    def read_again(self) -> None:
        self._ranges.clear()
        if self.scope is not None:
            self._start(self._read(self.scope, self.upto or 0), "handover ranges")

    async def _read(self, scope: int, upto: int) -> None:
        try:
            ranges = await self._conversation.handovers.writer.ranges(max(0, upto), HandoverScope(scope))
        except HelixError:
            ranges = []  # what there is to say stands where the price does
        if isValid(self) and scope == self.scope:
            self.show_legal_ranges(scope, ranges)
            if upto:
                self.choose(upto)

    def show_legal_ranges(self, scope: int, ranges: Sequence[HandoverRange]) -> None:
        transcript = self._conversation.session.transcript
        items = list(range_items(ranges, transcript, is_same_first=bool(scope)))
        if not scope:
            words = tr("Whole conversation, for a new session")
            items.append(_named_range(WHOLE_CONVERSATION, words, transcript.messages.counts()))
        self.show_ranges(scope, items)

    def show_ranges(self, scope: int, ranges: list[RangeItem]) -> None:
        self._ranges[scope] = ranges
        self.scope = scope
        self.box.show_ranges(ranges)

    def _on_chosen(self) -> None:
        if (upto := self.upto) is not None:
            self.price.setText(tr("Counting tokens…"))
            self._start(self._show_price(upto), "estimate-handover")
            self.chosen.emit()

    async def _show_price(self, upto: int) -> None:
        writer = self._conversation.handovers.writer
        scope = self.scope_of(upto)
        try:
            estimate = await writer.estimate(upto, scope)
            text = estimate_text(estimate, writer_name(estimate.model, estimate.demo))
        except HelixError as error:
            text = translate(error.what)
        if isValid(self) and upto == self.upto:
            self.price.setText(text)
