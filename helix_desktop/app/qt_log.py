"""Write Qt's own messages to our log, without the useless ones."""

from __future__ import annotations

import logging

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

log = logging.getLogger("helix_desktop.qt")
_IGNORED = ("does not support propagateSizeHints", "does not support raise()")
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def install_qt_log() -> None:
    qInstallMessageHandler(_on_message)


def uninstall_qt_log() -> None:
    qInstallMessageHandler(None)


def _on_message(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    if not any(words in text for words in _IGNORED):
        log.log(_LEVELS.get(kind, logging.WARNING), "%s", text)
