"""The bar above the list of changes: how to group, what to list, how much there is."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QWidget

from helix_desktop.domain.file_history.changes import ChangeSource
from helix_desktop.ui.changes.rows import (
    SOURCES,
    ChangeFilter,
    GroupedChanges,
    Grouping,
    LineCounts,
    ListSource,
)
from helix_desktop.ui.changes.texts import change_source_text, changes_total_text
from helix_desktop.ui.design.buttons import IconButton, PushButton, TabButton, TabList
from helix_desktop.ui.design.fields import SearchField
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.layout.flow import FLOW_GAP, FlowBox
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_DEBOUNCE_MS = 150  # after the last key, before the list is filtered
_FIELD_PX = 210
_COUNTER_PX = 640  # width of the bar below which the counter goes


class ChangesFilterBar(QWidget):
    changed = Signal()
    source_changed = Signal(str)
    """Something else is to be listed: a ListSource."""
    menu_requested = Signal(QWidget)

    def __init__(self) -> None:
        super().__init__()
        self.grouping: Grouping = "turn"
        self.source: ListSource = "session"
        self.field = SearchField(tr("Filter by path"))
        self.field.setObjectName("change_filter")
        self.field.setFixedWidth(_FIELD_PX)
        self.counter = TextLine("", 12, role="muted")
        self.more = IconButton("ellipsis", tr("More actions"))
        self.more.setObjectName("changes_more")
        self.more.clicked.connect(lambda: self.menu_requested.emit(self.more))
        self._debounce = QTimer(self, singleShot=True, interval=_DEBOUNCE_MS)
        self._debounce.timeout.connect(self.changed)
        self.field.textChanged.connect(lambda _: self._debounce.start())
        self._groupings: dict[Grouping, TabButton] = {}
        self._sources: dict[ChangeSource, PushButton] = {}
        for source in SOURCES:
            chip = PushButton(change_source_text(source), "filter", name=f"changes-by-{source}")
            chip.setCheckable(True)
            chip.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            chip.toggled.connect(lambda _: self.changed.emit())
            chip.hide()
            self._sources[source] = chip
        self._chips = FlowBox(list(self._sources.values()))
        self._grouping_switch = self._make_grouping_switch()
        self._source_switch = self._make_source_switch()
        end = QWidget()  # the button never stands alone in a row
        end.setLayout(row(self.counter, self.more, gap=FLOW_GAP))
        self._controls = FlowBox([self._source_switch, self._grouping_switch, self.field, end], right_from=3)
        self.setLayout(column(self._controls, self._chips, margins=(18, 32, 12, 10), gap=8))

    @property
    def change_filter(self) -> ChangeFilter:
        checked = (source for source, chip in self._sources.items() if self._is_on(chip))
        return ChangeFilter(self.field.text().strip(), frozenset(checked))

    def group_by(self, grouping: Grouping) -> None:
        self._groupings[grouping].setChecked(True)
        if grouping != self.grouping:
            self.grouping = grouping
            self.changed.emit()

    def clear(self) -> None:
        self.field.clear()
        self._debounce.stop()
        for chip in self._sources.values():
            chip.blockSignals(True)
            chip.setChecked(False)
            chip.blockSignals(False)
        self.changed.emit()

    def show_changes(self, grouped: GroupedChanges) -> None:
        """Offer those who made the changes where there are several."""
        changes = grouped.changes
        present = {capture.source for capture in changes.captures}
        for source, chip in self._sources.items():
            number = sum(capture.source == source for capture in changes.captures)
            chip.setText(tr("{kind} {count}", kind=change_source_text(source), count=number))
            chip.setVisible(source in present and len(present) > 1)
        self._chips.setVisible(len(present) > 1)
        self._chips.rearrange()
        self._controls.rearrange()

    def show_total(self, grouped: GroupedChanges, counts: LineCounts | None) -> None:
        """Say how much changed; None: its lines are not counted yet, or too many."""
        words = changes_total_text(grouped, counts)
        if words != self.counter.text:
            self.counter.set_text(words)
            self._controls.rearrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.counter.setVisible(self.width() >= _COUNTER_PX)

    def _is_on(self, chip: PushButton) -> bool:
        return chip.isChecked() and not chip.isHidden()

    def show_source(self, source: ListSource, *, has_git: bool) -> None:
        """Show what is listed, and let the user choose where there are two."""
        self.source = source
        self._sources_of_list[source].setChecked(True)
        self.counter.set_note(
            tr("Each file as it is now, compared with the last commit.")
            if source == "commit"
            else tr(
                "Each file as it is now, compared with what it was before this session changed it. By turn, "
                "each row shows the lines of its own change, so they may add up to more."
            )
        )
        self._source_switch.setVisible(has_git or source == "commit")
        self._grouping_switch.setVisible(source == "session")
        self._controls.rearrange()

    def _choose_source(self, source: ListSource) -> None:
        if source != self.source:
            self.source = source
            self.source_changed.emit(source)

    def _make_source_switch(self) -> TabList:
        self._sources_of_list: dict[ListSource, TabButton] = {}
        switch, group, line = self._switch(tr("What is listed"))
        labels: tuple[tuple[ListSource, str], ...] = (
            ("session", tr("Session")),
            ("commit", tr("Since last commit")),
        )
        for source, words in labels:
            button = self._segment(words, f"changes-of-{source}", group, line)
            button.clicked.connect(lambda _=False, of=source: self._choose_source(of))
            self._sources_of_list[source] = button
        self._sources_of_list[self.source].setChecked(True)
        switch.hide()
        return switch

    def _switch(self, name: str) -> tuple[TabList, QButtonGroup, QHBoxLayout]:
        switch = TabList()
        switch.setProperty("role", "segments")
        switch.setAccessibleName(name)
        line = row(margins=(3, 3, 3, 3), gap=2)
        switch.setLayout(line)
        return switch, QButtonGroup(switch), line

    @staticmethod
    def _segment(text: str, name: str, group: QButtonGroup, line: QHBoxLayout) -> TabButton:
        button = TabButton(text, "segment")
        button.setObjectName(name)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        group.addButton(button)
        line.addWidget(button)
        return button

    def _make_grouping_switch(self) -> TabList:
        switch, group, line = self._switch(tr("Group by"))
        labels: tuple[tuple[Grouping, str], ...] = (("turn", tr("By turn")), ("file", tr("By file")))
        for grouping, words in labels:
            button = self._segment(words, f"group-by-{grouping}", group, line)
            button.clicked.connect(lambda _=False, by=grouping: self.group_by(by))
            self._groupings[grouping] = button
        self._groupings[self.grouping].setChecked(True)
        return switch
