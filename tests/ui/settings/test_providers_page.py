"""The list of providers, by mouse and by keyboard."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.services.provider_changes import DEMO
from helix_desktop.ui.settings.forms import ProviderForm, ProviderStatus
from helix_desktop.ui.settings.providers.page import ProvidersPage


def test_a_provider_is_shown_when_it_is_clicked_or_reached_with_a_key(qtbot: QtBot) -> None:
    page = ProvidersPage()
    qtbot.addWidget(page)
    forms = [
        ProviderForm(DEMO, "Demo", "", demo=True),
        ProviderForm("box", "box", "http://127.0.0.1:1/v1"),
        ProviderForm("lab", "lab", "http://127.0.0.1:2/v1"),
    ]
    page.show_providers(forms, [ProviderStatus(form.id, form.demo, "none") for form in forms])
    page.resize(800, 600)
    with qtbot.waitExposed(page):
        page.show()
    assert not page.editor.isVisible()
    place = page.list.visualItemRect(page.list.item(1)).center()
    QTest.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert page.editor.isVisible()
    assert page.editor.form().name == "box"
    QTest.keyClick(page.list, Qt.Key.Key_Down)
    assert page.editor.form().name == "lab"
    page.add()
    assert page.editor.form().name == ""
