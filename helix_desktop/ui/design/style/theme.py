"""Design tokens: every color of the window, light and dark; and the widgets that paint with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication, QWidget

if TYPE_CHECKING:
    _Widget = QWidget
else:
    _Widget = object  # a mixin: the class that it is mixed into brings Qt's part


@dataclass(frozen=True, slots=True)
class CodeColors:
    keyword: str
    function: str
    type: str
    string: str
    number: str
    comment: str
    operator: str
    removed: str


@dataclass(frozen=True, slots=True)
class Theme:
    """One set of colors, as #rrggbb; every text color keeps 4.5:1 on the surfaces it is used on."""

    name: str
    dark: bool
    rail: str  # surfaces, from the outer edge inwards
    side: str
    canvas: str
    surface: str
    raised: str
    hover: str
    row_hover: str  # under a row or a card, on the canvas or on a surface
    selection: str
    user_bubble: str
    code_surface: str
    inline_code: str
    border: str
    border_strong: str
    text: str
    muted: str
    faint: str
    accent: str
    on_accent: str
    accent_soft: str
    accent_text: str
    ok: str
    ok_soft: str
    warn: str
    warn_soft: str
    error: str
    error_soft: str
    scrollbar: str
    text_selection: str
    added_line: str  # backgrounds in a diff; code keeps 4.5:1 on lines, on words it has the color of text
    added_word: str
    removed_line: str
    removed_word: str
    no_line: str
    seg_system: str  # segments of the context bar
    seg_tools: str
    seg_mcp: str
    seg_environment: str
    seg_instructions: str
    seg_handover: str
    seg_user: str
    seg_assistant: str
    seg_output: str
    seg_recalled: str
    seg_pinned: str
    seg_free: str
    code: CodeColors


LIGHT = Theme(
    name="light",
    dark=False,
    rail="#eceef3",
    side="#f5f6f9",
    canvas="#ffffff",
    surface="#ffffff",
    raised="#f7f8fa",
    hover="#e9ebf1",
    row_hover="#f3f4f8",
    selection="#e5e7f9",
    user_bubble="#f3f4f8",
    code_surface="#f7f8fa",
    inline_code="#eef0f4",
    border="#e3e6ec",
    border_strong="#d5d9e2",
    text="#1a1d24",
    muted="#545c6a",
    faint="#5f6775",
    accent="#5753d8",
    on_accent="#ffffff",
    accent_soft="#eeeefc",
    accent_text="#4744bd",
    ok="#157a4f",
    ok_soft="#e4f5ec",
    warn="#8a5200",
    warn_soft="#fdf1dc",
    error="#b92a34",
    error_soft="#fdeaeb",
    scrollbar="#c9ced8",
    text_selection="#cfd4fb",
    added_line="#e6f6ec",
    added_word="#b6e6c8",
    removed_line="#fdeef0",
    removed_word="#f9c7cb",
    no_line="#eff1f4",
    seg_system="#5753d8",
    seg_tools="#8380e6",
    seg_mcp="#64748b",
    seg_environment="#8b8a2c",
    seg_instructions="#3657c8",
    seg_handover="#2f8fe0",
    seg_user="#d85f8a",
    seg_assistant="#129a84",
    seg_output="#c47d12",
    seg_recalled="#b06fd0",
    seg_pinned="#d4502a",
    seg_free="#e3e6ec",
    code=CodeColors(
        keyword="#8039c9",
        function="#1f5fc4",
        type="#9a4a00",
        string="#137a54",
        number="#9a5200",
        comment="#636c7a",
        operator="#5d6573",
        removed="#b92a34",
    ),
)

DARK = Theme(
    name="dark",
    dark=True,
    rail="#0d0f13",
    side="#13161b",
    canvas="#181b21",
    surface="#1e2229",
    raised="#1c2027",
    hover="#262b34",
    row_hover="#252a33",
    selection="#282b46",
    user_bubble="#20242c",
    code_surface="#13161b",
    inline_code="#282d36",
    border="#282d36",
    border_strong="#363c48",
    text="#e7e9ee",
    muted="#9ba4b3",
    faint="#8e97a7",
    accent="#6663ec",
    on_accent="#ffffff",
    accent_soft="#272848",
    accent_text="#b3b1ff",
    ok="#4fc78e",
    ok_soft="#17342a",
    warn="#e6b057",
    warn_soft="#3a2e18",
    error="#f48a91",
    error_soft="#3d2024",
    scrollbar="#3d4452",
    text_selection="#3a3d78",
    added_line="#14291f",
    added_word="#21553f",
    removed_line="#301a1e",
    removed_word="#652b32",
    no_line="#1a1e24",
    seg_system="#7f7cf5",
    seg_tools="#6562c2",
    seg_mcp="#8796ab",
    seg_environment="#c3be5c",
    seg_instructions="#7f9bff",
    seg_handover="#4aa8f0",
    seg_user="#ec7fa6",
    seg_assistant="#35c2a8",
    seg_output="#f0b454",
    seg_recalled="#c48be6",
    seg_pinned="#ff8a63",
    seg_free="#2b303a",
    code=CodeColors(
        keyword="#c39bf7",
        function="#7fb3ff",
        type="#f2c879",
        string="#8ad6ad",
        number="#f2a36b",
        comment="#8992a2",
        operator="#9ba4b3",
        removed="#f48a91",
    ),
)


class _CurrentTheme:
    theme = LIGHT


def current_theme() -> Theme:
    return _CurrentTheme.theme


def use_theme(theme: Theme) -> None:
    """Let what is painted from now on take these tokens; `apply_theme_to_all` is for what is there."""
    _CurrentTheme.theme = theme


class Themed(_Widget):
    """A widget that paints with theme tokens, or makes something of them in `apply_theme`."""

    @property
    def _theme(self) -> Theme:
        return _CurrentTheme.theme

    def apply_theme(self) -> None:
        """Take the theme and the text size in force."""
        QWidget.update(self)  # an item view has an `update` of its own, which takes an index


def apply_theme_to_all() -> None:
    """Let all widgets take the theme and the text size in force."""
    for widget in QApplication.allWidgets():
        if isinstance(widget, Themed):
            widget.apply_theme()
