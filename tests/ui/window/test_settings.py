"""Settings that take effect and persist: a provider, the policy, theme, text size, Enter."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit

from helix_desktop.config.settings import ModelEntry
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.ui.settings.providers.models import ProviderDraft
from helix_desktop.words.numbers import format_tokens
from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.window.buttons import find_button, find_child
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop


async def test_a_provider_policy_theme_text_size_and_enter_take_effect_and_persist(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project")
        async with ChatServer(lambda _: text_reply("Hello.")) as server:
            await _check_a_saved_provider(rig, server)
        await _check_a_changed_policy(rig)
        bigger = await _check_what_is_general(rig)
        rig.window.show_page("cache")
        await rig.wiring.settings.show("mcp")

    async with open_window(qapp, tmp_path) as rig:
        assert rig.context.appearance.mode == "dark"
        assert rig.context.appearance.text_px == bigger
        assert not rig.composer.editor.enter_sends
        await rig.wiring.workspace_controller.restore_last()
        assert (rig.workspace.id, rig.window.page()) == (identity, "cache"), "and not the settings"
        await _check_a_saved_policy(rig)


async def _check_a_saved_provider(rig: WindowRig, server: ChatServer) -> None:
    """It answers from then on, with its own headers and fields; a secret one is in no file."""
    await rig.wiring.settings.show("providers")
    editor = rig.settings.providers.editor
    extras = RequestExtras({"X-Title": "Helix"}, ("X-Token",), {"service_tier": "flex"})
    models = (ModelEntry(name="small", window=32_000, reserve=1_000),)
    draft = ProviderDraft(
        "", "My Box", server.base_url, models=models, default_model="small", key="sesame", extras=extras
    )
    editor.saved.emit(replace(draft, secret_headers={"X-Token": "open-up"}))
    editor.use_requested.emit("my-box")
    await until(lambda: rig.conversation.model.label == "my-box/small", "in use")
    rig.window.leave_settings()
    await rig.run_turn("Hello")
    assert rig.events(AssistantSpoke)[0].model == "my-box/small"
    assert server.bodies[-1]["service_tier"] == "flex"
    headers = server.requests[-1].headers
    assert headers["authorization"] == "Bearer sesame"
    assert (headers["x-title"], headers["x-token"]) == ("Helix", "open-up")
    (row,) = (row for row in rig.conversation.window.items() if row.kind == "fields")
    assert (row.why, "open-up" in row.text) == ("X-Title, X-Token, service_tier", False)
    files = [path for path in (rig.folder / "data").rglob("*") if path.is_file()]
    assert not [path for path in files if b"open-up" in path.read_bytes()]
    await _check_the_keyboard(rig, server)


async def _check_the_keyboard(rig: WindowRig, server: ChatServer) -> None:
    """It stays at Save, although the list shows the provider in use, the demo, until the new one is there."""
    await rig.wiring.settings.show("providers")
    page = rig.settings.providers
    await act(lambda: page.editor.use_requested.emit("demo"))
    page.add()
    for name, typed in (("provider_name", "Other Box"), ("base_url", server.base_url)):
        QTest.keyClicks(find_child(page.editor, QLineEdit, name), typed)
    page.editor.models.add("small")
    save = find_button(page.editor.footer, "save_provider")
    save.setFocus()
    await until(save.hasFocus, "the keyboard at Save")
    await act(lambda: QTest.keyClick(save, Qt.Key.Key_Space))
    assert rig.wiring.services.settings.provider("other-box")
    assert save.hasFocus()
    await act(lambda: page.editor.use_requested.emit("my-box"))
    rig.window.leave_settings()


async def _check_what_is_general(rig: WindowRig) -> int:
    """What is in force is shown, whatever changed it; return the larger text size."""
    await rig.wiring.settings.show("appearance")
    page = rig.settings.appearance
    rig.window.commands.theme_dark.trigger()
    rig.window.commands.zoom_in.trigger()
    bigger = rig.context.appearance.text_px
    assert find_button(page, "theme:dark").isChecked()
    assert any(box.currentText() == f"{bigger} px" for box in page.findChildren(QComboBox))
    find_button(page, "enter_sends").click()
    await until(lambda: not rig.wiring.services.settings.enter_sends, "kept")
    rig.type_message("first")
    rig.type_message("second", send=False)
    assert rig.composer.text() == "first\nsecond"
    await until(lambda: rig.wiring.services.settings.theme == "dark", "the theme is kept")
    return bigger


async def _check_a_changed_policy(rig: WindowRig) -> None:
    """It takes effect at once; numbers that contradict each other do not."""
    await rig.wiring.settings.show("policy")
    page = rig.settings.policy
    page.numbers.head.click()
    entry = page.form.controls["protect_steps"]
    assert isinstance(entry, QLineEdit)
    rig.settings.activateWindow()
    await until(rig.settings.isActiveWindow, "the dialog in front")
    entry.setFocus()
    await until(entry.hasFocus, "the keyboard in the field")
    entry.selectAll()
    QTest.keyClicks(entry, "3")
    entry.editingFinished.emit()
    find_button(page, "apply_to_workspace").click()
    assert rig.workspace.policy.protect_steps == 3
    assert page.form.controls["protect_steps"].hasFocus()
    page.form.write("handover_at", 0.5)
    find_button(page, "apply_to_workspace").click()
    now = rig.conversation.window.measure()[1]
    left = f"compaction in ≈ {format_tokens(now.window // 2 - now.used)}"
    await until(lambda: left in rig.composer.gauge.accessibleName(), "the gauge")
    rig.window.leave_settings()


async def _check_a_saved_policy(rig: WindowRig) -> None:
    """It is there in the next run, and gives way to a profile."""
    assert (rig.workspace.policy.protect_steps, rig.workspace.policy.handover_at) == (3, 0.5)
    page = rig.settings.policy
    await page.refresh()
    find_button(page, "profile:off").click()
    find_button(page, "apply_to_workspace").click()
    assert not rig.workspace.policy.enabled
    find_button(page, "profile:balanced").click()
    find_button(page, "apply_to_workspace").click()
    assert rig.workspace.policy == PROFILES["balanced"]
