"""The places that the file history does not cover, each with its reason, to be included."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace, UncoveredReason
from helix_desktop.ui.changes.texts import file_coverage_text, path_text, place_note
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, TextLine, label
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, clear_layout, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.layout.scrolling import ListScrollArea
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_MAX_ROWS = 500
_SIZE, _MIN_SIZE = (600, 520), (420, 300)
_PATH_PX = 220
_INCLUDABLE: tuple[UncoveredReason, ...] = ("ignored", "secret", "too_large")
"""Why a place may be left out and still be covered, if the user wants that."""


class UncoveredPlacesDialog(Themed, SizedDialog):
    include_requested = Signal(str, bool)
    """A path, and whether it is to be covered."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setModal(True)
        self.setWindowTitle(tr("What can't be undone"))
        self._included: dict[str, UncoveredPlace] = {}  # since it is open
        self._summary = label("", "strong", wrap=True)
        self._lead = label("", "muted", wrap=True)
        self._page = QWidget()
        self._page.setObjectName("page")
        self._column = column(margins=(0, 0, 6, 0), gap=6)
        self._page.setLayout(self._column)
        scroll = ListScrollArea(self._page, tr("Places"))
        close = PushButton(tr("Close"), name="close")
        close.clicked.connect(self.reject)
        words = column(label(tr("What can't be undone"), "title", wrap=True), self._lead, gap=5)
        buttons = FlowBox([close], right_from=0)
        layout = column(words, self._summary, scroll, buttons, margins=DIALOG_MARGINS, gap=12)
        layout.setStretch(2, 1)
        self.setLayout(layout)

    def show_coverage(self, coverage: FileCoverage) -> None:
        self._lead.setText(_lead_text(coverage))
        self._summary.setText(file_coverage_text(coverage))
        clear_layout(self._column)
        missing = {place.path for place in coverage.places}
        for place in (place for path, place in self._included.items() if path not in missing):
            self._column.addWidget(self._row(place, is_included=True))
        for place in coverage.places[:_MAX_ROWS]:
            self._column.addWidget(self._row(place))
        more = coverage.uncovered - len(coverage.places[:_MAX_ROWS])
        if more > 0:
            self._column.addWidget(label(tr.plural(more, "and %n more place", "and %n more places"), "muted"))
        if not coverage.places:
            self._column.addWidget(
                label(tr("Changes to every file in the workspace can be undone."), "muted", wrap=True)
            )
        self._column.addStretch(1)
        retint(self._page, self._theme)

    def _include(self, place: UncoveredPlace, is_included: bool) -> None:
        if is_included:
            self._included[place.path] = place
        else:
            self._included.pop(place.path, None)
        self.include_requested.emit(place.path, is_included)

    def _row(self, place: UncoveredPlace, *, is_included: bool = False) -> QWidget:
        path = TextLine(path_text(place.path), 13, mono=True)
        path.elide = Qt.TextElideMode.ElideMiddle
        words_below = tr("Included") if is_included else place_note(place.reason, place.files, place.size)
        note = label(words_below, "ok" if is_included else "muted", wrap=True)
        words = QWidget()
        icon = IconLabel("folder" if place.is_folder else "file", px=16, color_token="muted")
        line = row(icon, column(path, note, gap=1), gap=10)
        line.setStretch(1, 1)
        words.setLayout(line)
        if place.reason not in _INCLUDABLE:
            return words
        verb, name = (tr("Leave out"), "leave-out") if is_included else (tr("Include"), "include")
        include = PushButton(verb, name=f"{name}:{place.path}")
        include.setAccessibleName(tr("{verb}: {path}", verb=verb, path=path_text(place.path)))
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
