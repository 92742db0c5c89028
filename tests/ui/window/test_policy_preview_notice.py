"""The notice of a policy that was looked at in the settings and is not in use: shown again, or discarded."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.session import PolicyChosen
from tests.support.scripted_replays import ScriptedReplays
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def _close_with_a_preview(rig: WindowRig) -> ScriptedReplays:
    """Look at another policy, with a number that can't be used, and close the settings."""
    replays = ScriptedReplays()
    rig.wiring.settings.replays.create_worker = lambda: replays
    await rig.wiring.settings.show("policy")
    page = rig.settings.policy
    page.form.write("protect_steps", 9)
    control = page.form.controls["intake_above"]
    assert isinstance(control, QLineEdit)
    control.setFocus()
    control.selectAll()
    QTest.keyClicks(control, "30000000")
    QTest.keyClick(control, Qt.Key.Key_Return)
    assert page.form.errors().get("intake_above", "")
    rig.window.leave_settings()
    await until(lambda: "Policy not applied: Balanced with 1 change." in rig.banner_text(), "the notice")
    return replays


async def test_discard_drops_what_was_not_applied(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.run_turn("Begin.")
        await rig.run_turn("Go on.")
        replays = await _close_with_a_preview(rig)
        page, loads = rig.settings.policy, replays.loads
        button = find_button(rig.window.notices, "policy-preview:discard")
        button.setFocus()
        QTest.keyClick(button, Qt.Key.Key_Space)
        await until(lambda: "policy-preview" not in rig.window.notices.names(), "the notice gone")
        await until(rig.composer.editor.hasFocus, "the keyboard is where it was")
        assert not page.isVisible()
        assert (rig.workspace.policy, rig.events(PolicyChosen)) == (PROFILES["balanced"], [])
        assert replays.loads == loads, "nothing is replayed out of sight"

        await rig.wiring.settings.show("policy")
        await until(page.isVisible, "the page again")
        assert page.slider.track.value_text == "Balanced"
        assert not page.form.errors().get("intake_above", ""), "nor what was typed"
        steps = page.form.controls["protect_steps"]
        assert isinstance(steps, QLineEdit)
        assert steps.text() == str(PROFILES["balanced"].protect_steps)
        rig.window.leave_settings()
        assert "policy-preview" not in rig.window.notices.names(), "nothing is left to apply"


async def test_show_opens_the_page_also_where_no_session_is_open(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await _close_with_a_preview(rig)
        await rig.wiring.workspace_controller.show_session(rig.workspace, "")
        assert not rig.window.commands.change_policy.isEnabled()
        press(rig.window.notices, "policy-preview:show")
        await until(rig.settings.policy.isVisible, "the page")
        assert rig.settings.policy.slider.track.value_text == "Balanced with 1 change"
        rig.window.leave_settings()


async def test_it_goes_with_a_session_that_has_the_policy(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.run_turn("Begin.")
        first, opener = rig.conversation.session.id, rig.wiring.workspace_controller
        await rig.wiring.workspace_controller.new_session()
        same = msgspec.structs.replace(PROFILES["balanced"], protect_steps=9)
        await rig.conversation.choose_policy(same)
        second = rig.conversation.session.id
        await opener.open_session(first)
        await _close_with_a_preview(rig)
        await opener.open_session(second)
        assert "policy-preview" not in rig.window.notices.names()
