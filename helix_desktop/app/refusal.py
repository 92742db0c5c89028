"""Says why the window cannot start: on the terminal, and in a small window for those who have none."""

from __future__ import annotations

import asyncio
import sys

import qasync
from PySide6.QtWidgets import QApplication, QMessageBox

from helix_desktop.app.exit_codes import FAILED
from helix_desktop.context.errors import HelixError


def refuse(app: QApplication, error: HelixError, code: int = FAILED) -> int:
    """Show an error and wait until it is read; the exit code."""
    sys.stderr.write(f"helix-desktop: {error}\n")
    if app.platformName() not in {"offscreen", "minimal"}:
        with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(app)) as runner:
            runner.run(tell(error))
    return code


async def tell(error: HelixError) -> None:
    """Show an error in a window of its own, and wait until it is read."""
    read = asyncio.Event()
    box = QMessageBox(QMessageBox.Icon.Critical, "Helix Desktop", error.what)
    box.setInformativeText(f"{error.why} {error.fix}".strip())
    box.finished.connect(lambda _: read.set())
    box.open()
    await read.wait()
