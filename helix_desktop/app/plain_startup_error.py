"""A plain message box about a start that failed; it needs Qt and hardly anything else of the program."""

from __future__ import annotations

import builtins
import os
import sys

from helix_desktop import APP_NAME
from helix_desktop.words.translation import Translator

tr = Translator("Window")


def remove_import_hook() -> None:
    """Load Qt and take its hook off the import statement; call it before other modules are imported.

    To find out which modules may use Qt's other names (`from __feature__ import snake_case`, which we do not
    use), the hook reads the source of each module that is imported and keeps it: with all of the app 23 MB of
    memory, and before the first frame a tenth of the processor time (measured with PySide 6.11).
    """
    import PySide6.QtCore  # noqa: F401 - sets the hook

    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)


def couldnt_start_text() -> str:
    return tr("Helix Desktop couldn't start.")


def damaged_installation_text() -> str:
    return tr("The installation is damaged or incomplete. Install Helix Desktop again.")


def show_plain_startup_error(what: str, why: str, fix: str) -> None:
    """Show what failed, why, and what to do until it is read; nothing without a display or without Qt."""
    if not has_display():
        return
    try:
        remove_import_hook()
        from PySide6.QtCore import Qt
        from PySide6.QtWidgets import QApplication, QMessageBox
    except ImportError:
        return
    # The start may have failed before or after it made one, which has to live as long as the box is shown.
    _app = QApplication.instance() or QApplication(sys.argv[:1])  # noqa: TID251 - see above
    for window in QApplication.topLevelWidgets():
        window.hide()  # nothing fills it any more
    box = QMessageBox(QMessageBox.Icon.Critical, APP_NAME, what)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setInformativeText("\n\n".join(filter(None, (why, fix))))
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    copy = box.addButton(tr("Copy"), QMessageBox.ButtonRole.ActionRole)
    close = box.addButton(tr("Close"), QMessageBox.ButtonRole.RejectRole)
    copy.setObjectName("copy")
    close.setObjectName("close")
    box.setDefaultButton(close)
    box.setEscapeButton(close)
    box.exec()
    while box.clickedButton() is copy:  # any button closes it
        QApplication.clipboard().setText("\n".join((what, why, fix)))
        box.exec()


def has_display() -> bool:
    """Return True if Qt can show something; without a display it would end the process."""
    if os.environ.get("QT_QPA_PLATFORM") in {"offscreen", "minimal"}:
        return False
    return sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
