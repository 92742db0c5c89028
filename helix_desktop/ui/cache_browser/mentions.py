"""The line above the table that says which handovers hold the words searched for, and leads to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from helix_desktop.context.digest import ellipsize
from helix_desktop.ui.cache_browser.chips import Chips
from helix_desktop.ui.cache_browser.rows import HandoverLink
from helix_desktop.ui.elements import Line
from helix_desktop.ui.fonts import scaled

_TITLE = 32  # characters of a session's title on a chip


class Mentions(QWidget):
    """Shows links to handovers; hidden while there are none."""

    chosen = Signal(str, int)  # session, seq

    def __init__(self) -> None:
        super().__init__()
        self._links: Sequence[HandoverLink] = ()
        self.said = Line("", 12, role="muted")
        self.said.stiff = True
        self.said.setFixedHeight(scaled(21))  # a chip's, so that both stand on one line
        self.chips = Chips()
        row = QHBoxLayout(self)
        row.setContentsMargins(18, 0, 12, 11)
        row.setSpacing(9)
        row.addWidget(self.said, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.chips, 1, Qt.AlignmentFlag.AlignTop)
        self.hide()

    def show_links(self, links: Sequence[HandoverLink]) -> None:
        """Show these handovers."""
        if links == self._links:
            return
        self._links = links
        self.said.set_text("Also in a handover:" if len(links) == 1 else f"Also in {len(links)} handovers:")
        self.chips.show_chips(
            [
                (
                    "git-compare",
                    f"{ellipsize(one.title or one.session[:8], _TITLE)} · e{one.seq}",
                    f"{one.excerpt}\nClick to see it in the timeline",
                    partial(self.chosen.emit, one.session, one.seq),
                )
                for one in links
            ]
        )
        self.setVisible(bool(links))
