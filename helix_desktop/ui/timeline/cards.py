"""The small cards of the timeline: sweeps, pins, failures, undo marks."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.labels import IconLabel, SelectableText, TextLine
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.layout.disclosure import refused_disclosure
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.timeline.card_data import (
    FailureCard,
    FoldCard,
    ManualActionCard,
    PlacedCard,
    SweepCard,
    UndoCard,
    card_title,
)
from helix_desktop.words.costs import cost_text
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.rewrite_reasons import placement_text, sweep_reason_text
from helix_desktop.words.rewrites import masked_contents_text
from helix_desktop.words.times import format_relative_time

_MAX_DIGESTS = 24


class CardSignals(QObject):
    """Signals for what the user asks of a card; seqs name events."""

    undo = Signal(int)
    redo = Signal(int)
    show_in_chat = Signal(int)
    source = Signal(int)
    digest = Signal(str)
    export = Signal(int)
    retry = Signal(str)  # an Attempt
    cancel = Signal()
    unfolded = Signal(int, bool)


def undo_button(signals: CardSignals, seq: int, undone: bool) -> PushButton:
    """Undo, or Redo when it is undone already."""
    button = PushButton(
        " Redo" if undone else " Undo",
        "link",
        "redo-2" if undone else "undo-2",
        px=14,
        name="redo" if undone else "undo",
    )
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    signal = signals.redo if undone else signals.undo
    button.clicked.connect(lambda: signal.emit(seq))
    return button


def time_label(at_ms: int, now_ms: int) -> TextLine:
    """When a card's event was."""
    words = TextLine(format_relative_time(at_ms, now_ms, with_time=True), 12, role="faint")
    words.is_fixed_width = True
    return words


def model_pill(model: str, calls: int, fallback: str, prompt: str) -> Pill:
    """Who wrote it, in how many calls; why it was not done as usual, and by which instructions, on top."""
    text = f"{model} · {calls} calls" if calls > 1 else model
    pill = Pill(text, "warn" if fallback else "neutral", "list" if model.startswith("no model") else "bot")
    lines = [fallback, f"Instructions: {prompt}" if prompt else ""]
    pill.setToolTip("\n".join(part for part in lines if part))
    return pill


def cost_pills(spent: int, cost: float, demo: bool) -> list[Pill]:
    """Return what all its model calls took, in tokens and money; none where no model was asked."""
    text = cost_text(spent, cost, demo)
    if not text:
        return []
    pill = Pill(f"used {text}")
    pill.setToolTip("Tokens read and written by the model, and what they cost")
    return [pill]


def index_pill(digest: str, entries: int, signals: CardSignals) -> Pill:
    """Return the way to the index entry of what a rewrite covers."""
    pill = Pill(digest[:8], icon_name="database", mono=True, clickable=True)
    pill.setToolTip(f"Index of {entries} cached outputs: show it in the cache browser")
    pill.setAccessibleName(f"Index {digest[:8]} of {entries} cached outputs")
    pill.clicked.connect(lambda: signals.digest.emit(digest))
    return pill


def inside_pill(name: str) -> Pill:
    """Says that a rewrite holds, but stands inside a later one."""
    pill = Pill(f"inside {name}")
    pill.setToolTip(f"Comes back into the window when {name} is undone")
    return pill


def rewrite_line(
    icon: IconLabel,
    content: QWidget,
    card: SweepCard | PlacedCard | FoldCard,
    signals: CardSignals,
    now_ms: int,
) -> QHBoxLayout:
    """Return what a rewrite did, when it was, and its undo, in one line."""
    line = QHBoxLayout()
    line.setSpacing(9)
    line.addWidget(icon)
    line.addWidget(content, 1)
    if card.is_undone:
        line.addWidget(Pill("undone", "warn"))
    line.addWidget(time_label(card.at_ms, now_ms))
    line.addWidget(undo_button(signals, card.seq, card.is_undone))
    return line


def _headline(icon: str, text: str, undone: bool) -> tuple[IconLabel, SelectableText]:
    headline = SelectableText(text, 13, "faint" if undone else "text", weight=500)
    return IconLabel(icon, px=15, color_token="faint" if undone else "muted"), headline


class SweepView(Card):
    """A sweep in one line; unfolds to the hashes of what became markers."""

    def __init__(self, card: SweepCard, signals: CardSignals, now_ms: int) -> None:
        super().__init__((14, 5, 8, 5), 8)
        self._signals, self._digests = signals, card.digests
        self._hashes: FlowBox | None = None
        became = masked_contents_text(card.outputs, card.steps, card.image_messages)
        title = f"Sweep · {became} · {format_tokens(-card.saved)} tokens"
        if reason := sweep_reason_text(card.reason):
            title += f" · {reason}"
        self.setAccessibleName(title)
        row = rewrite_line(*_headline("layers", title, card.is_undone), card, signals, now_ms)
        self.unfold_button = IconButton("chevron-down", "Show the hashes", px=15, edge=28)
        self.unfold_button.setVisible(bool(card.digests))
        self.unfold_button.clicked.connect(self.unfold)
        row.addWidget(self.unfold_button)
        self.body.addLayout(row)

    def unfold(self) -> None:
        """Show the hashes, or hide them again."""
        if self._hashes is None:
            pills: list[QWidget] = []
            for digest in self._digests[:_MAX_DIGESTS]:
                pill = Pill(digest[:8], icon_name="database", mono=True, clickable=True)
                pill.setToolTip("Show in the cache browser")
                pill.clicked.connect(
                    lambda _=False, clicked_digest=digest: self._signals.digest.emit(clicked_digest)
                )
                pills.append(pill)
            if len(self._digests) > _MAX_DIGESTS:
                pills.append(Pill(f"and {len(self._digests) - _MAX_DIGESTS} more"))
            self._hashes = FlowBox(pills)
            self.body.addWidget(self._hashes)
            self.body.setContentsMargins(14, 5, 8, 10)
            retint(self._hashes, self._theme)
        else:
            self._hashes.setVisible(self._hashes.isHidden())
        visible = not self._hashes.isHidden()
        self.unfold_button.set_icon("chevron-up" if visible else "chevron-down")
        self.unfold_button.set_tip("Hide the hashes" if visible else "Show the hashes")


class FailureView(Card):
    """A handover that was not made."""

    def __init__(self, card: FailureCard, signals: CardSignals, now_ms: int) -> None:
        super().__init__((14, 10, 14, 10), 3)
        row = QHBoxLayout()
        row.setSpacing(9)
        row.addWidget(IconLabel("circle-alert", px=15, color_token="error"))
        row.addWidget(TextLine(card.what, 13, 500), 1)
        row.addWidget(time_label(card.at_ms, now_ms))
        self.body.addLayout(row)
        cost = cost_text(card.spent, card.cost)
        below = column(margins=(24, 0, 0, 0), gap=3)  # under the words of the first line
        if card.why:
            below.addWidget(SelectableText(card.why, 12, "muted"))
        if cost:
            below.addWidget(TextLine(f"Took {cost}", 12, role="muted"))
        if card.refused:
            below.addWidget(refused_disclosure(card.refused, "muted"))
        if card.retry is not None:
            again = PushButton("Try again")
            again.setObjectName(f"timeline-try-again-{card.seq}")
            again.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            again.clicked.connect(lambda: signals.retry.emit(card.retry))
            below.addSpacing(4)
            below.addWidget(again, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addLayout(below)
        self.setAccessibleName(" ".join(part for part in (card.what, card.why, cost) if part))


class PlacedView(Card):
    """Observations that were put in place, in one line with their undo."""

    def __init__(self, card: PlacedCard, signals: CardSignals, now_ms: int) -> None:
        super().__init__((14, 5, 12, 5), 8)
        title = f"{card_title(card)} · {format_tokens(-card.saved)} tokens"
        title += f" · {placement_text(card.reason, card.threshold)}"
        self.setAccessibleName(title)
        self.body.addLayout(rewrite_line(*_headline("eye", title, card.is_undone), card, signals, now_ms))


class ManualActionView(QWidget):
    """A pin or a chosen form in one quiet line; the choice of a form can be undone."""

    def __init__(self, card: ManualActionCard, signals: CardSignals, now_ms: int) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 2, 14, 2)
        row.setSpacing(8)
        glyph = {"pin": "pin", "unpin": "pin-off", "form": "replace"}[card.kind]
        row.addWidget(IconLabel(glyph, px=13, color_token="faint"))
        row.addWidget(TextLine(card_title(card), 12, role="muted"), 1)
        if card.is_undone:
            row.addWidget(Pill("undone", "warn"))
        show = PushButton("Show", "link", name="show")
        show.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        show.setAccessibleName(f"Show in the chat: {card.text}")
        show.clicked.connect(lambda: signals.source.emit(card.target))
        row.addWidget(show)
        if card.kind == "form":
            row.addWidget(undo_button(signals, card.seq, card.is_undone))
        row.addWidget(time_label(card.at_ms, now_ms))
        self.setAccessibleName(card_title(card))


class UndoView(QWidget):
    """An undo or redo, in one quiet line."""

    def __init__(self, card: UndoCard, signals: CardSignals, now_ms: int) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 2, 14, 2)
        row.setSpacing(8)
        row.addWidget(IconLabel("undo-2" if card.kind == "undo" else "redo-2", px=13, color_token="faint"))
        row.addWidget(TextLine(card_title(card), 12, role="muted"))
        row.addStretch(1)
        row.addWidget(time_label(card.at_ms, now_ms))
        self.setAccessibleName(card_title(card))
