"""Theme tokens become one palette and one style sheet; the system's light or dark is followed live.

Widgets are styled by two dynamic properties: `kind` on buttons (primary, danger, link, segment, ...) and
`role` on labels and frames (title, muted, card, ...). The sheet is in resources/styles; no color stands
anywhere else.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import cache
from string import Template
from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme, apply_theme_to_all, use_theme

ThemeMode = Literal["system", "light", "dark"]
THEME_MODES: tuple[ThemeMode, ...] = ("system", "light", "dark")
TEXT_PX = (11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26)
"""Text sizes that can be chosen, in pixels."""

_SLICE_S = 0.004


def _replace(app: QApplication, sheet: str) -> Iterator[QWidget]:
    """Set the sheet and yield the widgets to style, each after those that it lies in."""
    if not app.styleSheet():
        app.setStyleSheet(sheet)  # the first one: Qt styles each widget once
        return
    app.style().unpolish(app)  # all forget their rules; Qt would style those that have any
    app.setStyleSheet(sheet)
    for top in app.topLevelWidgets():
        if top.parent() is None:
            yield top
            yield from top.findChildren(QWidget)


def palette(theme: Theme) -> QPalette:
    role = QPalette.ColorRole
    result = QPalette()
    for target, color in (
        (role.Window, theme.canvas),
        (role.Base, theme.surface),
        (role.AlternateBase, theme.raised),
        (role.Text, theme.text),
        (role.WindowText, theme.text),
        (role.Button, theme.raised),
        (role.ButtonText, theme.text),
        (role.BrightText, theme.error),
        (role.Highlight, theme.text_selection),
        (role.HighlightedText, theme.text),
        (role.Link, theme.accent_text),
        (role.LinkVisited, theme.accent_text),
        (role.PlaceholderText, theme.faint),
        (role.ToolTipBase, theme.surface),
        (role.ToolTipText, theme.text),
        (role.Mid, theme.border),
        (role.Light, theme.hover),
        (role.Accent, theme.accent),
    ):
        result.setColor(target, QColor(color))
    for target in (role.Text, role.WindowText, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, target, QColor(theme.faint))
    return result


@cache
def read_style(name: str) -> Template:
    return Template((resources_dir() / "styles" / name).read_text(encoding="utf-8"))


def stylesheet(theme: Theme, text_px: int = fonts.BASE_PX) -> str:
    scale = text_px / fonts.BASE_PX
    tokens: dict[str, object] = {**theme.by_name()}
    tokens |= {f"px{px}": max(1, round(px * scale)) for px in (11, 12, 13, 15, 18, 26)}
    for token in ("error", "warn", "accent"):
        tokens[f"{token}_edge"] = _blend(str(tokens[f"{token}_soft"]), str(tokens[token]), 0.3)
    # Three tones that differ in more than brightness between the themes.
    tokens["segment_on"] = theme.hover if theme.dark else theme.surface
    # Beside segments in $muted, $faint looks like one of them.
    tokens["segment_off"] = _blend(theme.rail, theme.faint, 0.55)
    tokens["tile"] = theme.hover if theme.dark else theme.seg_free
    # Qt's own mark has steps on a sharp screen; this one has a color that both themes can show.
    tokens["check_mark"] = (resources_dir() / "icons" / "marks" / "check.svg").as_posix()
    tokens["accent_hover"] = QColor(theme.accent).darker(112).name()
    return read_style("window.qss").substitute(tokens)


def new_application() -> QApplication:
    """Make the application in the style of all systems.

    Set later, it would be returned as a QStyle: the enumerations of that class take 8 ms of a start.
    """
    return QApplication([*sys.argv[:1], "-style", "fusion"])


def prepare(app: QApplication, theme: Theme, text_px: int = fonts.BASE_PX) -> None:
    """Set the application's font and palette: all but the style sheet, which follows the window."""
    use_theme(theme)
    app.setFont(fonts.base(text_px))
    app.setPalette(palette(theme))


def apply(app: QApplication, theme: Theme, text_px: int = fonts.BASE_PX) -> None:
    """Apply a theme and a text size in pixels to the whole application; may be called again at any time."""
    prepare(app, theme, text_px)
    # All widgets at once: layouts measure hidden ones too. Left to itself, Qt styles each widget once more
    # for every widget above it, which took 0.6 s of CPU for the window.
    for widget in _replace(app, stylesheet(theme, text_px)):
        widget.style().polish(widget)
        app.sendEvent(widget, QEvent(QEvent.Type.StyleChange))


def _blend(background: str, foreground: str, share: float) -> str:
    """Return a background mixed with a share (0..1) of a foreground, as #rrggbb."""
    a = QColor(background)
    b = QColor(foreground)
    parts = ((a.red(), b.red()), (a.green(), b.green()), (a.blue(), b.blue()))
    return QColor(*(round(x + (y - x) * share) for x, y in parts)).name()


class Appearance(QObject):
    """Theme mode and text size of the application, followed live."""

    changed = Signal()

    def __init__(self, app: QApplication, mode: ThemeMode = "system", text_px: int = fonts.BASE_PX) -> None:
        """Prepare the application; `apply_stylesheet` adds the style sheet. "system" follows the desktop.

        Create it before the window, so that widgets start with the right font, and apply after it: widgets
        that grow under a style sheet are styled again at every step (70 ms of CPU for the whole window).
        """
        super().__init__(app)
        self._app = app
        self.mode: ThemeMode = mode
        self.text_px = text_px
        self._hidden: list[QWidget] = []
        """Widgets that still have the colors from before."""
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._polish_slice)
        app.styleHints().colorSchemeChanged.connect(self._on_system_theme)
        prepare(app, self.theme, text_px)

    @property
    def theme(self) -> Theme:
        if self.mode == "system":
            return DARK if self._app.styleHints().colorScheme() is Qt.ColorScheme.Dark else LIGHT
        return DARK if self.mode == "dark" else LIGHT

    def apply_stylesheet(self) -> None:
        is_first = not self._app.styleSheet()
        apply(self._app, self.theme, self.text_px)
        if not is_first:  # until then all widgets were made with this theme, and listing them takes 20 ms
            apply_theme_to_all()
        self.changed.emit()

    def set_mode(self, mode: ThemeMode) -> None:
        if mode != self.mode:
            self.mode = mode
            self._change_colors()

    def set_text_px(self, px: int) -> None:
        """Choose a text size; the nearest of TEXT_PX is taken."""
        nearest = min(TEXT_PX, key=lambda size: abs(size - px))
        if nearest != self.text_px:
            self.text_px = nearest
            self.apply_stylesheet()

    def zoom(self, steps: int) -> None:
        """Go some text sizes up or down; 0 returns to 100 %."""
        if steps == 0:
            self.set_text_px(fonts.BASE_PX)
            return
        place = TEXT_PX.index(min(TEXT_PX, key=lambda size: abs(size - self.text_px)))
        self.set_text_px(TEXT_PX[max(0, min(len(TEXT_PX) - 1, place + steps))])

    def _on_system_theme(self) -> None:
        if self.mode == "system":
            self._change_colors()

    def _change_colors(self) -> None:
        """Change them at once on screen, then of hidden widgets, in slices that leave the window usable."""
        theme = self.theme
        prepare(self._app, theme, self.text_px)
        self._hidden = []
        for widget in _replace(self._app, stylesheet(theme, self.text_px)):
            if widget.isVisible():
                widget.style().polish(widget)
            else:
                self._hidden.append(widget)
        self._timer.start()
        apply_theme_to_all()
        self.changed.emit()

    def _polish_slice(self) -> None:
        # What was shown meanwhile comes first.
        waiting = iter(sorted(filter(isValid, self._hidden), key=lambda widget: not widget.isVisible()))
        end = time.perf_counter() + _SLICE_S  # only now: to look at ten thousand widgets takes longer
        for widget in waiting:
            widget.style().polish(widget)
            if time.perf_counter() > end:
                break
        self._hidden = list(waiting)
        if not self._hidden:
            self._timer.stop()
