"""Says why the window cannot start: on the terminal, and in a small window for those who have none."""

from __future__ import annotations

import sys

from PySide6.QtWidgets import QApplication, QMessageBox

from helix_desktop.context.errors import HelixError

_FAILED = 1


def refuse(app: QApplication, error: HelixError) -> int:
    """Show an error and wait until it is read; the exit code."""
    sys.stderr.write(f"helix-desktop: {error}\n")
    if app.platformName() in {"offscreen", "minimal"}:
        return _FAILED
    box = QMessageBox(QMessageBox.Icon.Critical, "Helix Desktop", error.what)
    box.setInformativeText(f"{error.why} {error.fix}".strip())
    box.finished.connect(lambda _: app.exit(_FAILED))
    box.open()
    return app.exec()
