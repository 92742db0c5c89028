"""The box with the ranges that a handover could cover."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt

from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.handover.dialog_data import HandoverRange

_MIN_CHARS = 24  # of a range that are shown at least; the whole is its tooltip
_COUNTS_ROLE = Qt.ItemDataRole.UserRole + 1


class RangeBox(ComboBox):
    """Shows the counts of a range whole: where room ends, its name is cut."""

    def __init__(self) -> None:
        """Start without a range."""
        super().__init__()
        self.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(_MIN_CHARS)

    def show_ranges(self, ranges: Sequence[HandoverRange]) -> None:
        """Offer these ranges."""
        self.clear()
        for place, handover_range in enumerate(ranges):
            self.addItem(handover_range.text, handover_range.upto)
            self.setItemData(place, handover_range.counts, _COUNTS_ROLE)
        self.setEnabled(len(ranges) > 1)

    def showPopup(self) -> None:
        """Open the list as wide as the ranges are, in the style and text size in force."""
        view = self.view()
        view.ensurePolished()  # its style has a frame
        around_px = view.verticalScrollBar().sizeHint().width() + 2 * view.frameWidth()
        view.setMinimumWidth(view.sizeHintForColumn(0) + around_px)
        super().showPopup()

    def fit(self, text: str, room: int) -> str:
        """Return a range as it fits: a part of its name, all of its counts."""
        counts = str(self.currentData(_COUNTS_ROLE) or "")
        if not counts:
            return super().fit(text, room)
        name_room = room - self.fontMetrics().horizontalAdvance(counts)
        return super().fit(text.removesuffix(counts), name_room) + counts
