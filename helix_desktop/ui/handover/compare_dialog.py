"""The dialog that compares two handovers: what was dropped comes first, with the way back."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.themed import Themed, restyle
from helix_desktop.ui.handover.compare_data import ComparedPair, HandoverChoice, compared_counts
from helix_desktop.ui.handover.compared_view import ComparedView
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Compare handovers")

_SIZE, _MIN_SIZE = (780, 720), (460, 380)
_CHOICE_CHARS = 16  # of a handover's name that are shown at least; the whole is its tooltip


class CompareDialog(Themed, SizedDialog):
    """Shows a ComparedPair; what it asks for comes out as signals."""

    pair_requested = Signal(int, int)  # the handover before and the one after, as HandoverChoice names them
    put_back_requested = Signal(str, object)  # the title of a section, and a Bullet
    undo_requested = Signal()  # of what was put back last
    source_clicked = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        """Start without handovers."""
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setModal(True)
        self.setWindowTitle(tr("Compare handovers"))
        self.before_box, self.after_box = _choice_box("compare-before"), _choice_box("compare-after")
        self.counts = label("", "muted", wrap=True)
        self.counts.setObjectName("compare-counts")
        self.reason = label("", "note", wrap=True)
        self.reason.setObjectName("compare-reason")
        self.notice = label("", "note", wrap=True)
        self.notice.setObjectName("compare-notice")
        self.undo_button = PushButton(tr("Undo"), "link", "undo-2", px=14, name="undo")
        self.close_button = PushButton(tr("Close"), name="close")
        self.compared = ComparedView()
        self._notice_row = ResponsiveRow(self.notice, [self.undo_button])
        self._lay_out()
        self.before_box.activated.connect(lambda _: self._request())
        self.after_box.activated.connect(lambda _: self._request())
        self.undo_button.clicked.connect(self.undo_requested)
        self.close_button.clicked.connect(self.accept)
        self.compared.put_back_requested.connect(self.put_back_requested)
        self.compared.source_clicked.connect(self.source_clicked)
        self.show_notice("")

    def show_choices(self, choices: Sequence[HandoverChoice], before: int, after: int) -> None:
        """Offer these handovers, with two of them chosen."""
        for box, seq in ((self.before_box, before), (self.after_box, after)):
            box.clear()
            for choice in choices:
                box.addItem(choice.text, choice.seq)
            box.setCurrentIndex(max(0, box.findData(seq)))
            box.setToolTip(box.currentText())

    def show_pair(self, pair: ComparedPair) -> None:
        """Show what differs, at the same place; sections without any difference are closed."""
        self.counts.setText(pair.summary)
        show_text(self.reason, pair.reason)
        self.compared.show_sections(pair.sections, can_put_back=pair.can_put_back)
        height = (_SIZE if compared_counts(pair.sections) else _MIN_SIZE)[1]
        if not self.isVisible() or self.height() < height:  # it does not shrink under the pointer
            self.fit_height(height)

    def show_notice(self, text: str, *, has_undo: bool = False) -> None:
        """Say what was done, if it can be undone with a button."""
        restyle(self.notice, "role", "note")
        self.notice.setText(text)
        self._notice_row.setVisible(bool(text))
        self.undo_button.setVisible(has_undo)
        if text:
            announce(self, text)
        if has_undo:
            self.undo_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_error(self, error: HelixError) -> None:
        """Show in place why something cannot be done now."""
        self.show_notice(error_text(error))
        restyle(self.notice, "role", "error")

    def _request(self) -> None:
        self.show_notice("")
        self.compared.verticalScrollBar().setValue(0)
        self.pair_requested.emit(self.before_box.currentData(), self.after_box.currentData())

    def _lay_out(self) -> None:
        pickers = QHBoxLayout()
        pickers.setSpacing(16)
        for name, box in ((tr("Before"), self.before_box), (tr("After"), self.after_box)):
            box.setAccessibleName(name)
            pickers.addLayout(column(label(name, "muted"), box, gap=4), 1)
        buttons = FlowBox([self.close_button], right_from=0)
        title = label(tr("Compare handovers"), "title")
        layout = column(title, margins=DIALOG_MARGINS, gap=10)
        layout.addLayout(pickers)
        for widget in (self.counts, self.reason):
            layout.addWidget(widget)
        layout.addWidget(self.compared, 1)
        layout.addWidget(self._notice_row)
        layout.addWidget(buttons)
        self.setLayout(layout)


def _choice_box(name: str) -> ComboBox:
    box = ComboBox()
    box.setObjectName(name)
    box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_CHOICE_CHARS)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return box
