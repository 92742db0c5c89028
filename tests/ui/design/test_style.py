"""The style's guarantees: readable text, no forgotten token, a live switch."""

from __future__ import annotations

from typing import get_args

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QFontDatabase, QImage, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QLineEdit, QMenu, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.config.paths import resources_dir
from helix_desktop.context.window.window_breakdown import WindowItemKind
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.labels import IconLabel, TextLine
from helix_desktop.ui.design.style import fonts, stylesheet
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme, current_theme
from helix_desktop.ui.design.tool_icons import tool_icon
from helix_desktop.ui.panel.panel_state import SEGMENT_LOOKS, SegmentKind
from helix_desktop.ui.panel.view import KeyValue
from helix_desktop.ui.window.workspace_badges import WORKSPACE_COLORS
from helix_desktop.words.state_words import STATE_WORDS
from tests.support.tables import for_each
from tests.support.window.looks import ShowLook

AA = 4.5
"""Least contrast of text, WCAG 2.2 criterion 1.4.3."""

GRAPHIC = 3.0
"""Least contrast of what is not text, WCAG 2.2 criterion 1.4.11."""

TEXT_PAIRS: tuple[tuple[str, str], ...] = (
    *(
        (color, background)
        for color in ("text", "muted")
        for background in (
            "rail",
            "side",
            "canvas",
            "surface",
            "raised",
            "hover",
            "row_hover",
            "selection",
        )
    ),
    *(("faint", background) for background in ("side", "canvas", "surface", "raised", "rail", "row_hover")),
    *(("accent_text", background) for background in ("canvas", "side", "surface", "accent_soft", "raised")),
    ("on_accent", "accent"),
    ("text", "text_selection"),
    *(
        (color, background)
        for color in ("ok", "warn", "error")
        for background in ("canvas", "surface", "row_hover", f"{color}_soft")
    ),
    *(("text", background) for background in ("ok_soft", "warn_soft", "error_soft", "accent_soft")),
    *(("text", background) for background in ("added_word", "removed_word")),
    *(
        (color, background)
        for color in ("text", "muted", "ok", "error")
        for background in ("added_line", "removed_line", "no_line")
    ),
    *(("muted", background) for background in ("warn_soft", "error_soft", "accent_soft")),
)
"""Text token and ground token of every pair that the window shows."""
ROW_KINDS: tuple[WindowItemKind, ...] = tuple(
    kind for kind in get_args(WindowItemKind) if kind in SEGMENT_LOOKS
)


def luminance(color: str) -> float:
    """Relative luminance of #rrggbb as WCAG 2.2 defines it."""
    parts = (QColor(color).redF(), QColor(color).greenF(), QColor(color).blueF())
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(color: str, background: str) -> float:
    """Contrast of two colors, 1 to 21."""
    light, dark = sorted((luminance(color), luminance(background)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@for_each("theme", [LIGHT, DARK])
@for_each(("color", "background"), TEXT_PAIRS)
def test_text_is_readable_on_every_surface(theme: Theme, color: str, background: str) -> None:
    assert contrast(getattr(theme, color), getattr(theme, background)) >= AA


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["canvas", "surface"])
def test_what_is_under_the_mouse_stands_out(theme: Theme, ground: str) -> None:
    """In the dark a card turned darker by 2 of 255: nobody saw it."""
    assert contrast(theme.row_hover, getattr(theme, ground)) >= 1.09


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("background", ["code_surface", "added_line", "removed_line"])
def test_code_is_readable_on_the_grounds_of_a_diff(theme: Theme, background: str) -> None:
    for color in theme.code.by_name().values():
        assert contrast(color, getattr(theme, background)) >= AA


@for_each("theme", [LIGHT, DARK])
@for_each("kind", ROW_KINDS)
def test_each_part_of_the_bar_has_contrast_to_its_background(theme: Theme, kind: WindowItemKind) -> None:
    for background in ("surface", "side", "canvas"):
        assert contrast(getattr(theme, SEGMENT_LOOKS[kind].color), getattr(theme, background)) >= GRAPHIC


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_bar_has_a_color_for_what_is_always_sent_for_summaries_and_for_turns(theme: Theme) -> None:
    kinds: tuple[SegmentKind, ...] = ("system", "handover", "user", "reserve", "free")
    colors = {getattr(theme, SEGMENT_LOOKS[kind].color) for kind in kinds}
    assert len(colors) == len(kinds)
    assert {getattr(theme, SEGMENT_LOOKS[kind].color) for kind in ROW_KINDS} < colors


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_each_state_has_a_dot_of_its_own_color(theme: Theme) -> None:
    states = {words.label: words.color for words in STATE_WORDS.values() if words.color}
    del states[STATE_WORDS["in_part"].label]  # as in context
    colors = {str(getattr(theme, color)) for color in states.values()}
    assert len(colors) == len(states)
    for background in ("raised", "side", "canvas"):
        assert all(contrast(color, getattr(theme, background)) >= GRAPHIC for color in colors)


@for_each("color", WORKSPACE_COLORS)
def test_initials_are_readable_on_every_workspace_color(color: str) -> None:
    assert contrast("#ffffff", color) >= AA
    assert contrast("#ffffff", QColor(color).darker(114).name()) >= AA


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_style_sheet_uses_no_unknown_token(theme: Theme) -> None:
    assert "$" not in stylesheet.stylesheet(theme)


def test_text_size_scales_fixed_sizes_of_the_sheet() -> None:
    assert "font-size: 26px" in stylesheet.stylesheet(LIGHT, 13)
    assert "font-size: 32px" in stylesheet.stylesheet(LIGHT, 16)


def test_both_families_are_bundled(qapp: QApplication) -> None:
    families = fonts.load(resources_dir() / "fonts")

    assert {fonts.UI_FAMILY, fonts.MONO_FAMILY} <= set(families)
    assert fonts.UI_FAMILY in QFontDatabase.families()


def test_text_can_be_twice_as_large(qapp: QApplication) -> None:
    """As the guidelines for accessibility ask (WCAG 1.4.4); it ended at 154 %."""
    appearance = stylesheet.Appearance(qapp, "light")
    for _ in range(20):
        appearance.zoom(1)
    largest = appearance.text_px
    appearance.zoom(0)
    appearance.deleteLater()
    assert largest == 2 * fonts.BASE_PX


def test_appearance_switches_theme_and_text_size_live(qapp: QApplication) -> None:
    appearance = stylesheet.Appearance(qapp, "light")
    themes: list[Theme] = []
    appearance.changed.connect(lambda: themes.append(current_theme()))

    appearance.set_mode("dark")
    appearance.zoom(1)
    appearance.zoom(-1)
    appearance.set_text_px(400)
    appearance.zoom(1)
    appearance.zoom(0)

    assert themes[0] is DARK
    assert appearance.text_px == fonts.BASE_PX
    assert qapp.palette().window().color().name() == DARK.canvas
    appearance.set_mode("light")
    appearance.deleteLater()


def test_icons_grow_with_the_text(qtbot: QtBot, show_look: ShowLook) -> None:
    icon_button = IconButton("x", "Close")
    label = IconLabel("x", px=16)
    button = PushButton("Add", "", "plus")
    window = QWidget()
    qtbot.addWidget(window)
    for part in (icon_button, label, button):
        part.setParent(window)
    sizes = {}
    for px in (fonts.BASE_PX, 2 * fonts.BASE_PX):
        show_look(LIGHT, px)
        sizes[px] = (
            icon_button.width(),
            icon_button.iconSize().height(),
            label.pixmap().deviceIndependentSize().height(),
            button.iconSize().height(),
        )
    assert sizes[2 * fonts.BASE_PX] == tuple(2 * size for size in sizes[fonts.BASE_PX])


class StyleChanges(QLabel):
    """Counts how often it is styled."""

    count = 0

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.count += event.type() == QEvent.Type.StyleChange


def nested(widget: QWidget, depth: int) -> QWidget:
    """Return a widget with the given one so deep in it."""
    for _ in range(depth):
        outer = QFrame()
        outer.setProperty("role", "card")
        layout = QVBoxLayout(outer)
        layout.addWidget(widget)
        widget = outer
    return widget


def test_another_style_sheet_styles_each_widget_once(qtbot: QtBot, qapp: QApplication) -> None:
    stylesheet.apply(qapp, LIGHT)
    words = StyleChanges("words")
    window = nested(words, 8)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    words.count = 0
    stylesheet.apply(qapp, LIGHT, 20)
    assert words.count == 1
    stylesheet.apply(qapp, LIGHT)


def test_what_is_hidden_takes_the_new_colors_a_moment_later(qtbot: QtBot, qapp: QApplication) -> None:
    appearance = stylesheet.Appearance(qapp, "light")
    appearance.apply_stylesheet()
    visible = QLabel("shown")
    hidden = QLabel("hidden")
    gone = QLabel("gone")
    window = nested(visible, 1)
    qtbot.addWidget(window)
    for label in (hidden, gone):
        label.setParent(window)
    with qtbot.waitExposed(window):
        window.show()
    hidden.hide()

    appearance.set_mode("dark")
    gone.deleteLater()

    assert words_color(visible) == DARK.text
    qtbot.waitUntil(lambda: words_color(hidden) == DARK.text)
    appearance.set_mode("light")
    hidden.show()
    qtbot.waitUntil(lambda: words_color(hidden) == LIGHT.text)
    appearance.deleteLater()


def words_color(label: QLabel) -> str:
    return label.palette().color(QPalette.ColorRole.WindowText).name()


@pytest.mark.parametrize("kind", ["", "primary", "link", "nav"])
def test_a_button_that_has_the_keyboard_has_one_ring_and_no_frame_in_it(qtbot: QtBot, kind: str) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.setStyleSheet(stylesheet.stylesheet(LIGHT))
    field = QLineEdit(window)
    button = PushButton("Apply", kind)
    button.setParent(window)
    button.resize(button.sizeHint())

    def inside() -> QImage:
        return button.grab(button.rect().adjusted(4, 4, -4, -4)).toImage()

    with qtbot.waitExposed(window):
        window.show()
    field.setFocus()
    before = inside()
    QTest.keyClick(field, Qt.Key.Key_Tab)
    assert button.hasFocus()
    assert inside() == before


@pytest.mark.parametrize("kind", ["primary", "danger", "link"])
def test_a_button_that_cannot_be_pressed_looks_it(qtbot: QtBot, kind: str) -> None:
    button = PushButton("Empty trash", kind)
    qtbot.addWidget(button)
    button.setStyleSheet(stylesheet.stylesheet(LIGHT))
    button.setEnabled(False)
    button.ensurePolished()
    color = button.palette().color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.ButtonText)
    assert color == QColor(LIGHT.faint)


@pytest.mark.parametrize(("width", "is_below"), [(300, False), (150, True)])
def test_a_value_goes_below_a_name_that_it_would_cut(qtbot: QtBot, width: int, is_below: bool) -> None:
    host = QWidget()
    qtbot.addWidget(host)
    column = QVBoxLayout(host)
    column.addWidget(KeyValue("Saved in the context", "43.8k tokens"))
    host.resize(width, 100)
    host.show()
    name, value = host.findChildren(TextLine)

    def is_lower() -> bool:
        return value.mapTo(host, value.rect().topLeft()).y() > name.mapTo(host, name.rect().bottomLeft()).y()

    qtbot.waitUntil(lambda: is_lower() == is_below)
    assert name.width() >= name.sizeHint().width()


def test_a_pixmap_has_its_color_and_size(qtbot: QtBot) -> None:
    picture = pixmap("stop", "#ff0000", 16, 2.0)
    assert picture.size().toTuple() == (32, 32)
    assert picture.devicePixelRatio() == 2.0
    image = picture.toImage()
    colors = {image.pixelColor(x, 16).name() for x in range(32) if image.pixelColor(x, 16).alpha() > 250}
    assert colors == {"#ff0000"}
    assert pixmap("stop", "#ff0000", 16, 2.0).cacheKey() == picture.cacheKey()


def test_the_mark_of_a_menu_has_smooth_edges(qtbot: QtBot) -> None:
    menu = QMenu()
    qtbot.addWidget(menu)
    action = menu.addAction(" ")
    action.setCheckable(True)
    action.setChecked(True)
    menu.setStyleSheet(stylesheet.stylesheet(LIGHT))
    image = menu.grab(menu.actionGeometry(action).adjusted(2, 2, -2, -2)).toImage()
    colors = {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}
    assert len(colors) > 10  # Qt's own mark has two, and that of the ground


def test_every_tool_has_an_icon_that_exists() -> None:
    tools = ("", "bash", "read_file", "edit_file", "mcp__x", "recall_cached_content", "handover", "fold")
    there = {file.stem for file in (resources_dir() / "icons").glob("*.svg")}
    assert {tool_icon(tool) for tool in tools} <= there
