"""Files that are dropped on the composer."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication

from tests.support.window.window_rig import WindowRig


def drop(rig: WindowRig, *paths: Path) -> None:
    """Drop files on the composer."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    at, copy = QPoint(5, 5), Qt.DropAction.CopyAction
    drop_args = (mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    entered = QDragEnterEvent(at, copy, *drop_args)
    QGuiApplication.sendEvent(rig.composer, entered)
    assert entered.isAccepted()
    QGuiApplication.sendEvent(rig.composer, QDropEvent(at, copy, *drop_args))
