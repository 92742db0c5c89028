"""A message box says why the window could not open."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMessageBox

from helix_desktop.app.plain_startup_error import show_plain_startup_error
from tests.support.window.buttons import press


def test_a_failed_start_is_shown_and_its_text_can_be_copied(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")  # read to know of a display: Qt runs already
    monkeypatch.setenv("DISPLAY", ":0")
    box_texts: list[str] = []

    def answer(name: str) -> None:
        box = qapp.activeModalWidget()
        assert isinstance(box, QMessageBox)
        box_texts.append(f"{box.text()}|{box.informativeText()}")
        press(box, name)

    def copy() -> None:
        QTimer.singleShot(0, lambda: answer("close"))
        answer("copy")

    QTimer.singleShot(0, copy)
    show_plain_startup_error("It failed.", "No library.", "Install it.")
    assert box_texts == ["It failed.|No library.\n\nInstall it."] * 2, "Copy leaves it open"
    assert QGuiApplication.clipboard().text() == "It failed.\nNo library.\nInstall it."


def test_nothing_is_shown_without_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    show_plain_startup_error("It failed.", "", "")  # it would wait to be closed
