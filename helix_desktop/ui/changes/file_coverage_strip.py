"""The line below the changes: how many files are covered, how far the first copy is, what can't be undone."""

from __future__ import annotations

from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QProgressBar, QWidget

from helix_desktop.domain.file_history.changes import FileCoverage
from helix_desktop.ui.changes.change_actions import ShowUncoveredPlaces
from helix_desktop.ui.changes.rows import Obstacle
from helix_desktop.ui.changes.texts import copied_share, file_coverage_text, uncovered_texts
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.help_link import HelpLink
from helix_desktop.ui.design.labels import IconLabel, TextLine, show_text
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.kit.intents import perform
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_BAR_PX = 90
_NAMES_PX = 620  # width of the page from which places are named


class FileCoverageStrip(Themed, QWidget):
    """One line; the places that are not covered open in a dialog."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._icon = IconLabel("shield-check", px=14, color_token="ok")
        self.text = TextLine("", 12, role="muted")
        self.text.setObjectName("coverage")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(_BAR_PX)
        self.places = PushButton("", "link", name="uncovered_places")
        self.places.clicked.connect(lambda: perform(self, ShowUncoveredPlaces()))
        self._help = HelpLink("changes")
        self._names = TextLine("", 12, role="faint")
        self._flow = FlowBox(
            [self._icon, self.text, self._bar, self.places, self._names, self._help], right_from=5, row_gap=0
        )
        self.setLayout(column(self._flow, margins=(18, 3, 12, 3)))
        self.show_coverage(FileCoverage(is_complete=True), "")

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme; every row is as high as one with a link, at the text size in force."""
        super().tint(theme)
        self.places.ensurePolished()
        for words in (self.text, self._names):
            words.setMinimumHeight(self.places.sizeHint().height())

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
        places, names = uncovered_texts(coverage)
        show_text(self.places, places)
        self._names.set_text(names)
        self._names.setVisible(bool(names) and self.width() >= _NAMES_PX)
        self._flow.rearrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._names.setVisible(bool(self._names.text) and self.width() >= _NAMES_PX)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.side))
        painter.fillRect(0, 0, self.width(), 1, QColor(self._theme.border))
