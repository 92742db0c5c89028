"""The five ticks of a test: what was found at each step, or what failed, why, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from helix_desktop.context.trial import UNTRIED, Tick, TickName, TickState
from helix_desktop.ui.settings.rows import CheckLine
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import IconButton, IconLabel, column, empty_layout, label, restyle, row

NAMES: dict[TickName, str] = {
    "reach": "Reach",
    "tls": "TLS",
    "auth": "Key",
    "streaming": "Streaming",
    "tools": "Tools",
}
_FACES: dict[TickState, tuple[str, str]] = {
    "waiting": ("circle", "faint"),
    "running": ("loader-circle", "muted"),
    "ok": ("circle-check", "ok"),
    "failed": ("circle-x", "error"),
    "skipped": ("minus", "faint"),
}
_SPOKEN: dict[TickState, str] = {
    "waiting": "not tried yet",
    "running": "running",
    "ok": "ok",
    "failed": "failed",
    "skipped": "not tried",
}
_NAME_PX = 78
_MOST = 0.4  # of the window's height that results may take


class _TickRow(QWidget):
    """One step."""

    def __init__(self, tick: Tick) -> None:
        super().__init__()
        self._face = IconLabel("circle", px=15)
        self._name = label(NAMES[tick.name])
        self._name.setFixedWidth(_NAME_PX)
        self._found, self._fix = label("", "faint", wrap=True), label("", "note", wrap=True)
        words = column(self._found, self._fix, gap=1)
        line = row(self._face, self._name, words, gap=8)
        line.setStretch(2, 1)
        for part in (self._face, self._name):
            line.setAlignment(part, Qt.AlignmentFlag.AlignTop)
        self.setLayout(line)
        self.show_tick(tick)

    def show_tick(self, tick: Tick) -> None:
        """Show how the step is."""
        self._face.show_icon(*_FACES[tick.state])
        restyle(self._name, "role", "strong" if tick.state == "failed" else "")
        restyle(self._found, "role", "error" if tick.state == "failed" else "faint")
        said = " ".join(part for part in (tick.found, tick.why) if part)
        self._found.setText(said)
        self._fix.setText(tick.fix)
        self._fix.setVisible(bool(tick.fix))
        spoken = f"{NAMES[tick.name]}: {_SPOKEN[tick.state]}. {said} {tick.fix}"
        self.setAccessibleName(spoken.strip().removesuffix("."))


class _Inner(QWidget):
    """What scrolls when it is too high; says when its words need another height."""

    laid_out = Signal()

    def event(self, event: QEvent) -> bool:
        """Tell of a new layout."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.laid_out.emit()
        return done


class TrialView(QWidget):
    """The ticks of the test, or short notices, above the buttons; nothing until there is something."""

    def __init__(self) -> None:
        """Start hidden."""
        super().__init__()
        self._theme = LIGHT
        self._rows = {tick.name: _TickRow(tick) for tick in UNTRIED}
        self._ticks = QWidget()
        self._ticks.setLayout(column(*self._rows.values(), gap=3))
        self._lines = QVBoxLayout()
        self._lines.setSpacing(4)
        self._close = IconButton("x", "Hide the result", px=13, edge=22)
        self._close.clicked.connect(self.clear)
        self._inner = _Inner()
        self._inner.laid_out.connect(self._fit)
        self._inner.setObjectName("page")
        self._inner.setLayout(column(self._ticks, self._lines, gap=0))
        self._scroll = QScrollArea()
        self._scroll.setWidget(self._inner)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        whole = row(self._scroll, self._close, margins=(28, 10, 16, 2), gap=6)
        whole.setAlignment(self._close, Qt.AlignmentFlag.AlignTop)
        self.setLayout(whole)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.clear()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Be as high as the words need, up to a part of the window; what is more scrolls."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        width = max(1, self.width() - 28 - 16 - 6 - self._close.width() - 14)
        layout = self._ticks.layout() if self._ticks.isVisibleTo(self) else self._lines
        needed = layout.totalHeightForWidth(width) if layout is not None else 0
        self._scroll.setFixedHeight(min(max(24, needed), int(self.window().height() * _MOST)))

    def clear(self) -> None:
        """Show nothing."""
        empty_layout(self._lines)
        self._ticks.hide()
        self.hide()

    def show_ticks(self, ticks: Sequence[Tick]) -> None:
        """Show how far a test is."""
        empty_layout(self._lines)
        for tick in ticks:
            self._rows[tick.name].show_tick(tick)
        self._ticks.show()
        self.show()
        self._fit()

    def show_lines(self, lines: Sequence[CheckLine]) -> None:
        """Show notices instead."""
        self.clear()
        for line in lines:
            face = IconLabel(*_FACES[line.state][:1], px=15, ink=_FACES[line.state][1])
            face.tint(self._theme)
            words = " · ".join(part for part in (line.name, line.detail) if part)
            told = label(words, "error" if line.state == "failed" else "note", wrap=True)
            parts = row(face, told, gap=8)
            parts.setStretch(1, 1)
            shown = QWidget()
            shown.setLayout(parts)
            shown.setAccessibleName(f"{line.name}: {line.state}. {line.detail}")
            self._lines.addWidget(shown)
        self.setVisible(bool(lines))
        self._fit()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
