"""The card of noted steps: what became a note, what that saved, the note itself, and the way back."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from helix_desktop.domain.events.rewrite import FoldKind
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.labels import IconLabel, SelectableText
from helix_desktop.ui.design.layout.disclosure import Disclosure, DisclosureHead
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import TextRole
from helix_desktop.ui.design.viewer.content_viewer import ContentViewer
from helix_desktop.ui.timeline.card_data import FoldCard
from helix_desktop.ui.timeline.card_texts import card_title, fold_card_text, fold_heading
from helix_desktop.ui.timeline.cards import CardSignals, index_pill, rewrite_row
from helix_desktop.words.numbers import format_token_change
from helix_desktop.words.rewrite_explanations import explain_noted
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

_AT_ONCE = 3_000  # characters of a note that stand whole in the card; a longer one scrolls in a frame
_FRAME = 300  # pixels, the height of that frame
_GLYPHS: dict[FoldKind, str] = {"fold": "list-tree", "condense": "minimize-2", "truncate": "scissors"}


class FoldView(Card):
    """One line and pills; opens onto the note."""

    def __init__(self, card: FoldCard, signals: CardSignals, now_ms: int, *, unfolded: bool = False) -> None:
        super().__init__((14, 8, 12, 10), 6)
        self._card, self._signals = card, signals
        color: TextRole = "faint" if card.is_undone else "text"
        parts = [card_title(card), fold_card_text(card), format_token_change(card.before, card.after)]
        if card.is_undone:
            parts.append(tr("Undone"))
        elif card.inside:
            parts.append(tr("Part of {title}", title=card.inside))
        self.setAccessibleName(" · ".join(parts))
        if card.kind != "truncate":
            self.setToolTip(explain_noted())
        self.body.addWidget(self._heading(now_ms, color))
        self.body.addWidget(FlowBox(self._pills()))
        length = tr.plural(len(card.text), "%n character", "%n characters")
        self.note = Disclosure(DisclosureHead(tr("Note"), length, color), self._note)
        self.note.head.toggled.connect(lambda opened: signals.unfolded.emit(card.seq, opened))
        self.body.addWidget(self.note)
        if unfolded:
            self.note.head.setChecked(True)

    def _heading(self, now_ms: int, role: TextRole) -> QWidget:
        card = self._card
        tone = "faint" if card.is_undone else "warn" if card.kind == "truncate" else "muted"
        icon = IconLabel(_GLYPHS[card.kind], px=15, color_token=tone)
        title = SelectableText(fold_heading(card), 13, role, weight=500)
        return rewrite_row(icon, title, card, self._signals, now_ms)

    def _pills(self) -> list[QWidget]:
        card = self._card
        change = format_token_change(card.before, card.after)
        covers = Pill(f"e{card.first_seq}–e{card.last_seq}", mono=True, clickable=True)
        covers.setToolTip(tr("Show first step in chat"))
        covers.clicked.connect(lambda: self._signals.source.emit(card.first_seq))
        pills: list[QWidget] = [Pill(change, "neutral" if card.is_undone else "accent", "gauge"), covers]
        if card.index:
            pills.append(index_pill(card.index, card.index_entries, self._signals))
        return pills

    def _note(self) -> QWidget:
        """Return the note as it stands in the window."""
        text = self._card.text
        if len(text) > _AT_ONCE:
            frame = ContentViewer()
            frame.show_data(text.encode("utf-8", "surrogatepass"))
            frame.setFixedHeight(scaled(_FRAME))
            return frame
        card = Card((12, 9, 12, 10), 0)
        card.is_code = True
        card.body.addWidget(SelectableText(text, 12, "text", mono=True))
        return card
