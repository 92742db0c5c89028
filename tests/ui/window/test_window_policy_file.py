"""The policy file and its page: hand edits count and are never overwritten, own changes come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QFrame, QPushButton

from helix_desktop.context.policy import PROFILES
from tests.support.buttons import find_button
from tests.support.window_rig import Rig, opened_window, until

pytestmark = pytest.mark.qt_loop


def _file(rig: Rig) -> Path:
    return rig.opened.services.registry.policy_file(rig.room.id).path


def _restore(rig: Rig, profile: str) -> QPushButton:
    button = rig.opened.settings.dialog.policy.findChild(QPushButton, f"restore:{profile}")
    assert isinstance(button, QPushButton)
    return button


async def test_an_edited_policy_file_counts_at_once(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.opened.settings.show("policy")
        page = rig.opened.settings.dialog.policy
        _file(rig).write_text('# mine\nprofile = "balanced"\nprotect_steps = 4\n', encoding="utf-8")
        await until(lambda: rig.room.policy.protect_steps == 4, "the edited number")
        assert "1 change" in page.profiles.button("balanced").text()
        page.changed.emit({"handover_at": 0.7})
        assert "# mine" in _file(rig).read_text(encoding="utf-8")
        assert (rig.room.policy.protect_steps, rig.room.policy.handover_at) == (4, 0.7)
        rig.opened.settings.dialog.close()


async def test_a_bad_policy_file_is_named_by_line_and_not_overwritten(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.change_policy(protect_steps=4)
        await rig.opened.settings.show("policy")
        page, bad = rig.opened.settings.dialog.policy, 'profile = "balanced"\nprotect_steps = "many"\n'
        _file(rig).write_text(bad, encoding="utf-8")
        error = "Line 2: protect_steps must be a whole number (got a text)."
        await until(lambda: error in rig.banners(), "the error with its line")
        card = page.findChild(QFrame, "policy_file_error")
        assert isinstance(card, QFrame)
        assert not card.isHidden()
        assert rig.room.policy.protect_steps == 4
        page.changed.emit({"handover_at": 0.7})
        page.profile_chosen.emit("lean")
        assert _file(rig).read_text(encoding="utf-8") == bad
        assert rig.room.policy.handover_at == 0.85
        await rig.open_folder("other")
        assert "policy file" not in rig.banners()
        await rig.opened.workspace_controller.open_folder(tmp_path / "project")
        assert error in rig.banners()

        find_button(card, "replace_file").click()
        assert "policy-file" not in rig.window.banners.banner_ids()
        assert rig.opened.services.registry.load_policy(rig.room.id) == rig.room.policy
        kept = list(_file(rig).parent.glob("policy.damaged-*.toml"))
        assert [path.read_text(encoding="utf-8") for path in kept] == [bad]
        rig.opened.settings.dialog.close()


async def test_own_changes_come_back_after_another_profile(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project")
        await rig.opened.settings.show("policy")
        page = rig.opened.settings.dialog.policy
        page.changed.emit({"protect_steps": 4})
        page.changed.emit({"handover_at": 0.7})
        assert _restore(rig, "balanced").isHidden()
        page.profiles.button("lean").click()
        assert rig.room.policy == PROFILES["lean"]
        page.changed.emit({"protect_steps": 3})
        page.profiles.button("balanced").click()
        assert rig.room.policy == PROFILES["balanced"]
        page.changed.emit({"handover_at": 0.6})
        rig.opened.settings.dialog.close()

    async with opened_window(qapp, tmp_path) as rig:
        await rig.opened.workspace_controller.open_workspace(identity)
        await rig.opened.settings.show("policy")
        assert _restore(rig, "balanced").text().strip() == "Restore my changes (2)"
        _restore(rig, "balanced").click()
        assert (rig.room.policy.protect_steps, rig.room.policy.handover_at) == (4, 0.7)
        assert _restore(rig, "balanced").text().strip() == "Restore my changes (1)", "what it replaced"
        _restore(rig, "lean").click()
        assert (rig.room.policy.profile, rig.room.policy.protect_steps) == ("lean", 3)
        assert _restore(rig, "balanced").text().strip() == "Restore my changes (2)"
        rig.opened.settings.dialog.policy.changed.emit({"enabled": False})
        rig.opened.settings.dialog.close()
