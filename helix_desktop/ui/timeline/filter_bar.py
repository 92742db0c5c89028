"""The timeline's filter: all cards, or those of one kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.timeline.card_data import GROUPS, Group, TimelineCard, card_group
from helix_desktop.ui.timeline.card_texts import card_group_text, explain_group
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

MIN_CARDS = 10  # cards; a shorter timeline needs no filter


class TimelineFilterBar(QWidget):
    """One choice out of the kinds that there are."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.group: Group | None = None
        self._buttons: dict[Group | None, PushButton] = {}
        choice = QButtonGroup(self)
        for group in (None, *GROUPS):
            button = PushButton(card_group_text(group), "filter")
            button.setToolTip(explain_group(group))
            button.setObjectName(f"timeline-filter-{group or 'all'}")
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, clicked_group=group: self.choose(clicked_group))
            choice.addButton(button)
            self._buttons[group] = button
        self._buttons[None].setChecked(True)
        self._flow = FlowBox(list(self._buttons.values()))
        self.setLayout(column(self._flow, margins=(0, 0, 0, 6)))
        self.setAccessibleName(tr("Filter timeline"))
        self.hide()

    def choose(self, group: Group | None) -> None:
        """Show the cards of a kind only, or all."""
        self._buttons[group].setChecked(True)
        if group != self.group:
            self.group = group
            self.changed.emit()

    def set_cards(self, cards: Sequence[TimelineCard]) -> None:
        """Offer the kinds that these cards are of, with their number."""
        counts = Counter(card_group(card) for card in cards)
        for group, button in self._buttons.items():
            number = len(cards) if group is None else counts[group]
            button.setText(tr("{kind} {count}", kind=card_group_text(group), count=number))
            button.setVisible(group is None or number > 0)
        if self.group is not None and not counts[self.group]:
            self.choose(None)
        self._flow.rearrange()
        self.setVisible(len(cards) >= MIN_CARDS and len(counts) > 1)

    def matches(self, card: TimelineCard) -> bool:
        """Return True if a card is to be shown."""
        return self.group is None or card_group(card) == self.group
