"""Settings that take effect: providers against a real server, policy, theme, keyboard keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QWidget

from helix_desktop.config.settings import ModelEntry
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.ui.design.cards import Disclosure
from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.settings.providers.editor import ProviderCheckView
from helix_desktop.ui.settings.providers.models import ProviderDraft
from helix_desktop.words.numbers import format_tokens
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Hang,
    StreamedReply,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_button, find_child, press
from tests.support.window.list_contents import cell_texts
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop


def _form(server: ChatServer, **changed: str) -> ProviderDraft:
    values = {"id": "", "name": "My Box", "base_url": server.base_url, "model": "small", "key": "sesame"}
    fields = {**values, **changed}
    entry = ModelEntry(name=fields["model"], window=32_000, reserve=1_000)
    return ProviderDraft(
        fields["id"],
        fields["name"],
        fields["base_url"],
        models=(entry,),
        default_model=entry.name,
        key=fields["key"],
    )


def cooperative_model(request: dict[str, Any]) -> StreamedReply:
    """A model that counts, and calls the only tool of a test."""
    tools = [tool["function"]["name"] for tool in request.get("tools", ())]
    if tools == ["report_word"]:
        return StreamedReply(Call("report_word", '{"word": "lighthouse"}'))
    return text_reply("one, ", "two")


def _settings(folder: Path) -> str:
    return (folder / "data" / "settings.toml").read_text()


def _checks(rig: WindowRig) -> str:
    """Return the lines below the fields: name, state, result."""
    footer = rig.settings.providers.editor.footer
    names = [widget.accessibleName() for widget in footer.findChildren(QWidget) if not widget.isHidden()]
    return "\n".join(name for name in names if ": " in name)


async def _save_with_focus(rig: WindowRig) -> QWidget:
    """Begin a new provider with the keyboard at Save, and return that button."""
    dialog = rig.settings
    dialog.providers.add()
    save = find_button(dialog, "save_provider")
    dialog.activateWindow()
    save.setFocus()
    await until(save.hasFocus, "the keyboard at Save")
    return save


async def test_a_provider_is_listed_tested_saved_and_used(tmp_path: Path, rig: WindowRig) -> None:
    async with ChatServer(cooperative_model) as server:
        await rig.open_folder("project")
        await rig.wiring.settings.show("providers")
        page = rig.settings.providers
        page.editor.models_requested.emit(_form(server, name=""))
        await until(lambda: "2 models found" in _checks(rig), "the list of models")
        checklist = page.editor.models.checklist
        assert not checklist.isHidden()
        assert not checklist.add.isEnabled()

        models = page.editor.models
        models.add("small")
        assert cell_texts(models.table)[0][4] == "?"
        page.editor.test_requested.emit(_form(server))
        await until(lambda: "Tools: passed" in _checks(rig), "the test")
        await until(lambda: cell_texts(models.table)[0][4] == "yes", "what the test has shown")
        assert "Connection: passed. Answered in" in _checks(rig)
        assert "TLS: passed. Not used: the connection stays on this computer" in _checks(rig)
        assert "API key: passed. Key accepted" in _checks(rig)
        assert "Streaming: passed" in _checks(rig)
        # A server is also asked, without a key, about its models; at an unknown time.
        requests = [
            request
            for request in server.requests
            if request.method == "POST" and request.path.endswith("/completions")
        ]
        assert requests
        assert {request.headers["authorization"] for request in requests} == {"Bearer sesame"}

        save = await _save_with_focus(rig)
        extras = RequestExtras({"X-Title": "Helix"}, ("X-Token",), {"service_tier": "flex"})
        page.editor.saved.emit(
            replace(_form(server), extras=extras, secret_headers={("", "X-Token"): "open-up"})
        )
        await until(lambda: "Saved: my-box" in _checks(rig), "saved")
        assert save.hasFocus(), "it was away while the list changed"
        assert page.editor.form().extras == extras
        token = page.editor.extras_form.findChildren(QLineEdit, "header_value")[-1]
        assert (token.text(), token.placeholderText()) == ("", "Saved. Type to replace it.")
        assert rig.wiring.services.settings.provider("my-box") is not None
        saved = _settings(tmp_path)
        assert "my-box" in saved
        assert "sesame" not in saved
        await act(lambda: page.editor.test_requested.emit(replace(_form(server), id="my-box")))
        await until(lambda: "tested_tools = true" in _settings(tmp_path), "the result saved without a press")
        assert page.editor.form().extras == extras

        page.editor.use_requested.emit("my-box")
        await until(lambda: rig.conversation.model.label == "my-box/small", "in use")
        rig.window.leave_settings()
        await rig.run_turn("Hello")
        assert rig.events(AssistantSpoke)[0].model == "my-box/small"
        assert server.bodies[-1]["service_tier"] == "flex"
        headers = server.requests[-1].headers
        assert (headers["x-title"], headers["x-token"]) == ("Helix", "open-up")
        (row,) = (row for row in rig.conversation.window.items() if row.kind == "fields")
        assert (row.why, "open-up" in row.text) == ("X-Title, X-Token, service_tier", False)
        files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
        assert not [path for path in files if b"open-up" in path.read_bytes()]


async def test_a_provider_is_tested_checked_and_stopped(rig: WindowRig) -> None:
    """A test that hangs is stopped; a wrong key, a name that is taken, a form that is not complete."""
    await _check_stopping_a_test(rig)
    await _check_what_is_reported(rig)


async def _check_stopping_a_test(rig: WindowRig) -> None:
    """A test can be stopped and is over at once; that of an address that is edited leaves nothing."""
    async with ChatServer(lambda _: StreamedReply(Hang())) as server:
        await rig.wiring.settings.show("providers")
        editor = rig.settings.providers.editor
        editor.test_requested.emit(_form(server))
        await until(lambda: "Streaming: running" in _checks(rig), "waiting for the answer")
        press(editor.footer, "test_provider")
        await until(lambda: "Streaming: skipped. Stopped" in _checks(rig), "stopped")
        assert "Connection: passed" in _checks(rig)
        editor.test_requested.emit(_form(server))
        await until(lambda: "Streaming: running" in _checks(rig), "waiting for the answer again")
        field = find_child(editor, QLineEdit, "base_url")
        QTest.keyClicks(field, "2")
        await until(lambda: not editor.is_testing, "the test over")
        (view,) = editor.footer.findChildren(ProviderCheckView)
        assert view.isHidden()


async def _check_what_is_reported(rig: WindowRig) -> None:
    refusal = api_error(401, "Incorrect API key provided", "invalid_api_key")
    async with ChatServer(replies_in_order(refusal)) as server:
        await rig.open_folder("project")
        await rig.wiring.settings.show("providers")
        editor = rig.settings.providers.editor
        await act(lambda: editor.test_requested.emit(_form(server)))
        await until(lambda: "API key: failed" in _checks(rig), "the refusal")
        assert "Stopped" not in _checks(rig), "nothing of the test before"
        assert "Incorrect API key provided" not in _checks(rig)
        (fold,) = (fold for fold in editor.footer.findChildren(Disclosure) if not fold.isHidden())
        fold.head.click()
        visible = [text.text() for text in fold.findChildren(SelectableText) if not text.isHidden()]
        assert visible == ["Incorrect API key provided"]
        assert "Streaming: skipped" in _checks(rig)
        assert "sesame" not in _checks(rig)
        # At once: late results of the first test must not cover those of the second.
        editor.test_requested.emit(_form(server, base_url="not an address"))
        await until(lambda: "Enter a web address" in _checks(rig), "the address is marked")
        editor.saved.emit(_form(server))
        await until(lambda: "Saved: " in _checks(rig), "saved")
        for name in ("my box", "demo"):
            editor.saved.emit(_form(server, name=name))
            await until(lambda: "already exists" in _checks(rig), "the name is taken")
            editor.check_view.show_notices(())

        await rig.use_server(server)
        await rig.run_turn("Hello")
        assert rig.events(TurnEnded)[0].how == "failed"
        assert "Incorrect API key" in rig.events(TurnEnded)[0].details


async def test_policy_theme_text_size_and_enter_take_effect_and_persist(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project")
        await _check_a_changed_policy(rig)
        await rig.wiring.settings.show("appearance")
        page = rig.settings.appearance
        rig.window.commands.theme_dark.trigger()
        rig.window.commands.zoom_in.trigger()
        bigger = rig.context.appearance.text_px
        assert find_button(page, "theme:dark").isChecked(), "what is in force, whatever changed it"
        assert any(box.currentText() == f"{bigger} px" for box in page.findChildren(QComboBox))
        find_button(page, "enter_sends").click()
        await until(lambda: not rig.wiring.services.settings.enter_sends, "kept")
        rig.type_message("first")
        rig.type_message("second", send=False)
        assert rig.composer.text() == "first\nsecond"
        await until(lambda: rig.wiring.services.settings.theme == "dark", "the theme is kept")
        rig.window.show_page("cache")
        await rig.wiring.settings.show("mcp")

    async with open_window(qapp, tmp_path) as rig:
        assert rig.context.appearance.mode == "dark"
        assert rig.context.appearance.text_px == bigger
        assert not rig.composer.editor.enter_sends
        await rig.wiring.workspace_controller.restore_last()
        assert (rig.workspace.id, rig.window.page()) == (identity, "cache"), "and not the settings"
        await _check_a_saved_policy(rig)


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
