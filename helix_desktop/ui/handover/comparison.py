"""What differs between the version on screen and another one: what was dropped first, to be put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from helix_desktop.context.summaries.handover_revision import (
    ITEM_CHANGES,
    MISSING_CHANGES,
    ComparedItem,
    ComparedSection,
    ItemChange,
)
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dynamic_style import TextRole
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import clear_layout, column, pane, row
from helix_desktop.ui.design.layout.disclosure import Disclosure, DisclosureHead
from helix_desktop.ui.design.layout.scrolling import ListScrollArea
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.handover.versions import Version
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.words.translation import Translator

tr = Translator("Handover")

_CHOICE_CHARS = 12  # of a version's name that are shown at least; the whole is its tooltip
_SIGNS: dict[ItemChange, tuple[str, TextRole]] = {
    "dropped": ("minus", "error"),
    "below": ("minus", "muted"),
    "changed": ("pencil", "accent_text"),
    "moved": ("arrow-right", "muted"),
    "added": ("plus", "ok"),
}


class CompareWith(Intent, frozen=True):  # another version, or NOTHING
    seq: int


class PutBack(Intent, frozen=True):  # a sentence of the other version, into a section
    title: str
    bullet: Bullet


def change_count(change: ItemChange, count: int) -> str:
    counts: dict[ItemChange, Callable[[], str]] = {
        "dropped": lambda: tr.plural(count, "%n dropped", "%n dropped"),
        "below": lambda: tr.plural(count, "%n listed below", "%n listed below"),
        "changed": lambda: tr.plural(count, "%n changed", "%n changed"),
        "moved": lambda: tr.plural(count, "%n moved", "%n moved"),
        "added": lambda: tr.plural(count, "%n added", "%n added"),
        "same": lambda: tr.plural(count, "%n unchanged", "%n unchanged"),
    }
    return counts[change]()


def compared_counts(sections: Sequence[ComparedSection]) -> str:
    """Return how many items changed in each way; that none did, if so."""
    counts = {change: sum(part.count(change) for part in sections) for change in ITEM_CHANGES}
    if sum(counts.values()) == counts["same"]:
        return tr("No differences")
    return " · ".join(change_count(change, count) for change, count in counts.items() if count)


class Comparison(QFrame):
    """What differs, by kinds; it keeps its place, and the keyboard, when others come."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("inspector_pane")
        self.other_box = ComboBox()
        self.other_box.setObjectName("compare-with")
        self.other_box.setAccessibleName(tr("Compared with"))
        self.other_box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.other_box.setMinimumContentsLength(_CHOICE_CHARS)
        self.other_box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.other_box.activated.connect(lambda _: perform(self, CompareWith(self.other_box.currentData())))
        self.counts = label("", "note", wrap=True)
        self.counts.setObjectName("compare-counts")
        self.reason = label(tr("Nothing can be put back here."), "note", wrap=True)
        self.reason.setObjectName("compare-reason")
        self._items, page = column(gap=6, margins=(0, 0, 6, 0)), QWidget()
        page.setObjectName("page")
        page.setLayout(self._items)
        self.area = ListScrollArea(page, tr("Differences"))
        head = column(label(tr("Compared with"), "muted"), self.other_box, self.counts, self.reason, gap=6)
        set_margins(head, 6, 0, 6, 0)
        self.setLayout(column(head, self.area, margins=(12, 18, 6, 10), gap=6, stretch=1))
        self.buttons: list[PushButton] = []  # that put something back
        self._shown: tuple[Sequence[ComparedSection], bool] | None = None

    def show_choices(self, versions: Sequence[Version], other: int) -> None:
        self.other_box.clear()
        for version in versions:
            self.other_box.addItem(version.title, version.seq)
        self.other_box.setCurrentIndex(max(0, self.other_box.findData(other)))

    def show_sections(self, sections: Sequence[ComparedSection], *, can_put_back: bool) -> None:
        is_any_missing = any(section.count(change) for section in sections for change in MISSING_CHANGES)
        self.counts.setText(compared_counts(sections))
        self.reason.setVisible(is_any_missing and not can_put_back)
        if self._shown == (sections, can_put_back):
            return
        self._shown = (sections, can_put_back)
        bar = self.area.verticalScrollBar()
        value, focused = bar.value(), [button.hasFocus() for button in self.buttons]
        self.buttons = []
        clear_layout(self._items)
        for change in ITEM_CHANGES:
            items = [(part.title, item) for part in sections for item in part.items if item.change == change]
            if items:
                self._items.addWidget(
                    _same(items) if change == "same" else self._group(change, items, can_put_back)
                )
        self._items.addStretch(1)
        QTimer.singleShot(0, self, lambda: bar.setValue(value))  # what is new has its height then
        if any(focused):
            following = self.buttons[focused.index(True) :] or self.buttons[-1:]
            (following[0] if following else self.other_box).setFocus()

    def _group(
        self, change: ItemChange, items: Sequence[tuple[str, ComparedItem]], can_put_back: bool
    ) -> QWidget:
        sign, color = _SIGNS[change]
        name = _name(change)
        heading = row(IconLabel(sign, px=14, color_token=color), label(name, "strong"), None, gap=8)
        rows = column(heading, margins=(0, 6, 0, 4), gap=4)
        is_missing = change in MISSING_CHANGES
        for title, item in items:
            if change == "changed":
                rows.addWidget(_bullet(item.before, item.before_spans, is_struck_out=True))
            shown = _bullet(item.before if is_missing else item.after, item.after_spans)
            shown.setAccessibleName(tr("{change}: {text}", change=name, text=shown.accessibleName()))
            rows.addWidget(shown)
            if item.moved_from:
                rows.addWidget(label(tr("From {section}", section=item.moved_from), "faint", wrap=True))
            if is_missing and can_put_back and item.before is not None:
                self.buttons.append(_put_back_button(title, item.before))
                rows.addLayout(row(13, self.buttons[-1], None, gap=0))
        return pane(rows)


def _name(change: ItemChange) -> str:
    return {
        "dropped": tr("Dropped"),
        "below": tr("Listed below the sections"),
        "changed": tr("Changed"),
        "moved": tr("Moved"),
        "added": tr("Added"),
        "same": tr("Unchanged"),
    }[change]


def _put_back_button(title: str, bullet: Bullet) -> PushButton:
    button = PushButton(tr("Put back"), "link", name="put_back")
    button.setAccessibleName(tr("Put back: {text}", text=bullet.text))
    button.setToolTip(tr("Into {section}", section=title))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.clicked.connect(lambda: perform(button, PutBack(title, bullet)))
    return button


def _same(items: Sequence[tuple[str, ComparedItem]]) -> Disclosure:
    """Return the items without a difference, closed."""
    head = DisclosureHead(change_count("same", len(items)), "", "muted")
    return Disclosure(head, lambda: pane(column(*(_bullet(item.after) for _, item in items), gap=3)))


def _bullet(
    bullet: Bullet | None, marks: Sequence[tuple[int, int]] = (), *, is_struck_out: bool = False
) -> BulletView:
    assert bullet is not None  # each kind of change has it
    role: TextRole = "faint" if is_struck_out else "text"
    return BulletView(bullet, role, is_flagged=False, marks=marks, is_struck_out=is_struck_out)
