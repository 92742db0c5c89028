"""Theme tokens become one palette and one style sheet; the system's light or dark is followed live.

Widgets are styled by two dynamic properties: `kind` on buttons (primary, danger, link, segment, ...) and
`role` on labels and frames (title, muted, card, ...). No color stands anywhere else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from string import Template
from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme, apply_theme_to_all, use_theme

ThemeMode = Literal["system", "light", "dark"]
THEME_MODES: tuple[ThemeMode, ...] = ("system", "light", "dark")
TEXT_PX = (11, 12, 13, 14, 15, 16, 18, 20)
"""Text sizes that can be chosen, in pixels."""

_FRAME = """
QMainWindow, QDialog { background: $canvas; }
QWidget#rail { background: $rail; }
QWidget#sidebar { background: $side; border: 0; border-$end: 1px solid $border; }
QWidget#center { background: $canvas; }
QWidget#inspector_pane { background: $side; border: 0; border-$begin: 1px solid $border; }
QWidget#top_bar, QWidget#settings_head { background: $canvas; border: 0; border-bottom: 1px solid $border; }
QWidget#jobs { background: $raised; border: 1px solid $border; border-left: 0; border-right: 0; }
QWidget#settings_footer { background: $raised; border: 0; border-top: 1px solid $border; }
QWidget#settings_nav, QWidget#page_list { background: $side; border: 0; border-$end: 1px solid $border; }
QFrame[role="card"] { background: $surface; border: 1px solid $border; border-radius: 12px; }
QFrame[role="well"] { background: $raised; border: 1px solid $border; border-radius: 10px; }
QFrame[role="line"] { background: $border; border: 0; max-height: 1px; min-height: 1px; }
QFrame[role="segments"] { background: $rail; border: 0; border-radius: 9px; }
QFrame[role="popup"] { background: $surface; border: 1px solid $border_strong; border-radius: 12px; }
QFrame[role="notice"] { border: 1px solid $border; border-radius: 10px; background: $raised; }
QFrame[role="notice"][level="error"] { background: $error_soft; border-color: $error_edge; }
QFrame[role="notice"][level="warning"] { background: $warn_soft; border-color: $warn_edge; }
QFrame[role="notice"][level="info"] { background: $accent_soft; border-color: $accent_edge; }
QSplitter::handle { background: transparent; }
QScrollArea, QScrollArea > QWidget > QWidget#page { background: transparent; border: 0; }
QScrollArea#todo { background: $raised; border: 1px solid $border; border-bottom: 0;
    border-top-left-radius: 12px; border-top-right-radius: 12px; }
QScrollArea#todo:focus { border-color: $accent; }
"""

_TEXT = """
QLabel { background: transparent; color: $text; }
QLabel[role="display"] { font-size: ${px26}px; font-weight: 600; }
QLabel[role="heading"] { font-size: ${px18}px; font-weight: 600; }
QLabel[role="title"] { font-size: ${px15}px; font-weight: 600; }
QLabel[role="body"] { font-size: ${px15}px; }
QLabel[role="strong"] { font-weight: 600; }
QLabel[role="question"] { font-weight: 600; color: $accent_text; }
QLabel[role="lead"] { font-size: ${px15}px; color: $muted; }
QLabel[role="muted"] { color: $muted; }
QLabel[role="note"] { color: $muted; font-size: ${px12}px; }
QLabel[role="small"] { font-size: ${px12}px; }
QLabel[role="accent_text"] { color: $accent_text; }
QLabel[role="faint"] { color: $faint; font-size: ${px12}px; }
QLabel[role="section"] { color: $faint; font-size: ${px11}px; font-weight: 600; }
QLabel[role="ok"] { color: $ok; font-size: ${px12}px; }
QLabel[role="warn"] { color: $warn; font-size: ${px12}px; }
QLabel[role="error"] { color: $error; font-size: ${px12}px; }
QLabel[role="mono"] { font-family: "JetBrains Mono"; font-size: ${px12}px; color: $muted; }
QLabel[role="key"] { background: $surface; color: $muted; font-size: ${px11}px; font-weight: 500;
    border: 1px solid $border_strong; border-radius: 5px; padding: 1px 6px; }
QToolTip { background: $surface; color: $text; border: 1px solid $border_strong;
    padding: 0 3px; /* Qt adds it twice */ font-family: "Inter"; }
"""

_BUTTONS = """
QPushButton { background: $surface; color: $text; border: 1px solid $border_strong; border-radius: 8px;
    padding: 6px 13px; font-weight: 500; outline: 0; }
QPushButton:hover { background: $hover; }
QPushButton:pressed { background: $selection; }
QPushButton:focus { border: 2px solid $accent; padding: 5px 12px; }
QPushButton:disabled { color: $faint; background: $raised; border-color: $border; }
QPushButton:default, QPushButton[kind="primary"] { background: $accent; color: $on_accent;
    border: 1px solid $accent;
    font-weight: 600; }
QPushButton:default:hover, QPushButton[kind="primary"]:hover { background: $accent_hover; }
QPushButton:default:focus, QPushButton[kind="primary"]:focus { border: 2px solid $text; }
QPushButton[kind="primary"]:disabled { background: $raised; color: $faint; border-color: $border; }
QPushButton[kind="danger"] { color: $error; }
QPushButton[kind="danger"]:hover { background: $error_soft; }
QPushButton[kind="danger"]:disabled { color: $faint; background: $raised; }
QPushButton[kind="link"] { background: transparent; border: 2px solid transparent; border-radius: 6px;
    color: $accent_text; padding: 3px 1px; }
QPushButton[kind="link"]:hover { background: $accent_soft; }
QPushButton[kind="link"]:focus { border: 2px solid $accent; }
QPushButton[kind="link"]:disabled { color: $faint; }
QPushButton[kind="name"] { background: transparent; border: 2px solid transparent; font-size: ${px15}px;
    font-weight: 600; padding: 3px 6px; text-align: left; }
QPushButton[kind="name"]:hover { background: $hover; }
QPushButton[kind="name"]:focus { border: 2px solid $accent; }
QPushButton[kind="segment"] { background: transparent; border: 2px solid transparent; border-radius: 7px;
    color: $muted; padding: 3px 6px; font-weight: 500; }
QPushButton[kind="segment"]:hover { color: $text; }
QPushButton[kind="segment"]:checked { background: $segment_on; color: $text; font-weight: 600; }
QPushButton[kind="segment"]:disabled { color: $segment_off; }
QPushButton[kind="segment"]:focus { border: 2px solid $accent; }
QPushButton[kind="filter"] { background: transparent; border: 1px solid $border; border-radius: 11px;
    color: $muted; padding: 3px 10px; font-size: ${px12}px; font-weight: 500; }
QPushButton[kind="filter"]:hover { color: $text; background: $hover; }
QPushButton[kind="filter"]:checked { background: $accent_soft; border-color: $accent_soft;
    color: $accent_text; }
QPushButton[kind="filter"]:focus { border: 2px solid $accent; padding: 2px 9px; }
QPushButton[kind="nav"] { background: transparent; border: 2px solid transparent; border-radius: 8px;
    color: $muted;
    padding: 6px 10px; text-align: left; font-weight: 500; }
QPushButton[kind="nav"]:hover { background: $hover; color: $text; }
QPushButton[kind="nav"]:checked { background: $selection; color: $text; font-weight: 600; }
QPushButton[kind="nav"]:focus { border: 2px solid $accent; }
QRadioButton { color: $text; font-weight: 600; spacing: 9px; padding: 2px 4px; border-radius: 6px;
    border: 1px solid transparent; outline: 0; }
QRadioButton:disabled { color: $faint; }
QRadioButton:focus { border: 1px solid $accent; }
QRadioButton::indicator { width: 12px; height: 12px; border: 2px solid $faint; border-radius: 8px;
    background: $surface; }
QRadioButton::indicator:hover { border-color: $accent; }
QRadioButton::indicator:checked { width: 16px; height: 16px; border: 0;
    background: qradialgradient(cx: 0.5, cy: 0.5, radius: 0.5, fx: 0.5, fy: 0.5, stop: 0 $on_accent,
    stop: 0.35 $on_accent, stop: 0.42 $accent, stop: 1 $accent); }
QPushButton::menu-indicator { image: none; width: 0; }
QToolButton { background: transparent; border: 2px solid transparent; border-radius: 8px; padding: 3px;
    color: $muted; }
QToolButton:hover { background: $hover; }
QToolButton:pressed, QToolButton:checked { background: $selection; }
QToolButton:focus { border: 2px solid $accent; }
QToolButton::menu-indicator { image: none; }
QToolButton[kind="tile"] { background: $tile; border-radius: 11px; }
QToolButton[kind="tile"]:hover { background: $border_strong; }
"""

_FIELDS = """
QLineEdit, QTextEdit, QPlainTextEdit, QComboBox, QAbstractSpinBox { background: $surface; color: $text;
    border: 1px solid $border_strong; border-radius: 8px; padding: 6px 9px;
    selection-background-color: $text_selection; selection-color: $text; placeholder-text-color: $faint; }
QLineEdit:focus, QTextEdit:focus, QPlainTextEdit:focus, QComboBox:focus, QAbstractSpinBox:focus {
    border: 2px solid $accent; padding: 5px 8px; }
QPlainTextEdit[kind="log"], QPlainTextEdit[kind="log"]:focus { background: $code_surface; padding: 6px 8px;
    border: 1px solid $border; font-family: "JetBrains Mono"; font-size: ${px12}px; }
QPlainTextEdit[kind="code"], QPlainTextEdit[kind="code"]:focus { background: $code_surface; padding: 0;
    border: 0; border-radius: 0; font-family: "JetBrains Mono"; font-size: ${px12}px; }
QLineEdit:disabled, QComboBox:disabled, QAbstractSpinBox:disabled { color: $faint; background: $raised; }
QLineEdit:read-only { background: $raised; color: $muted; }
QFrame#found_ring { border: 2px solid $accent; border-radius: 9px; background: transparent; }
QLineEdit[invalid="true"], QPlainTextEdit[invalid="true"] { border: 1px solid $error; }
QLineEdit[invalid="true"]:focus, QPlainTextEdit[invalid="true"]:focus { border: 2px solid $error; }
QPlainTextEdit[kind="message"], QPlainTextEdit[kind="message"]:focus { background: transparent; border: 0;
    padding: 0; font-size: ${px15}px; }
QPlainTextEdit[kind="queued"], QPlainTextEdit[kind="queued"]:focus { background: $hover; border: 0;
    padding: 0 4px; border-radius: 6px; }
QLineEdit[kind="search"] { padding: 6px 9px; padding-$begin: 3px; }
QLineEdit[kind="search"]:focus { padding: 5px 8px; padding-$begin: 2px; }
QLineEdit[kind="title"] { font-size: ${px15}px; font-weight: 600; padding: 0 4px; border-radius: 6px; }
/* Beside the drop-down: dialogs are laid out for boxes of this width. */
/* A list below the box: Qt's other one is a menu that is too low for its frame and cuts the last choice. */
QComboBox { padding-$end: 28px; combobox-popup: 0; }
QComboBoxPrivateContainer { border: 0; }
QComboBox:focus { padding-$end: 27px; }
QComboBox::drop-down { border: 0; width: 26px; }
QComboBox::down-arrow { image: none; width: 0; height: 0; }
QComboBox QLineEdit { border: 0; padding: 0; background: transparent; }
QComboBox QAbstractItemView { background: $surface; color: $text; border: 1px solid $border_strong;
    padding: 4px;
    selection-background-color: $selection; selection-color: $text; outline: 0; }
QComboBox QAbstractItemView::item { min-height: 26px; border-radius: 6px; padding: 0 6px; }
QComboBox QAbstractItemView::item:selected { background: $selection; color: $text; }
"""

_MENUS = """
QMenuBar { background: $rail; color: $muted; border: 0; padding: 2px 6px;
    font-family: "Inter"; font-size: ${px12}px; }
QMenuBar::item { background: transparent; padding: 4px 9px; border-radius: 6px; }
QMenuBar::item:selected, QMenuBar::item:pressed { background: $hover; color: $text; }
QMenu { background: $surface; color: $text; border: 1px solid $border_strong; padding: 5px;
    font-family: "Inter"; }
QMenu::item { padding: 6px 22px 6px 12px; border-radius: 6px; }
QMenu::icon { padding-left: 8px; }
QMenu::indicator { left: 6px; width: 14px; height: 14px; }
QMenu::indicator:checked { image: url("$check_mark"); }
QMenu::item:selected { background: $selection; color: $text; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $border; margin: 5px 8px; }
"""

_VIEWS = """
QAbstractScrollArea::corner { background: transparent; border: 0; }
QAbstractItemView { background: transparent; border: 0; outline: 0; color: $text;
    selection-background-color: $selection; selection-color: $text; }
/* A window of its own, which needs a background: what a file dialog completes. */
.QListView { background: $surface; border: 1px solid $border_strong; }
QWidget .QListView { background: transparent; border: 0; }
QTreeView#json-tree { background: $code_surface; padding: 4px 8px; show-decoration-selected: 0; }
QTreeView#json-tree::item:selected { background: transparent; }
QTableView { gridline-color: transparent; alternate-background-color: transparent; }
QTableView[kind="models"]::item { padding: 0 8px; border: 0; }
QTableView[kind="models"] QHeaderView::section { background: $surface; padding: 6px 11px; }
QTreeWidget[kind="checklist"] { border: 2px solid transparent; border-radius: 8px; padding: 3px; }
QTreeWidget[kind="checklist"]:focus { border-color: $accent; }
QTreeWidget[kind="checklist"]::item { padding: 6px 0; border: 0; }
QTreeWidget[kind="checklist"]::item:only-one { border-radius: 6px; }
QTreeWidget[kind="checklist"]::item:first { border-top-left-radius: 6px; border-bottom-left-radius: 6px; }
QTreeWidget[kind="checklist"]::item:last { border-top-right-radius: 6px; border-bottom-right-radius: 6px; }
QTreeWidget[kind="checklist"]::item:hover { background: $hover; }
QTreeWidget[kind="checklist"]::item:selected { background: $selection; color: $text; }
QTreeWidget[kind="checklist"]::indicator { width: 16px; height: 16px; border: 0; image: none;
    background: transparent; }
QTreeWidget[kind="checklist"] QHeaderView::section { background: $surface; padding: 6px 4px; }
QListWidget[kind="cards"] { background: $surface; border: 1px solid $border_strong; border-radius: 10px;
    padding: 4px; }
QListWidget[kind="cards"]:focus { border: 2px solid $accent; padding: 3px; }
QListWidget[kind="cards"]::item { padding: 7px 8px; border-radius: 7px; color: $text; }
QListWidget[kind="cards"]::item:hover { background: $hover; }
QListWidget[kind="cards"]::item:selected { background: $selection; color: $text; }
QHeaderView { background: transparent; border: 0; }
QHeaderView::section { background: $canvas; color: $faint; border: 0; border-bottom: 1px solid $border;
    padding: 6px 10px; font-size: ${px11}px; font-weight: 600; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 0; border: 0; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 0; border: 0; }
QScrollBar::handle:vertical { background: $scrollbar; border-radius: 3px; min-height: 36px;
    margin: 2px 3px; }
QScrollBar::handle:horizontal { background: $scrollbar; border-radius: 3px; min-width: 36px;
    margin: 3px 2px; }
QScrollBar::handle:hover { background: $faint; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QProgressBar { background: $seg_free; border: 0; border-radius: 3px; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { background: $accent; border-radius: 3px; }
"""

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
    """Return the palette of a theme, for everything that Qt paints without the style sheet."""
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


def stylesheet(theme: Theme, text_px: int = fonts.BASE_PX) -> str:
    scale = text_px / fonts.BASE_PX
    tokens: dict[str, object] = {**theme.by_name()}
    tokens |= {f"px{px}": max(1, round(px * scale)) for px in (11, 12, 13, 15, 18, 26)}
    for token in ("error", "warn", "accent"):
        tokens[f"{token}_edge"] = _blend(str(tokens[f"{token}_soft"]), str(tokens[token]), 0.3)
    # Qt mirrors what stands in a box, but not its edges.
    is_mirrored = QGuiApplication.layoutDirection() == Qt.LayoutDirection.RightToLeft
    tokens["begin"], tokens["end"] = ("right", "left") if is_mirrored else ("left", "right")
    # Three tones that differ in more than brightness between the themes.
    tokens["segment_on"] = theme.hover if theme.dark else theme.surface
    # Beside segments in $muted, $faint looks like one of them.
    tokens["segment_off"] = _blend(theme.rail, theme.faint, 0.55)
    tokens["tile"] = theme.hover if theme.dark else theme.seg_free
    # Qt's own mark has steps on a sharp screen; this one has a color that both themes can show.
    tokens["check_mark"] = (resources_dir() / "icons" / "marks" / "check.svg").as_posix()
    tokens["accent_hover"] = QColor(theme.accent).darker(112).name()
    return Template(_FRAME + _TEXT + _BUTTONS + _FIELDS + _MENUS + _VIEWS).substitute(tokens)


def prepare(app: QApplication, theme: Theme, text_px: int = fonts.BASE_PX) -> None:
    """Set the application's style, font and palette: all but the style sheet, which follows the window."""
    if not app.styleSheet():  # later the style is a wrapper of Qt whose name says nothing
        app.setStyle("Fusion")
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
    a, b = QColor(background), QColor(foreground)
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
        """Apply the style sheet, once the window is built, and for another text size."""
        apply(self._app, self.theme, self.text_px)
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
