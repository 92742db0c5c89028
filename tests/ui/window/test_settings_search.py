"""The search over all settings: what is found by its words, and how the user comes there by keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFrame

from helix_desktop.ui.kit.forms import Form
from helix_desktop.ui.kit.intents import Find
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def _found(rig: WindowRig) -> list[str]:
    """What the list shows, as a screen reader says it."""
    return [line.words for line in rig.settings.names.search.hits.rows]


def _type(rig: WindowRig, words: str) -> None:
    rig.settings.names.search.field.selectAll()
    QTest.keyClicks(rig.settings.names.search.field, words)


async def test_a_setting_is_found_and_has_the_keyboard(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await _check_any_page(rig)
        await _check_a_narrow_window(rig)


async def _check_any_page(rig: WindowRig) -> None:
    await rig.open_folder("project")
    await rig.wiring.settings.show("providers")
    view, search = rig.settings, rig.settings.names.search
    rig.window.perform(Find(""))
    assert rig.window.focusWidget() is search.field

    _type(rig, "enter sends")
    assert _found(rig) == ["Sending, General"]
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    switch = view.appearance.controls["enter_sends"]
    await until(lambda: rig.window.focusWidget() is switch, "the switch has the keyboard")
    assert not view.appearance.rows["enter_sends"].visibleRegion().isEmpty()
    assert view.findChild(QFrame, "found_ring"), "it is marked"
    assert view.current_page() == "appearance"

    _type(rig, "budget")
    found = _found(rig)
    assert len(found) > 1, "words of a group count for its fields"
    QTest.keyClick(search.field, Qt.Key.Key_Down)
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    form = view.policy.findChild(Form)
    assert isinstance(form, Form)
    hit = search.hits.row
    assert hit == 1
    await until(lambda: view.current_page() == "policy", "its page")
    await until(
        lambda: form.isAncestorOf(rig.window.focusWidget() or rig.window), "the field has the keyboard"
    )

    _type(rig, "maximum size")
    assert _found(rig) == ["Maximum size, Data · Outputs", "Maximum size, Data · File history"]
    _type(rig, "check updates")
    assert _found(rig)[-1] == "Check for updates, About"
    _type(rig, "keyboard trash")
    assert "Trash…, Keyboard" in _found(rig)
    _type(rig, "zzz")
    assert not _found(rig)
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert rig.window.page() == "settings"
    assert view.names.list.current_button.isVisible()
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert rig.window.page() != "settings"


async def _check_a_narrow_window(rig: WindowRig) -> None:
    await rig.open_folder("project")
    await rig.wiring.settings.show("appearance")
    rig.window.resize(560, 420)
    view, search = rig.settings, rig.settings.head.search
    await until(search.isVisible, "the search above the pages")
    rig.window.perform(Find(""))
    assert rig.window.focusWidget() is search.field
    QTest.keyClicks(search.field, "maximum size")
    assert [line.words for line in search.hits.rows] == [
        "Maximum size, Data · Outputs",
        "Maximum size, Data · File history",
    ]
    assert search.hits.isVisible()
    QTest.keyClick(search.field, Qt.Key.Key_Down)
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    control = view.data.forms[1].controls["history_quota"]
    await until(lambda: rig.window.focusWidget() is control, "the field has the keyboard")
    assert not search.hits.isVisible()

    search.field.setFocus(Qt.FocusReason.TabFocusReason)
    assert search.hits.isVisible(), "the next one of them"
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert view.data.isVisible()
    QTest.keyClicks(search.field, "zzz")
    assert not view.data.isVisible()
    rig.window.resize(1_024, 680)
    await until(view.names.isVisible, "the list of pages")
    assert view.data.isVisible()
    assert not search.field.text()


async def test_a_setting_that_is_off_leads_to_the_switch_it_needs(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.settings.show("appearance")
        form = rig.settings.appearance
        form.write("notify", False)
        _type(rig, "play sound")
        QTest.keyClick(rig.settings.names.search.field, Qt.Key.Key_Return)
        await until(lambda: rig.window.focusWidget() is form.controls["notify"], "the switch above it")
        ring = rig.settings.findChild(QFrame, "found_ring")
        assert isinstance(ring, QFrame)
        line = form.rows["notify_sound"]
        assert ring.frameGeometry().contains(
            ring.mapToParent(ring.mapFromGlobal(line.mapToGlobal(line.rect().center())))
        )
