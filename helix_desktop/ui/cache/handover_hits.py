"""The line above the table that says which handovers hold the words searched for, and leads to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.ui.cache.chip_row import ChipRow
from helix_desktop.ui.cache.rows import HandoverLink
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

_MAX_TITLE_CHARS = 32  # characters of a session's title on a chip


class HandoverHits(QWidget):
    """Shows links to handovers; hidden while there are none."""

    handover_clicked = Signal(str, int)  # session, seq

    def __init__(self) -> None:
        super().__init__()
        self._links: Sequence[HandoverLink] = ()
        self.caption = TextLine("", 12, role="muted")
        self.caption.is_fixed_width = True
        self.caption.setFixedHeight(scaled(21))  # a chip's, so that both stand on one line
        self.chips = ChipRow()
        row = QHBoxLayout(self)
        set_margins(row, 18, 0, 12, 11)
        row.setSpacing(9)
        row.addWidget(self.caption, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.chips, 1, Qt.AlignmentFlag.AlignTop)
        self.hide()

    def show_links(self, links: Sequence[HandoverLink]) -> None:
        """Show these handovers."""
        if links == self._links:
            return
        self._links = links
        self.caption.set_text(tr.plural(len(links), "Also in a handover:", "Also in %n handovers:"))
        self.chips.show_chips(
            [
                (
                    "bookmark" if link.is_checkpoint else "git-compare",
                    f"{ellipsize_title(link.title or link.session_id[:8], _MAX_TITLE_CHARS)} · e{link.seq}",
                    f"{link.excerpt}\n{tr('Show in timeline')}",
                    partial(self.handover_clicked.emit, link.session_id, link.seq),
                )
                for link in links
            ]
        )
        self.setVisible(bool(links))
