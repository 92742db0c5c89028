"""Design tokens: every color, light and dark; widgets that paint with them; whether things may move."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal, TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

if TYPE_CHECKING:
    WidgetMixin = QWidget
else:
    WidgetMixin = object  # the class that it is mixed into brings Qt's part


class _Color:
    """A color in the light theme and in the dark one, as #rrggbb."""

    def __init__(self, light: str, dark: str) -> None:
        self._colors = (light, dark)

    def __set_name__(self, owner: type[_Colors], name: str) -> None:
        self._name = name

    def __get__(self, colors: _Colors, owner: type[_Colors]) -> str:
        color = vars(colors)[self._name] = self._colors[colors.dark]  # where it is found the next time
        return color


class _Colors:
    def __init__(self, *, dark: bool) -> None:
        self.dark = dark

    def by_name(self) -> dict[str, str]:
        return {
            name: getattr(self, name) for name, kind in vars(type(self)).items() if isinstance(kind, _Color)
        }


class CodeColors(_Colors):
    keyword = _Color("#8039c9", "#c39bf7")
    function = _Color("#1f5fc4", "#7fb3ff")
    type = _Color("#9a4a00", "#f2c879")
    string = _Color("#137a54", "#8ad6ad")
    number = _Color("#9a5200", "#f2a36b")
    comment = _Color("#636c7a", "#8992a2")
    operator = _Color("#5d6573", "#9ba4b3")
    removed = _Color("#b92a34", "#f48a91")


class Theme(_Colors):
    """One set of colors; every text color keeps 4.5:1 on the surfaces it is used on."""

    def __init__(self, *, dark: bool) -> None:
        super().__init__(dark=dark)
        self.name = "dark" if dark else "light"
        self.code = CodeColors(dark=dark)

    rail = _Color("#eceef3", "#0d0f13")  # surfaces, from the outer edge inwards
    side = _Color("#f5f6f9", "#13161b")
    canvas = _Color("#ffffff", "#181b21")
    surface = _Color("#ffffff", "#1e2229")
    raised = _Color("#f7f8fa", "#1c2027")
    hover = _Color("#e9ebf1", "#262b34")
    # Under a row or a card, on the canvas or on a surface.
    row_hover = _Color("#f3f4f8", "#252a33")
    selection = _Color("#e5e7f9", "#282b46")
    user_bubble = _Color("#f3f4f8", "#20242c")
    code_surface = _Color("#f7f8fa", "#13161b")
    inline_code = _Color("#eef0f4", "#282d36")
    border = _Color("#e3e6ec", "#282d36")
    border_strong = _Color("#d5d9e2", "#363c48")
    text = _Color("#1a1d24", "#e7e9ee")
    muted = _Color("#545c6a", "#9ba4b3")
    faint = _Color("#5f6775", "#8e97a7")
    accent = _Color("#5753d8", "#6663ec")
    on_accent = _Color("#ffffff", "#ffffff")
    accent_soft = _Color("#eeeefc", "#272848")
    accent_text = _Color("#4744bd", "#b3b1ff")
    ok = _Color("#157a4f", "#4fc78e")
    ok_soft = _Color("#e4f5ec", "#17342a")
    warn = _Color("#8a5200", "#e6b057")
    warn_soft = _Color("#fdf1dc", "#3a2e18")
    error = _Color("#b92a34", "#f48a91")
    error_soft = _Color("#fdeaeb", "#3d2024")
    scrollbar = _Color("#c9ced8", "#3d4452")
    text_selection = _Color("#cfd4fb", "#3a3d78")
    # Backgrounds in a diff; code keeps 4.5:1 on lines, on words it has the color of text.
    added_line = _Color("#e6f6ec", "#14291f")
    added_word = _Color("#b6e6c8", "#21553f")
    removed_line = _Color("#fdeef0", "#301a1e")
    removed_word = _Color("#f9c7cb", "#652b32")
    no_line = _Color("#eff1f4", "#1a1e24")
    seg_fixed = _Color("#5753d8", "#7f7cf5")  # segments of the context bar
    seg_handover = _Color("#2f8fe0", "#4aa8f0")
    seg_turn = _Color("#129a84", "#35c2a8")
    seg_output = _Color("#c47d12", "#f0b454")
    seg_part = _Color("#b0518f", "#e08cc4")  # of what is in the context in part
    seg_free = _Color("#e3e6ec", "#2b303a")


LIGHT = Theme(dark=False)
DARK = Theme(dark=True)


class _CurrentTheme:
    theme = LIGHT


def current_theme() -> Theme:
    return _CurrentTheme.theme


def use_theme(theme: Theme) -> None:
    """Let what is painted from now on take these tokens; `apply_theme_to_all` is for what is there."""
    _CurrentTheme.theme = theme


class Themed(WidgetMixin):
    """A widget that paints with theme tokens, or makes something of them in `apply_theme`."""

    @property
    def _theme(self) -> Theme:
        return _CurrentTheme.theme

    def apply_theme(self) -> None:
        QWidget.update(self)  # an item view has an `update` of its own, which takes an index


def apply_theme_to_all() -> None:
    for widget in QApplication.allWidgets():
        if isinstance(widget, Themed):
            widget.apply_theme()


TextRole: TypeAlias = Literal["text", "muted", "faint", "accent_text", "ok", "warn", "error"]


def restyle(widget: QWidget, name: str, value: object) -> None:
    """Set a dynamic property that the style sheet reads, and style the widget again if it changed."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def set_style_sheet(widget: QWidget, sheet: str) -> None:
    """Set a widget's own style sheet if it is another one: Qt reads the same one, and styles it, again."""
    if widget.styleSheet() != sheet:
        widget.setStyleSheet(sheet)


ReducedMotion = Literal["system", "on", "off"]

_REDUCED = "motion_reduced"
_FLASH = "usual_cursor_flash_ms"


def reduce_motion(choice: ReducedMotion) -> None:
    """Reduce motion in all windows or not; "system" follows the desktop where Qt knows it, on Windows."""
    reduced = choice == "on"
    if (
        choice == "system"
    ):  # other platforms of Qt report no effects at all, whatever the desktop's setting is
        reduced = sys.platform == "win32" and not QApplication.isEffectEnabled(Qt.UIEffect.UI_General)
    hints = QGuiApplication.styleHints()  # of the application, as the color scheme is
    if hints.property(_FLASH) is None:
        hints.setProperty(_FLASH, hints.cursorFlashTime())
    hints.setProperty(_REDUCED, reduced)
    hints.setCursorFlashTime(0 if reduced else int(hints.property(_FLASH)))


def is_motion_reduced() -> bool:
    return bool(QGuiApplication.styleHints().property(_REDUCED))
