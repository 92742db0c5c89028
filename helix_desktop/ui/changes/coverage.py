"""What can be undone: the line below the changes, the places that are not covered, and what was undone."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QWidget

from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace, UncoveredReason
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.changes.change_groups import Obstacle, files_text
from helix_desktop.ui.changes.change_list import ShowUncoveredPlaces
from helix_desktop.ui.chat.actions import PutAutoRun
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import ThemedBackground
from helix_desktop.ui.design.labels import IconLabel, TextLine, label
from helix_desktop.ui.design.layout import (
    DIALOG_MARGINS,
    FlowBox,
    ListScrollArea,
    ResponsiveRow,
    clear_layout,
    column,
    pane,
    row,
)
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.intents import perform
from helix_desktop.words.file_changes import auto_run_reason, uncovered_reason_text
from helix_desktop.words.numbers import format_size, format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_BAR_PX = 90
_MAX_PLACES = 500
_MAX_UNDONE = 200
_MAX_PX = 150  # of the rows that are in sight at once
_INDENT_PX = 18  # to where the heading's words begin
_SIZE, _MIN_SIZE = (600, 520), (420, 300)
_PATH_PX = 220
_INCLUDABLE: tuple[UncoveredReason, ...] = ("ignored", "secret", "too_large")
"""Why a place may be left out and still be covered, if the user wants that."""


def file_coverage_text(coverage: FileCoverage, obstacle: Obstacle = "") -> str:
    if obstacle:
        return ""
    if coverage.error:
        return tr("Copying files stopped: {reason}", reason=coverage.error)
    if not coverage.is_complete:
        share = copied_share(coverage)
        if coverage.is_paused:
            return tr("Copying files paused: {share}", share=format_whole_percent(share))
        if share:
            return tr("Copying files: {share}", share=format_whole_percent(share))
        return tr("Copying files…")
    return tr("The agent's changes can be undone")


def copied_share(coverage: FileCoverage) -> float:
    """Return how much of the first copy is done, from 0 to 1."""
    return coverage.files / (coverage.files + coverage.pending) if coverage.files else 0.0


def _place_note(place: UncoveredPlace) -> str:
    parts = (
        uncovered_reason_text(place.reason),
        files_text(place.files) if place.files else "",
        format_size(place.size) if place.size else "",
    )
    return " · ".join(filter(None, parts))


class FileCoverageStrip(ThemedBackground):
    ground, has_line = "side", True

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._icon = IconLabel("shield-check", px=14, color_token="ok")
        self.text = TextLine("", 12, role="muted")
        self.text.setObjectName("coverage")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(_BAR_PX)
        self.places = PushButton(tr("What can't be undone"), "link", name="uncovered_places")
        self.places.clicked.connect(lambda: perform(self, ShowUncoveredPlaces()))
        self._flow = FlowBox([self._icon, self.text, self._bar, self.places], row_gap=0)
        self.setLayout(column(self._flow, margins=(18, 3, 12, 3)))
        self.show_coverage(FileCoverage(is_complete=True), "")
        self.apply_theme()

    def apply_theme(self) -> None:
        """Take the colors of a theme; every row is as high as one with a link, at the text size in force."""
        super().apply_theme()
        self.places.ensurePolished()
        self.text.setMinimumHeight(self.places.sizeHint().height())

    def show_coverage(self, coverage: FileCoverage, obstacle: Obstacle) -> None:
        """Show what is covered; nothing where files cannot be captured at all."""
        words = file_coverage_text(coverage, obstacle)
        self.setVisible(bool(words))
        is_copying = not coverage.is_complete and not coverage.error
        icon, color = ("shield-check", "ok")
        if coverage.error:
            icon, color = "shield-alert", "error"
        elif is_copying:
            icon, color = "pause" if coverage.is_paused else "loader-circle", "muted"
        self._icon.show_icon(icon, color)
        self.text.set_text(words)
        self._bar.setVisible(is_copying)
        self._bar.setRange(0, 100)
        self._bar.setValue(round(100 * copied_share(coverage)))
        self._bar.setAccessibleName(words)
        self.places.setVisible(coverage.uncovered > coverage.pending)
        self._flow.rearrange()


class UncoveredPlacesDialog(SizedDialog):
    include_requested = Signal(str, bool)
    """A path, and whether it is to be covered."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, tr("What can't be undone"), _SIZE, _MIN_SIZE)
        self._included: dict[str, UncoveredPlace] = {}  # since it is open
        self._summary = label("", "strong", wrap=True)
        self._lead = label("", "muted", wrap=True)
        self._column = column(margins=(0, 0, 6, 0), gap=6)
        scroll = ListScrollArea(self._column, tr("Places"))
        close = PushButton(tr("Close"), name="close", on_click=self.reject)
        words = column(label(tr("What can't be undone"), "title", wrap=True), self._lead, gap=5)
        buttons = FlowBox([close], right_from=0)
        self.setLayout(
            column(words, self._summary, scroll, buttons, margins=DIALOG_MARGINS, gap=12, stretch=2)
        )

    def show_coverage(self, coverage: FileCoverage) -> None:
        self._lead.setText(_lead_text(coverage))
        self._summary.setText(file_coverage_text(coverage))
        clear_layout(self._column)
        missing = {place.path for place in coverage.places}
        for place in (place for path, place in self._included.items() if path not in missing):
            self._column.addWidget(self._row(place, is_included=True))
        for place in coverage.places[:_MAX_PLACES]:
            self._column.addWidget(self._row(place))
        more = coverage.uncovered - len(coverage.places[:_MAX_PLACES])
        if more > 0:
            self._column.addWidget(label(tr.plural(more, "and %n more place", "and %n more places"), "muted"))
        if not coverage.places:
            words = tr("Changes to every file in the workspace can be undone.")
            self._column.addWidget(label(words, "muted", wrap=True))
        self._column.addStretch(1)

    def _include(self, place: UncoveredPlace, is_included: bool) -> None:
        if is_included:
            self._included[place.path] = place
        else:
            self._included.pop(place.path, None)
        self.include_requested.emit(place.path, is_included)

    def _row(self, place: UncoveredPlace, *, is_included: bool = False) -> QWidget:
        path = TextLine(escape_hidden_name(place.path), 13, mono=True)
        words_below = tr("Included") if is_included else _place_note(place)
        note = label(words_below, "ok" if is_included else "muted", wrap=True)
        icon = IconLabel("folder" if place.is_folder else "file", px=16, color_token="muted")
        words = pane(row(icon, column(path, note, gap=1), gap=10, stretch=1))
        if place.reason not in _INCLUDABLE:
            return words
        verb, name = (tr("Leave out"), "leave-out") if is_included else (tr("Include"), "include")
        include = PushButton(verb, name=f"{name}:{place.path}")
        include.setAccessibleName(tr("{verb}: {path}", verb=verb, path=escape_hidden_name(place.path)))
        include.clicked.connect(lambda: self._include(place, not is_included))
        return ResponsiveRow(words, [include], _PATH_PX)


def _lead_text(coverage: FileCoverage) -> str:
    """Return what the places have in common, and when one is copied that the user includes."""
    if coverage.is_paused:
        return tr(
            "Changes to these places aren't saved, so they can't be undone. What you include is copied when "
            "you resume copying files."
        )
    return tr(
        "Changes to these places aren't saved, so they can't be undone. What you include is copied now, "
        "in the background."
    )


class UndoneChangesPanel(ThemedBackground):
    """A heading that folds, and a row for each file with the reason and Restore; hidden where there is none.

    The changes are those of all sessions of a workspace, as the folder is theirs together.
    """

    ground, has_line = "side", True

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._changes: tuple[AutoRunChange, ...] = ()
        self._error = ""
        self._icon = IconLabel("shield-alert", px=14, color_token="warn")
        self.heading = TextLine("", 12, 600)
        self.heading.is_fixed_width = True
        self.note = TextLine(
            tr("Other programs would run or follow these files by themselves. From all sessions."),
            12,
            role="muted",
        )
        self.fold = IconButton("chevron-down", "", px=15, edge=26)
        self._column = column(margins=(_INDENT_PX, 0, 0, 4), gap=6)
        self.rows = _Rows(self._column, tr("Undone after commands"))
        head = row(self._icon, self.heading, self.note, self.fold, gap=8, stretch=2)
        self.setLayout(column(head, self.rows, margins=(18, 4, 12, 4), gap=2))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.fold.clicked.connect(lambda: self._set_folded(not self.rows.isHidden()))
        self._set_folded(False)
        self.hide()

    def show_changes(self, changes: Sequence[AutoRunChange], error: str = "") -> None:
        """Show what is undone now, the oldest first as it is stored, or why that can't be read."""
        if (self._changes, self._error) == (tuple(changes), error):
            return
        self._changes, self._error = tuple(changes), error
        count = len(self._changes)
        self.heading.set_text(
            tr("Undone after commands")
            if error
            else tr.plural(count, "%n file undone after commands", "%n files undone after commands")
        )
        clear_layout(self._column)
        if error:
            self._column.addWidget(label(error, "muted", wrap=True))
        for change in reversed(self._changes[-_MAX_UNDONE:]):
            self._column.addWidget(self._row(change))
        if count > _MAX_UNDONE:
            more = tr.plural(count - _MAX_UNDONE, "and %n older file", "and %n older files")
            self._column.addWidget(label(more, "muted"))
        self.setVisible(bool(changes or error))
        self.rows.updateGeometry()

    def _set_folded(self, is_folded: bool) -> None:
        self.rows.setVisible(not is_folded)
        self.fold.set_icon("chevron-right" if is_folded else "chevron-down")
        self.fold.set_tip(tr("Show files") if is_folded else tr("Hide files"))

    def _row(self, change: AutoRunChange) -> QWidget:
        name = escape_hidden_name(change.path)
        path = TextLine(name, 12, mono=True)
        restore = PushButton(tr("Restore"), name=f"restore:{change.path}")
        restore.setAccessibleName(tr("{verb}: {path}", verb=tr("Restore"), path=name))
        restore.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        restore.clicked.connect(lambda: perform(self, PutAutoRun((change.change_id,), restore=True)))
        words = column(path, TextLine(auto_run_reason(change), 12, role="muted"), gap=0)
        return pane(row(words, restore, gap=10, stretch=0))


class _Rows(ListScrollArea):
    """As high as its rows, up to a limit from which they scroll."""

    def sizeHint(self) -> QSize:
        margins = self.viewportMargins()
        height = self.page.sizeHint().height() + margins.top() + margins.bottom()
        return QSize(super().sizeHint().width(), min(height, scaled(_MAX_PX)))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), min(self.sizeHint().height(), scaled(_MAX_PX) // 2))
