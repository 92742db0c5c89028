"""A fold's card: what became a note, what that saved, the note itself, and the way back."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from helix_desktop.context.event_rewrite import FoldKind
from helix_desktop.ui.cache_browser.content_card import ContentCard
from helix_desktop.ui.elements import Card, Line, Role, Words
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.fonts import scaled
from helix_desktop.ui.pill import Pill
from helix_desktop.ui.timeline.cards import Wishes, index_pill, inside_pill, rewrite_line
from helix_desktop.ui.timeline.disclosure import Disclosure, DisclosureHead
from helix_desktop.ui.timeline.flow import FlowBox
from helix_desktop.ui.timeline.rows import FoldCard, title_of
from helix_desktop.ui.widgets import IconLabel

_AT_ONCE = 3_000  # characters of a note that stand whole in the card; a longer one scrolls in a frame
_FRAME = 300  # pixels, the height of that frame
_GLYPHS: dict[FoldKind, str] = {"fold": "list-tree", "condense": "minimize-2", "truncate": "scissors"}


def fold_words(card: FoldCard) -> str:
    """What became of how many steps."""
    steps = f"{card.steps:,} step{'s' if card.steps != 1 else ''}"
    match card.how:
        case "condense":
            return f"Notes of {steps} condensed into one"
        case "truncate":
            return f"{steps} left out for want of room"
    return f"{steps} folded into a note"


class FoldView(Card):
    """One line and pills; opens onto the note."""

    def __init__(self, card: FoldCard, wishes: Wishes, now_ms: int, *, unfolded: bool = False) -> None:
        super().__init__((14, 8, 12, 10), 6)
        self._card, self._wishes = card, wishes
        ink: Role = "faint" if card.undone else "text"
        self.setAccessibleName(
            f"{title_of(card)}, {fold_words(card)}, {card.before:,} to {card.after:,} tokens"
            + (", undone" if card.undone else f", inside {card.inside}" if card.inside else "")
        )
        self.body.addLayout(self._heading(now_ms, ink))
        self.body.addWidget(FlowBox(self._pills()))
        self.note = Disclosure(DisclosureHead("Note", f"{len(card.text):,} characters", ink), self._note)
        self.note.head.toggled.connect(lambda opened: wishes.unfolded.emit(card.seq, opened))
        self.body.addWidget(self.note)
        if unfolded:
            self.note.head.setChecked(True)

    def _heading(self, now_ms: int, ink: Role) -> QHBoxLayout:
        card = self._card
        tone = "faint" if card.undone else "warn" if card.how == "truncate" else "muted"
        icon = IconLabel(_GLYPHS[card.how], px=15, ink=tone)
        return rewrite_line(icon, Line(fold_words(card), 13, 500, ink), card, self._wishes, now_ms)

    def _pills(self) -> list[QWidget]:
        card = self._card
        change = f"{tokens_text(card.before)} → {tokens_text(card.after)} tokens"
        covers = Pill(f"e{card.first}–e{card.last}", mono=True, clickable=True)
        covers.setToolTip("Show the first of these events in the chat")
        covers.clicked.connect(lambda: self._wishes.source.emit(card.first))
        pills: list[QWidget] = [Pill(change, "neutral" if card.undone else "accent", "gauge"), covers]
        if card.index:
            pills.append(index_pill(card.index, card.index_entries, self._wishes))
        if card.inside and not card.undone:
            pills.append(inside_pill(card.inside))
        return pills

    def _note(self) -> QWidget:
        """The note as it stands in the window."""
        text = self._card.text
        if len(text) > _AT_ONCE:
            frame = ContentCard()
            frame.show_data(text.encode("utf-8", "surrogatepass"))
            frame.setFixedHeight(scaled(_FRAME))
            return frame
        whole = Card((12, 9, 12, 10), 0)
        whole.holds_code = True
        whole.body.addWidget(Words(text, 12, "text", mono=True))
        return whole
