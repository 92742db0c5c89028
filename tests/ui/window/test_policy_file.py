"""The policy file and its page: hand edits count and are never overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QFrame

from tests.support.window.buttons import find_button
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def _file(rig: WindowRig) -> Path:
    return rig.wiring.services.registry.policy_file(rig.workspace.id).path


async def test_edited_files_count(qapp: QApplication, tmp_path: Path) -> None:
    """Each step has a workspace of its own."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_an_edited_file(rig)
        await _check_a_bad_file(rig)


async def _check_an_edited_file(rig: WindowRig) -> None:
    await rig.open_folder("edited")
    await rig.wiring.settings.show("policy")
    page = rig.settings.policy
    of_file = "sweep_min = 2_000  # as the profile\nsweep_max   = 21_000\nanchor_tokens = 3200\n"
    _file(rig).write_text(f'# mine\nprofile = "balanced"\nprotect_steps = 14\n{of_file}', encoding="utf-8")
    await until(lambda: rig.workspace.policy.protect_steps == 14, "the edited number")
    assert "2 changes" in page.slider.track.value_text
    page.form.write("handover_at", 0.7)
    assert rig.workspace.policy.handover_at == 0.85, "nothing is saved before it is applied"
    find_button(page, "apply_to_workspace").click()
    assert "# mine" in _file(rig).read_text(encoding="utf-8")
    assert (rig.workspace.policy.protect_steps, rig.workspace.policy.handover_at) == (14, 0.7)
    find_button(page, "profile:lean").click()
    find_button(page, "apply_to_workspace").click()
    assert of_file in _file(rig).read_text(encoding="utf-8"), "what only the file has stays byte for byte"
    policy = rig.workspace.policy
    assert (policy.protect_steps, policy.sweep_max, policy.anchor_tokens) == (3, 21_000, 3_200)
    rig.window.leave_settings()


async def _check_a_bad_file(rig: WindowRig) -> None:
    """A bad policy file is reported with its line and not overwritten."""
    await rig.open_folder("bad")
    await rig.change_policy(protect_steps=14)
    await rig.wiring.settings.show("policy")
    page, bad = rig.settings.policy, 'profile = "balanced"\nprotect_steps = "many"\n'
    _file(rig).write_text(bad, encoding="utf-8")
    error = "Line 2: protect_steps must be a whole number (got text)."
    await until(lambda: error in rig.banner_text(), "the error with its line")
    card = page.findChild(QFrame, "policy_file_error")
    assert isinstance(card, QFrame)
    assert not card.isHidden()
    assert rig.workspace.policy.protect_steps == 14
    find_button(page, "profile:lean").click()
    find_button(page, "apply_to_workspace").click()
    assert _file(rig).read_text(encoding="utf-8") == bad
    assert rig.workspace.policy.handover_at == 0.85
    await rig.open_folder("other")
    assert "policy file" not in rig.banner_text()
    await rig.wiring.workspace_controller.open_folder(rig.folder / "bad")
    assert error in rig.banner_text()

    find_button(card, "replace_file").click()
    assert "policy-file" not in rig.window.notices.names()
    assert rig.wiring.services.registry.load_policy(rig.workspace.id) == rig.workspace.policy
    damaged_files = list(_file(rig).parent.glob("policy.damaged-*.toml"))
    assert [path.read_text(encoding="utf-8") for path in damaged_files] == [bad]
    rig.window.leave_settings()
