"""The small cards of the timeline: sweeps, pins, failures, undo marks."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from helix_desktop.ui.chat.dividers import swept_words
from helix_desktop.ui.elements import Card, Line, Words
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.pill import Pill
from helix_desktop.ui.rewrite_text import placement_text, sweep_reason_text
from helix_desktop.ui.spending.rows import cost_text
from helix_desktop.ui.timeline.disclosure import refused_part
from helix_desktop.ui.timeline.flow import FlowBox
from helix_desktop.ui.timeline.rows import (
    FailureCard,
    FoldCard,
    MarkCard,
    PersonCard,
    PlacedCard,
    SweepCard,
    title_of,
)
from helix_desktop.ui.times import when_text
from helix_desktop.ui.widgets import IconButton, IconLabel, PushButton, column, retint

_SHOWN_DIGESTS = 24


class Wishes(QObject):
    """What the person asks of a card; seqs name events."""

    undo = Signal(int)
    redo = Signal(int)
    show_in_chat = Signal(int)
    source = Signal(int)
    digest = Signal(str)
    export = Signal(int)
    retry = Signal(str)  # an Attempt
    cancel = Signal()
    unfolded = Signal(int, bool)


def undo_button(wishes: Wishes, seq: int, undone: bool) -> PushButton:
    """Undo, or Redo when it is undone already."""
    button = PushButton(" Redo" if undone else " Undo", "link", "redo-2" if undone else "undo-2", px=14)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    wish = wishes.redo if undone else wishes.undo
    button.clicked.connect(lambda: wish.emit(seq))
    return button


def moment(at_ms: int, now_ms: int) -> Line:
    """When a card's event was."""
    words = Line(when_text(at_ms, now_ms, clock=True), 12, role="faint")
    words.stiff = True
    return words


def model_pill(model: str, calls: int, fallback: str, prompt: str) -> Pill:
    """Who wrote it, in how many calls; why it was not done as usual, and by which instructions, on top."""
    text = f"{model} · {calls} calls" if calls > 1 else model
    pill = Pill(text, "warn" if fallback else "neutral", "list" if model.startswith("no model") else "bot")
    said = [fallback, f"Instructions: {prompt}" if prompt else ""]
    pill.setToolTip("\n".join(part for part in said if part))
    return pill


def cost_pills(spent: int, cost: float, demo: bool) -> list[Pill]:
    """What all its model calls took, in tokens and money; none where no model was asked."""
    text = cost_text(spent, cost, demo)
    if not text:
        return []
    pill = Pill(f"used {text}")
    pill.setToolTip("Tokens read and written by the model, and what they cost")
    return [pill]


def index_pill(digest: str, entries: int, wishes: Wishes) -> Pill:
    """The way to the index entry of what a rewrite covers."""
    pill = Pill(digest[:8], glyph="database", mono=True, clickable=True)
    pill.setToolTip(f"Index of {entries} cached outputs: show it in the cache browser")
    pill.setAccessibleName(f"Index {digest[:8]} of {entries} cached outputs")
    pill.clicked.connect(lambda: wishes.digest.emit(digest))
    return pill


def inside_pill(name: str) -> Pill:
    """Says that a rewrite holds, but stands inside a later one."""
    pill = Pill(f"inside {name}")
    pill.setToolTip(f"Comes back into the window when {name} is undone")
    return pill


def rewrite_line(
    icon: IconLabel, words: QWidget, card: SweepCard | PlacedCard | FoldCard, wishes: Wishes, now_ms: int
) -> QHBoxLayout:
    """What a rewrite did, when it was, and its undo, in one line."""
    line = QHBoxLayout()
    line.setSpacing(9)
    line.addWidget(icon)
    line.addWidget(words, 1)
    if card.undone:
        line.addWidget(Pill("undone", "warn"))
    line.addWidget(moment(card.at_ms, now_ms))
    line.addWidget(undo_button(wishes, card.seq, card.undone))
    return line


def _said(icon: str, words: str, undone: bool) -> tuple[IconLabel, Words]:
    shown = Words(words, 13, "faint" if undone else "text", weight=500)
    return IconLabel(icon, px=15, ink="faint" if undone else "muted"), shown


class SweepView(Card):
    """A sweep in one line; unfolds to the hashes of what became markers."""

    def __init__(self, card: SweepCard, wishes: Wishes, now_ms: int) -> None:
        super().__init__((14, 5, 8, 5), 8)
        self._wishes, self._digests = wishes, card.digests
        self._hashes: FlowBox | None = None
        became = swept_words(card.outputs, card.steps, card.pictured)
        said = f"Sweep · {became} · {tokens_text(-card.saved)} tokens"
        if reason := sweep_reason_text(card.reason):
            said += f" · {reason}"
        self.setAccessibleName(said)
        row = rewrite_line(*_said("layers", said, card.undone), card, wishes, now_ms)
        self.unfold_button = IconButton("chevron-down", "Show the hashes", px=15, edge=28)
        self.unfold_button.setVisible(bool(card.digests))
        self.unfold_button.clicked.connect(self.unfold)
        row.addWidget(self.unfold_button)
        self.body.addLayout(row)

    def unfold(self) -> None:
        """Show the hashes, or hide them again."""
        if self._hashes is None:
            pills: list[QWidget] = []
            for digest in self._digests[:_SHOWN_DIGESTS]:
                pill = Pill(digest[:8], glyph="database", mono=True, clickable=True)
                pill.setToolTip("Show in the cache browser")
                pill.clicked.connect(lambda _=False, one=digest: self._wishes.digest.emit(one))
                pills.append(pill)
            if len(self._digests) > _SHOWN_DIGESTS:
                pills.append(Pill(f"and {len(self._digests) - _SHOWN_DIGESTS} more"))
            self._hashes = FlowBox(pills)
            self.body.addWidget(self._hashes)
            self.body.setContentsMargins(14, 5, 8, 10)
            retint(self._hashes, self._theme)
        else:
            self._hashes.setVisible(self._hashes.isHidden())
        shown = not self._hashes.isHidden()
        self.unfold_button.set_icon("chevron-up" if shown else "chevron-down")
        self.unfold_button.set_tip("Hide the hashes" if shown else "Show the hashes")


class FailureView(Card):
    """A handover that was not made."""

    def __init__(self, card: FailureCard, wishes: Wishes, now_ms: int) -> None:
        super().__init__((14, 10, 14, 10), 3)
        row = QHBoxLayout()
        row.setSpacing(9)
        row.addWidget(IconLabel("circle-alert", px=15, ink="error"))
        row.addWidget(Line(card.what, 13, 500), 1)
        row.addWidget(moment(card.at_ms, now_ms))
        self.body.addLayout(row)
        took = cost_text(card.spent, card.cost)
        below = column(margins=(24, 0, 0, 0), gap=3)  # under the words of the first line
        if card.why:
            below.addWidget(Words(card.why, 12, "muted"))
        if took:
            below.addWidget(Line(f"Took {took}", 12, role="muted"))
        if card.refused:
            below.addWidget(refused_part(card.refused, "muted"))
        if card.retry is not None:
            again = PushButton("Try again")
            again.setObjectName(f"timeline-try-again-{card.seq}")
            again.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            again.clicked.connect(lambda: wishes.retry.emit(card.retry))
            below.addSpacing(4)
            below.addWidget(again, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addLayout(below)
        self.setAccessibleName(" ".join(part for part in (card.what, card.why, took) if part))


class PlacedView(Card):
    """Observations that were put in place, in one line with their undo."""

    def __init__(self, card: PlacedCard, wishes: Wishes, now_ms: int) -> None:
        super().__init__((14, 5, 12, 5), 8)
        said = f"{title_of(card)} · {tokens_text(-card.saved)} tokens"
        said += f" · {placement_text(card.reason, card.threshold)}"
        self.setAccessibleName(said)
        self.body.addLayout(rewrite_line(*_said("eye", said, card.undone), card, wishes, now_ms))


class PersonView(QWidget):
    """A pin or a chosen form in one quiet line; the choice of a form can be undone."""

    def __init__(self, card: PersonCard, wishes: Wishes, now_ms: int) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 2, 14, 2)
        row.setSpacing(8)
        glyph = {"pin": "pin", "unpin": "pin-off", "form": "replace"}[card.kind]
        row.addWidget(IconLabel(glyph, px=13, ink="faint"))
        row.addWidget(Line(title_of(card), 12, role="muted"), 1)
        if card.undone:
            row.addWidget(Pill("undone", "warn"))
        show = PushButton("Show", "link")
        show.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        show.setAccessibleName(f"Show in the chat: {card.text}")
        show.clicked.connect(lambda: wishes.source.emit(card.target))
        row.addWidget(show)
        if card.kind == "form":
            row.addWidget(undo_button(wishes, card.seq, card.undone))
        row.addWidget(moment(card.at_ms, now_ms))
        self.setAccessibleName(title_of(card))


class MarkView(QWidget):
    """An undo or redo, in one quiet line."""

    def __init__(self, card: MarkCard, wishes: Wishes, now_ms: int) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 2, 14, 2)
        row.setSpacing(8)
        row.addWidget(IconLabel("undo-2" if card.kind == "undo" else "redo-2", px=13, ink="faint"))
        row.addWidget(Line(title_of(card), 12, role="muted"))
        row.addStretch(1)
        row.addWidget(moment(card.at_ms, now_ms))
        self.setAccessibleName(title_of(card))
