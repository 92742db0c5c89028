"""Pictures of every state on samples: what the real window shows only with errors, slow servers or bad luck.

`./helix screenshots` runs it beside the tour of the real window. Alone: `python -m
tests.support.galleries.screen_pictures OUT [NAME…]`, with its options in `--help`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from PySide6.QtWidgets import QApplication, QDialog, QWidget
from screens import pixels

from helix_desktop.app.qt_language import load_language, translate_qt
from helix_desktop.app.qt_loop import QtLoop
from helix_desktop.config.paths import resources_dir
from helix_desktop.demo.run_demo import use_offscreen_platform
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.style import fonts, stylesheet
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.words.translation import use_language
from tests.support.galleries import every_screen, panes_gallery, shell_gallery
from tests.support.galleries.every_screen import Screen

_THEMES = {"light": (LIGHT,), "dark": (DARK,), "both": (DARK, LIGHT)}
_SETTLE_ROUNDS = 6
_OF_ITS_OWN, _SMALLEST = (0, 0), (1, 1)


def _drag_screens() -> Iterator[Screen]:
    for name, show in shell_gallery.DRAGS.items():
        window = shell_gallery.make_window()
        window.allow_close()
        show(window)
        yield Screen(name, window, ((window.width(), window.height()),))


_GROUPS: tuple[Callable[[], Iterator[Screen]], ...] = (
    every_screen.window_screens,
    _drag_screens,
    every_screen.pane_screens,
    every_screen.changes_screens,
    every_screen.chat_screens,
    every_screen.diff_screens,
    every_screen.settings_screens,
    every_screen.provider_screens,
    every_screen.dialog_screens,
)


class PictureWriter:
    """Saves each screen in one theme."""

    def __init__(self, options: argparse.Namespace, theme: Theme) -> None:
        self._out, self._size, self._names = options.out, options.size, options.names
        self._theme = theme
        self.saved = 0

    async def save(self, screen: Screen) -> None:
        """Save a screen at the first of its sizes; a window at the size that is wanted."""
        name = re.sub(r"[^\w]+", "-", screen.name.removeprefix("make_")).strip("-")
        if self._names and not any(part in name for part in self._names):
            return
        is_window = isinstance(screen.widget, MainWindow) and len(screen.sizes) > 1
        size = self._size if self._size and is_window else screen.sizes[0]
        screen.widget.show()
        if size not in (_OF_ITS_OWN, _SMALLEST):
            screen.widget.resize(*size)
        await panes_gallery.settle(_SETTLE_ROUNDS)
        focused = QApplication.focusWidget()
        if focused is not None and not isinstance(screen.widget, QDialog | MainWindow):
            focused.clearFocus()  # in the window something else has the keyboard
        path = self._out / f"{name}-{self._theme.name}.png"
        if not screen.widget.grab().save(str(path)):
            raise OSError(f"{path} can't be written")
        self.saved += 1

    async def save_all(self) -> None:
        for screens in _GROUPS:
            widgets = []
            for screen in screens():
                widgets.append(screen.widget)
                await self.save(screen)
            for widget in widgets:
                _close(widget)
        for shot in panes_gallery.SHOTS:
            scope = TaskScope()
            pane = await shot(scope, self._theme)
            await self.save(Screen(shot.__name__, pane, ((pane.width(), pane.height()),)))
            _close(pane)
            await scope.close()


def _close(widget: QWidget) -> None:
    """Let a screen go with the window that it stands over."""
    with suppress(RuntimeError):  # gone with the window of another screen
        widget.window().hide()
        widget.deleteLater()


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", help="parts of the names of the screens; all without one")
    parser.add_argument("--theme", choices=_THEMES, default="both")
    parser.add_argument("--size", type=pixels)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--language", type=Path, help="a compiled catalog")
    return parser.parse_args(arguments)


def main() -> int:
    """Save all pictures, or those whose name contains one of the arguments."""
    options = _options(sys.argv[1:])
    os.environ["QT_SCALE_FACTOR"] = options.scale
    options.out.mkdir(parents=True, exist_ok=True)
    use_offscreen_platform(options.out, options.size, int(options.scale))
    app = QApplication(sys.argv[:1])
    fonts.load(resources_dir() / "fonts")
    if options.language:
        language = load_language(options.language)
        use_language(language)
        translate_qt(app, language)
    saved = 0
    with asyncio.Runner(loop_factory=lambda: QtLoop(app)) as runner:
        for theme in _THEMES[options.theme]:
            stylesheet.apply(app, theme)
            writer = PictureWriter(options, theme)
            runner.run(writer.save_all())
            saved += writer.saved
    sys.stdout.write(f"{saved} pictures of samples in {options.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
