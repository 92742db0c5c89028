"""Every screen in languages that need more room than English: nothing is cut, covered or pushed out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from texts import pseudo

from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.style import stylesheet
from helix_desktop.ui.design.style.fonts import ui_font
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.outputs.rows import COLUMN_INDEX
from helix_desktop.ui.outputs.table import PAD, CacheTable
from tests.support.galleries import every_screen, panes_gallery, shell_gallery
from tests.support.galleries.every_screen import Screen
from tests.support.pseudo_languages import pseudo_language
from tests.support.window.buttons import find_child
from tests.support.window.cut_texts import cut_texts

pytestmark = [pytest.mark.qt_loop, pytest.mark.usefixtures("_styled")]
# Texts without spaces break anywhere: longer ones find what they find, so only torture tries them.
_LANGUAGES = (pseudo.LONG, *((pseudo.CHINESE,) if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else ()))
_LEAST_CENTER_PX = 410  # between sidebar and panel in a window of 1,024 pixels
_SETTLE_ROUNDS = 4  # wrapped labels take their heights in the second


@pytest.fixture
def _styled(qapp: QApplication) -> Iterator[None]:
    before = qapp.font()
    stylesheet.apply(qapp, LIGHT)
    yield
    qapp.setStyleSheet("")
    qapp.setFont(before)


def _close_later(qtbot: QtBot, widget: QWidget) -> None:
    """Let a widget's window go after the test, with all its dialogs."""
    root = widget
    while (parent := root.parentWidget()) is not None:
        root = parent
    qtbot.addWidget(root)


async def _problems(screen: Screen) -> list[str]:
    """Return what does not fit, at each of a screen's sizes."""
    found = []
    screen.widget.setUpdatesEnabled(False)  # sizes are looked at, not pictures
    for size in screen.sizes:
        screen.widget.show()
        if size != (0, 0):
            screen.widget.resize(*size)
        await panes_gallery.settle(_SETTLE_ROUNDS)
        where = f"{screen.name}, {screen.widget.width()} x {screen.widget.height()}"
        found += [f"{where}: {problem}" for problem in cut_texts(screen.widget)]
        if size > (1, 1) and screen.widget.width() > size[0]:
            found.append(f"{where}: wider than {size[0]} px")
    return found


@pytest.mark.parametrize("code", _LANGUAGES)
@pytest.mark.parametrize("screens", every_screen.GROUPS, ids=lambda group: group.__name__)
async def test_longer_texts_fit(code: str, screens: Callable[[], Iterator[Screen]], qtbot: QtBot) -> None:
    found = []
    with pseudo_language(code):
        for screen in screens():
            _close_later(qtbot, screen.widget)
            found += await _problems(screen)
    assert not found, "\n".join(found)


def _cut_sizes(pane: QWidget) -> list[str]:
    """Return the sizes of outputs that their column has no room for."""
    table = find_child(pane, CacheTable)
    model = table.model()
    column = COLUMN_INDEX["size"]
    sizes = [str(model.index(row, column).data() or "") for row in range(model.rowCount())]
    room = table.columnWidth(column) - 2 * PAD if not table.isColumnHidden(column) else 10_000
    return [size for size in sizes if QFontMetricsF(ui_font(12)).horizontalAdvance(size) > room]


@pytest.mark.parametrize("code", _LANGUAGES)
async def test_longer_texts_fit_the_cache_browser(code: str, scope: TaskScope, qtbot: QtBot) -> None:
    found = []
    with pseudo_language(code):
        for shot in (panes_gallery.cache, panes_gallery.cache_search, panes_gallery.cache_damaged):
            pane = await shot(scope)
            _close_later(qtbot, pane)
            pane.setMinimumWidth(_LEAST_CENTER_PX)
            for size in ((_LEAST_CENTER_PX, 640), (660, 640), (804, 846), (1_440, 900)):
                for _ in range(2):  # narrower in two steps: the preview shortens its buttons after the first
                    pane.resize(*size)
                    await panes_gallery.settle(_SETTLE_ROUNDS)
                problems = [*cut_texts(pane), *_cut_sizes(pane)]
                found += [f"{shot.__name__}, {pane.width()} px: {problem}" for problem in problems]
                if pane.width() > size[0]:
                    found.append(f"{shot.__name__}: needs {pane.width()} px, has {size[0]}")
    assert not found, "\n".join(found)


async def test_longer_texts_fit_a_narrow_top_bar(qtbot: QtBot) -> None:
    with pseudo_language(pseudo.LONG):
        window = shell_gallery.make_window()
        _close_later(qtbot, window)
        window.allow_close()
        shell_gallery.show_running_session(window)
        window.show()
        window.resize(1_024, 680)
        window.commands.toggle_inspector.trigger()
        await panes_gallery.settle(_SETTLE_ROUNDS)
        assert window.top_bar.width() < _LEAST_CENTER_PX
        assert not cut_texts(window.top_bar)
