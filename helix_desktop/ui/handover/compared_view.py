"""What differs between two handovers, section by section, with a way back for what was dropped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from helix_desktop.context.summaries.handover_revision import (
    ITEM_CHANGES,
    MISSING_CHANGES,
    ComparedItem,
    ComparedSection,
    ItemChange,
)
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.focus import FocusableScrollArea
from helix_desktop.ui.design.layout.boxes import clear_layout, column
from helix_desktop.ui.design.layout.disclosure import Disclosure, DisclosureHead
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.pill import Pill, Tone
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.handover.compare_data import change_count
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.words.translation import Translator

tr = Translator("Compare handovers")

_TONES: dict[ItemChange, Tone] = {
    "dropped": "warn",
    "below": "neutral",
    "changed": "accent",
    "moved": "neutral",
    "added": "ok",
    "same": "neutral",
}


class ComparedView(Themed, FocusableScrollArea):
    """Shows ComparedSections; it keeps its place when others come."""

    put_back_requested = Signal(str, object)  # the title of a section, and a Bullet

    def __init__(self) -> None:
        super().__init__()
        self._sections, page = column(gap=4), QWidget()
        page.setObjectName("page")
        page.setLayout(self._sections)
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Differences"))

    def show_sections(self, sections: Sequence[ComparedSection], *, can_put_back: bool) -> None:
        """Show what differs, at the same place; sections without any difference are closed."""
        bar = self.verticalScrollBar()
        place = bar.value()
        clear_layout(self._sections)
        for section in sections:
            self._sections.addWidget(self._section(section, can_put_back))
        self._sections.addStretch(1)
        retint(self, self._theme)
        QTimer.singleShot(0, self, lambda: bar.setValue(place))  # the new sections have their heights then

    def _section(self, section: ComparedSection, can_put_back: bool) -> Disclosure:
        different = [item for item in section.items if item.change != "same"]

        def build() -> QWidget:
            body, rows = _body()
            for kind, items in groupby(different, _kind):
                for at, item in enumerate(items):
                    rows.addWidget(self._item(section.title, item, kind, can_put_back, has_pill=not at))
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

    def _item(
        self, title: str, item: ComparedItem, kind: str, can_put_back: bool, *, has_pill: bool
    ) -> QWidget:
        """Return an item; the first one of its kind names the kind."""
        words, rows = QWidget(), QVBoxLayout()
        words.setLayout(rows)
        rows.setContentsMargins(0, 2, 0, 4)
        rows.setSpacing(4)
        text = (item.before or item.after or Bullet("")).text
        if has_pill:
            rows.addWidget(FlowBox([Pill(kind, _TONES[item.change])]))
        if item.change == "changed":
            rows.addWidget(self._bullet(item.before, item.before_spans, is_struck_out=True))
        is_missing = item.change in MISSING_CHANGES
        bullet = self._bullet(item.before if is_missing else item.after, item.after_spans)
        if is_missing and can_put_back:
            button = self._put_back_button(title, item.before)
            rows.addWidget(ResponsiveRow(bullet, [button], at_top=True))
        else:
            rows.addWidget(bullet)
        words.setAccessibleName(tr("{change}: {text}", change=kind, text=text))
        return words

    def _put_back_button(self, title: str, bullet: Bullet | None) -> PushButton:
        assert bullet is not None  # it was in a section before
        button = PushButton(tr("Put back"), "link", "undo-2", px=14, name="put_back")
        button.setAccessibleName(tr("Put back: {text}", text=bullet.text))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self.put_back_requested.emit(title, bullet))
        return button

    def _bullet(
        self, bullet: Bullet | None, marks: Sequence[tuple[int, int]] = (), *, is_struck_out: bool = False
    ) -> BulletView:
        assert bullet is not None
        return BulletView(
            bullet,
            "faint" if is_struck_out else "text",
            is_flagged=False,
            marks=marks,
            is_struck_out=is_struck_out,
        )


def _kind(item: ComparedItem) -> str:
    return tr("Moved from {section}", section=item.moved_from) if item.moved_from else _name(item.change)


def _name(change: ItemChange) -> str:
    return {
        "dropped": tr("Dropped"),
        "below": tr("Listed below the sections"),
        "changed": tr("Changed"),
        "moved": tr("Moved"),
        "added": tr("Added"),
        "same": tr("Unchanged"),
    }[change]


def _body() -> tuple[QWidget, QVBoxLayout]:
    body, rows = QWidget(), QVBoxLayout()
    body.setLayout(rows)
    set_margins(rows, 20, 0, 4, 6)
    rows.setSpacing(3)
    return body, rows
