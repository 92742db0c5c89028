"""The application of the window, in the language of this process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QTranslator
from PySide6.QtWidgets import QApplication

from helix_desktop.app.qt_language import QtLanguage
from helix_desktop.app.window_frame import set_application_identity
from helix_desktop.words.english import English
from helix_desktop.words.translation import use_language


@pytest.fixture
def app(qapp: QApplication) -> Iterator[QApplication]:
    """Return the application, which speaks English again in the end."""
    yield qapp
    use_language(English())
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.setParent(None)


def _cancel() -> str:
    return QCoreApplication.translate("QPlatformTheme", "Cancel")


def test_dialogs_of_qt_speak_the_language_of_the_window(app: QApplication) -> None:
    """In English nothing is loaded for them."""
    set_application_identity(app)
    assert (_cancel(), app.findChildren(QTranslator)) == ("Cancel", [])
    use_language(QtLanguage("de", QTranslator()))
    set_application_identity(app)
    assert _cancel() == "Abbrechen"


def test_the_first_frame_waits_for_no_engine_no_loop_no_structs_of_events_and_no_source_files() -> None:
    """Each of them took a tenth of the time to it.

    The engine and the structs came when a module of the frame imported one of their types, the source of
    every module by PySide's hook on the import statement.
    """
    code = (
        "import linecache, sys\n"
        "from helix_desktop.main import resolve_command\n"
        "from helix_desktop.cli.parsers.command_line import build_parser\n"
        "resolve_command(build_parser().parse_args([]))\n"
        "assert 'helix_desktop.app.window_frame' in sys.modules\n"
        "early = ('helix_desktop.context', 'helix_desktop.services.app_services')\n"
        "early += ('asyncio', 'msgspec', 'markdown_it', 'helix_desktop.ui.kit.boxes')\n"
        "modules = [name for name in early if name in sys.modules]\n"
        "print(modules + [path for path in linecache.cache if 'helix_desktop' in path])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
