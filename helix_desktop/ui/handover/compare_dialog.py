"""The dialog that compares two handovers: what was dropped comes first, with the way back."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from helix_desktop.context.summaries.compare_handovers import (
    ITEM_CHANGES,
    ComparedItem,
    ComparedSection,
    ItemChange,
)
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import Combo
from helix_desktop.ui.design.focus import FocusableScrollArea
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.beside import BesideOrBelow
from helix_desktop.ui.design.layout.boxes import clear_layout, column
from helix_desktop.ui.design.layout.disclosure import Disclosure, DisclosureHead
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.pill import Pill, Tone
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.themed import Themed, restyle, retint
from helix_desktop.ui.handover.compare_rows import ComparedPair, HandoverChoice, change_count
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.card_data import Bullet as BulletRow
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Compare handovers")

_SIZE, _MIN_SIZE = (780, 720), (460, 380)
_CHOICE_CHARS = 16  # of a handover's name that are shown at least; the whole is its tooltip
_TONES: dict[ItemChange, Tone] = {
    "dropped": "warn",
    "changed": "accent",
    "moved": "neutral",
    "added": "ok",
    "same": "neutral",
}


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
        self._sections, self._scroll = column(gap=4), FocusableScrollArea()
        self._notice_row = BesideOrBelow(self.notice, [self.undo_button])
        self._lay_out()
        self.before_box.activated.connect(lambda _: self._request())
        self.after_box.activated.connect(lambda _: self._request())
        self.undo_button.clicked.connect(self.undo_requested)
        self.close_button.clicked.connect(self.accept)
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
        self.reason.setText(pair.reason)
        self.reason.setVisible(bool(pair.reason))
        bar = self._scroll.verticalScrollBar()
        place = bar.value()
        clear_layout(self._sections)
        for section in pair.sections:
            self._sections.addWidget(self._section(section, pair.can_put_back))
        self._sections.addStretch(1)
        retint(self, self._theme)
        QTimer.singleShot(0, self, lambda: bar.setValue(place))  # the new sections have their heights then

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
        self._scroll.verticalScrollBar().setValue(0)
        self.pair_requested.emit(self.before_box.currentData(), self.after_box.currentData())

    def _lay_out(self) -> None:
        pickers = QHBoxLayout()
        pickers.setSpacing(16)
        for name, box in ((tr("Before"), self.before_box), (tr("After"), self.after_box)):
            box.setAccessibleName(name)
            pickers.addLayout(column(label(name, "muted"), box, gap=4), 1)
        scroll, page = self._scroll, QWidget()
        page.setObjectName("page")
        page.setLayout(self._sections)
        scroll.setWidget(page)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setAccessibleName(tr("Differences"))
        buttons = FlowBox([self.close_button], right_from=0)
        title = label(tr("Compare handovers"), "title")
        layout = column(title, margins=(22, 20, 22, 16), gap=10)
        layout.addLayout(pickers)
        for widget in (self.counts, self.reason):
            layout.addWidget(widget)
        layout.addWidget(scroll, 1)
        layout.addWidget(self._notice_row)
        layout.addWidget(buttons)
        self.setLayout(layout)

    def _section(self, section: ComparedSection, can_put_back: bool) -> Disclosure:
        different = [item for item in section.items if item.change != "same"]

        def build() -> QWidget:
            body, rows = _body()
            for item in different:
                rows.addWidget(self._item(section.title, item, can_put_back))
            same = [item for item in section.items if item.change == "same"]
            if same and different:
                rows.addWidget(self._same(same))
            else:
                for item in same:
                    rows.addWidget(self._bullet(item.after))
            return body

        counts = [
            change_count(change, section.count(change)) for change in ITEM_CHANGES if section.count(change)
        ]
        part = Disclosure(DisclosureHead(section.title, " · ".join(counts) or tr("empty"), "text"), build)
        part.head.setEnabled(bool(section.items))
        part.head.setChecked(bool(different))
        return part

    def _same(self, items: Sequence[ComparedItem]) -> Disclosure:
        """Return the items without a difference, closed."""

        def build() -> QWidget:
            body, rows = _body()
            for item in items:
                rows.addWidget(self._bullet(item.after))
            return body

        return Disclosure(DisclosureHead(change_count("same", len(items)), "", "muted"), build)

    def _item(self, title: str, item: ComparedItem, can_put_back: bool) -> QWidget:
        words, rows = QWidget(), QVBoxLayout()
        words.setLayout(rows)
        rows.setContentsMargins(0, 2, 0, 6)
        rows.setSpacing(2)
        kind = tr("Moved from {section}", section=item.moved_from) if item.moved_from else _name(item.change)
        pill = Pill(kind, _TONES[item.change])
        text = (item.before or item.after or Bullet("")).text
        if item.change == "dropped" and can_put_back:
            rows.addWidget(BesideOrBelow(FlowBox([pill]), [self._put_back_button(title, item.before)]))
        else:
            rows.addWidget(FlowBox([pill]))
        if item.change == "changed":
            rows.addWidget(self._bullet(item.before, item.before_spans, is_struck_out=True))
        bullet = item.before if item.change == "dropped" else item.after
        rows.addWidget(self._bullet(bullet, item.after_spans))
        words.setAccessibleName(tr("{change}: {text}", change=kind, text=text))
        return words

    def _put_back_button(self, title: str, bullet: Bullet | None) -> PushButton:
        assert bullet is not None  # it was dropped
        button = PushButton(tr("Put back"), "link", "undo-2", px=14, name="put_back")
        button.setAccessibleName(tr("Put back: {text}", text=bullet.text))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self.put_back_requested.emit(title, bullet))
        return button

    def _bullet(
        self, bullet: Bullet | None, marks: Sequence[tuple[int, int]] = (), *, is_struck_out: bool = False
    ) -> BulletView:
        assert bullet is not None
        view = BulletView(
            BulletRow(bullet.text, bullet.sources),
            "faint" if is_struck_out else "text",
            is_flagged=False,
            marks=marks,
            is_struck_out=is_struck_out,
        )
        view.source_clicked.connect(self.source_clicked)
        return view


def _name(change: ItemChange) -> str:
    return {
        "dropped": tr("Dropped"),
        "changed": tr("Changed"),
        "moved": tr("Moved"),
        "added": tr("Added"),
        "same": tr("Unchanged"),
    }[change]


def _body() -> tuple[QWidget, QVBoxLayout]:
    body, rows = QWidget(), QVBoxLayout()
    body.setLayout(rows)
    rows.setContentsMargins(20, 0, 4, 6)
    rows.setSpacing(3)
    return body, rows


def _choice_box(name: str) -> Combo:
    box = Combo()
    box.setObjectName(name)
    box.setSizeAdjustPolicy(Combo.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_CHOICE_CHARS)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return box
