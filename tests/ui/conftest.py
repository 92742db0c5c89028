"""A shown window with placeholders, and its layout store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from helix_desktop.config.paths import resources_dir
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import LIGHT, Theme, apply_theme_to_all, use_theme
from helix_desktop.ui.window.main_window import MainWindow
from tests.support.default_settings import NoWindow
from tests.support.window.bare_window import make_window
from tests.support.window.looks import ShowLook


@pytest.fixture(scope="session", autouse=True)
def _started(qapp: QGuiApplication) -> None:
    """Load the fonts as the app does first, since widths depend on them; no last window ends the loop."""
    fonts.load(resources_dir() / "fonts")
    qapp.setQuitOnLastWindowClosed(False)


@pytest.fixture
def layout_states() -> dict[str, bytes]:
    """Return the content of the layout store."""
    return {}


@pytest.fixture
def window(qtbot: QtBot, layout_states: dict[str, bytes]) -> Iterator[MainWindow]:
    """A wide window on screen, with a text field as its chat."""
    main_window = make_window(layout_states)
    qtbot.addWidget(main_window)
    with qtbot.waitExposed(main_window):
        main_window.show()
    yield main_window
    main_window.allow_close()


@pytest.fixture
def show_look(qapp: QApplication) -> Iterator[ShowLook]:
    """Show everything in a theme and at a text size, until the end of the test."""
    font = qapp.font()

    def show(theme: Theme, text_px: int = fonts.BASE_PX) -> None:
        use_theme(theme)
        qapp.setFont(fonts.base(text_px))
        apply_theme_to_all()

    yield show
    qapp.setFont(font)


@pytest.fixture(autouse=True)
def _light() -> Iterator[None]:
    """Let no test begin in the theme of another one."""
    yield
    use_theme(LIGHT)


class TestScope(TaskScope):
    """A scope that a test's end can close before the widgets that its tasks show something on are deleted."""

    __test__ = False

    def cancel(self) -> None:
        """Cancel all tasks, and later ones at once: a timer may start one while the widgets close."""
        self._closed = True
        for task in self._tasks:
            task.cancel()


@pytest_asyncio.fixture
async def scope() -> AsyncIterator[TaskScope]:
    new_scope = TestScope()
    yield new_scope
    await new_scope.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Cancel what still runs: pytest-qt deletes the widgets before the fixture `scope` ends."""
    scope = getattr(item, "funcargs", {}).get("scope")
    if isinstance(scope, TestScope):
        scope.cancel()
    yield


@pytest.fixture(autouse=True)
def _windows_of_sessions() -> Iterator[None]:
    """Delete the windows that stand for none: each holds its session, which holds it."""
    yield
    for window in QApplication.topLevelWidgets():
        if isinstance(window, NoWindow):
            window.deleteLater()
