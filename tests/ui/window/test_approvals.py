"""Approvals in the chat: once, always, deny, and revoked rules."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.domain.events.conversation import ApprovalGiven, MessageQueued, ToolAnswered
from helix_desktop.ui.chat.actions import AllowAllOnce
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, ToolRow
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, StreamedReply, text_reply
from tests.support.window.buttons import press
from tests.support.window.list_contents import workspaces_in
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

COMMAND = '{"command": "echo done > made.txt"}'


def wants_to_run(request: dict[str, object]) -> Reply:
    """A model that runs one command for each message, then says so."""
    messages = request["messages"]
    assert isinstance(messages, list)
    if messages[-1]["role"] == "user":
        return StreamedReply(Call("run_command", COMMAND, id=f"call{len(messages)}"))
    return text_reply("Ended.")


async def _ask(rig: WindowRig, server: ChatServer, folder: str) -> None:
    await rig.open_folder(folder, {"a.txt": "words"})
    await rig.use_server(server)


async def test_yes_and_no_once_and_never(qapp: QApplication, tmp_path: Path) -> None:
    """Each answer has a workspace of its own; several questions at once are numbered."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_once(rig)
        await _check_a_denial(rig)
        await _check_never(rig)
        await _check_undoing_a_rule(rig)
        await _check_numbers(rig)
        await _check_reasons(rig)


async def _check_once(rig: WindowRig) -> None:
    """“Once” runs the call, and asks again next time."""
    async with ChatServer(wants_to_run) as server:
        await _ask(rig, server, "once")
        rig.type_message("Go")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        status = rig.window.top_bar.status
        await until(lambda: status().startswith("Waiting for you"), "the top bar says so")
        assert not (rig.folder / "once" / "made.txt").exists()
        assert [row.state for row in rig.rows(ToolRow)] == ["approval"]
        rig.window.show_page("cache")
        rig.window.commands.allow_call.trigger()
        assert rig.window.page() == "chat", "first to what is to be allowed"
        assert rig.rows(ApprovalRow)
        approval = await rig.answer_approval("once")
        assert "echo done > made.txt" in approval.detail
        assert "echo done > made.txt" in approval.offers[0]
        await rig.wait_for_turn_end()
        assert (rig.folder / "once" / "made.txt").exists()
        assert [row.state for row in rig.rows(ToolRow)] == ["ok"]
        await until(lambda: status().startswith("Ready"), "the top bar says so again")
        assert not rig.window.commands.allow_call.isEnabled()

        rig.type_message("Again")
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        assert [event.decision for event in rig.events(ApprovalGiven)] == ["once", "once"]


async def _check_a_denial(rig: WindowRig) -> None:
    """A denial and its reason are reported to the model and nothing runs."""
    async with ChatServer(wants_to_run) as server:
        await _ask(rig, server, "denial")
        rig.type_message("Go")
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()
        assert [row.state for row in rig.rows(ToolRow)] == ["denied"]
        assert rig.events(ToolAnswered)[0].outcome == "denied"
        assert "did not allow" in server.bodies[-1]["messages"][-1]["content"]
        assert not (rig.folder / "denial" / "made.txt").exists()

        rig.type_message("Again")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        approval = rig.rows(ApprovalRow)[0]
        editor = rig.composer.editor
        assert "eny with a reason" in editor.placeholderText()
        editor.setFocus()
        QTest.keyClick(editor, Qt.Key.Key_Return)
        for key in "123":
            QTest.keyClicks(editor, key)
        assert (rig.rows(ApprovalRow), rig.composer.text()) == ([approval], "123"), "keys answer nothing"
        editor.clear()
        QTest.keyClicks(editor, "Write it to out.txt")
        await until(lambda: rig.chat.view.takes_denial, "the card stands still")
        QTest.keyClick(editor, Qt.Key.Key_Return)
        await rig.wait_for_turn_end()
        assert (rig.composer.text(), rig.events(MessageQueued)) == ("", [])
        assert "eny with" not in editor.placeholderText()
        assert server.bodies[-1]["messages"][-1]["content"].endswith(
            "Do what they say instead: Write it to out.txt"
        )
        assert rig.events(ApprovalGiven)[-1].words == "Write it to out.txt"
        assert not (rig.folder / "denial" / "made.txt").exists()


async def _check_never(rig: WindowRig) -> None:
    """“Never” is saved, and stronger than yes."""
    async with ChatServer(wants_to_run) as server:
        await _ask(rig, server, "never")
        rig.type_message("Go")
        approval = await rig.answer_approval("never")
        await rig.wait_for_turn_end()
        (rule,) = rig.wiring.services.registry.get(rig.workspace.id).rules
        assert (rule.effect, rule.text) == ("deny", "Never: run: echo done > made.txt")
        assert approval.offers[0].startswith("Run: echo done > made.txt")
        await rig.run_turn("Again")
        assert [event.rule for event in rig.events(ApprovalGiven)] == ["", rule.text]
        assert not (rig.folder / "never" / "made.txt").exists()


async def _check_undoing_a_rule(rig: WindowRig) -> None:
    """A banner names the rule that an answer saved, for the workspace or this session, and takes it back."""
    async with ChatServer(wants_to_run) as server:
        await _ask(rig, server, "undo")
        for answer in ("never", "always", "session"):
            rig.type_message("Go")
            await rig.answer_approval(answer)
            await rig.wait_for_turn_end()
            assert "Rule saved: " in rig.banner_text()
            assert "echo done > made.txt" in rig.banner_text()
            assert saved_rules(rig) or rig.conversation.permissions.rules
            press(rig.window.notices, "saved-rule:undo")
            assert not saved_rules(rig)
            assert not rig.conversation.permissions.rules
            assert "Rule saved" not in rig.banner_text()


def wants_to_run_three(request: dict[str, object]) -> Reply:
    messages = request["messages"]
    assert isinstance(messages, list)
    if messages[-1]["role"] == "user":
        calls = (Call("run_command", f'{{"command": "true {n}"}}', id=f"c{n}") for n in range(3))
        return StreamedReply(*calls)
    return text_reply("Ended.")


async def _check_numbers(rig: WindowRig) -> None:
    async with ChatServer(wants_to_run_three) as server:
        await _ask(rig, server, "several")
        rig.window.resize(1000, 560)  # too low for three cards
        rig.type_message("Go")
        await until(
            lambda: [row.position for row in rig.rows(ApprovalRow)][2:] == ["3 of 3"], "three questions"
        )
        first = rig.chat.model.index_of(rig.rows(ApprovalRow)[0].key)
        assert first is not None
        placed_row = rig.chat.view.chat_viewport.placed_row
        await until(
            lambda: (placed := placed_row(first)) is not None and placed.y >= 0, "the first one in sight"
        )
        rig.conversation.decide("c2", "once")
        await until(
            lambda: [row.position for row in rig.rows(ApprovalRow)] == ["1 of 3", "2 of 3"], "two left"
        )
        assert [row.allowed_together for row in rig.rows(ApprovalRow)] == [("c0", "c1"), ("c0", "c1")]
        assert [row.state for row in rig.rows(ToolRow)] == ["approval", "approval", "waiting"]
        await rig.wiring.chat.load()
        assert [row.state for row in rig.rows(ToolRow)] == ["approval", "approval", "waiting"]
        await rig.answer_approval("deny")
        await until(lambda: [row.position for row in rig.rows(ApprovalRow)] == ["2 of 3"], "one left")
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()
        assert [row.state for row in rig.rows(ToolRow)] == ["denied", "denied", "ok"]
        rig.type_message("Once more")
        await until(lambda: len(rig.rows(ApprovalRow)) == 3, "three questions again")
        call_ids = rig.rows(ApprovalRow)[0].allowed_together
        rig.perform(AllowAllOnce(call_ids))
        await rig.wait_for_turn_end()
        assert [row.state for row in rig.rows(ToolRow)][3:] == ["ok", "ok", "ok"]
        assert not saved_rules(rig)
        assert rig.chat.view.chat_viewport.is_following


def _deny_button(rig: WindowRig, place: int) -> HitArea:
    row = rig.rows(ApprovalRow)[place]
    index = rig.chat.model.index_of(row.key)
    assert index is not None
    area = rig.chat.view.chat_viewport.item(index).hit_area("decide:deny")
    assert area is not None
    return area


async def _check_reasons(rig: WindowRig) -> None:
    """Of several calls, Enter denies the first in sight with what is typed, and a card's Deny its own."""
    async with ChatServer(wants_to_run_three) as server:
        await _ask(rig, server, "reasons")
        rig.window.resize(1000, 1400)  # all three in sight
        rig.type_message("Go")
        await until(lambda: len(rig.rows(ApprovalRow)) == 3, "three questions")
        editor, view = rig.composer.editor, rig.chat.view
        assert editor.placeholderText() == "Deny all: write what to do instead"
        QTest.keyClicks(editor, "/compact")
        assert _deny_button(rig, 2).label == "Deny", "a command is no reason"
        editor.clear()
        QTest.keyClicks(editor, "Not the last one")
        assert _deny_button(rig, 2).label == "Deny with your message"
        rig.perform(_deny_button(rig, 2).action)
        await until(lambda: len(rig.rows(ApprovalRow)) == 2, "one answered")
        assert rig.composer.text() == ""
        assert _deny_button(rig, 0).label == "Deny"

        assert editor.placeholderText().startswith("Deny all")
        QTest.keyClicks(editor, "None of them")
        await until(lambda: view.takes_denial, "the cards stand still")
        QTest.keyClick(editor, Qt.Key.Key_Return)
        await rig.wait_for_turn_end()
        assert rig.composer.text() == ""
        answers = {
            message["tool_call_id"]: message["content"] for message in server.bodies[-1]["messages"][-3:]
        }
        assert answers["c2"].endswith("Do what they say instead: Not the last one")
        assert answers["c0"].endswith("Do what they say instead: None of them")
        assert answers["c1"].endswith("Do what they said on another call of this step.")
        assert not rig.events(MessageQueued)


def saved_rules(rig: WindowRig) -> list[str]:
    """Return the sentences of the workspace's rules."""
    return [rule.text for rule in rig.wiring.services.registry.get(rig.workspace.id).rules]


def page_text(page: PermissionsPage) -> str:
    return "\n".join(label.text() for label in page.findChildren(QLabel) if not label.isHidden())


async def test_a_question_waits_in_its_session_and_a_rule_holds_as_long_as_it_says(
    qapp: QApplication, tmp_path: Path
) -> None:
    """For this session, for the workspace; a question goes with its turn."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_waiting(rig)
        await _check_always(rig)
        await _check_for_this_session(rig)


async def _check_waiting(rig: WindowRig) -> None:
    """A question waits while another workspace is on screen and goes with its turn."""
    async with ChatServer(wants_to_run) as server:
        await _ask(rig, server, "waiting")
        first = rig.workspace.id
        rig.type_message("Go")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        await rig.open_folder("other")
        rig.window.commands.switch_workspace.trigger()
        badges = {row.id: row.badge for row in workspaces_in(rig.window.switcher)}
        assert badges[first] == "waiting"
        rig.window.switcher.hide()
        assert not rig.rows(ApprovalRow)
        line = rig.window.waiting_sessions
        await until(line.button.isVisible, "the line below")
        assert line.button.text() == "1 session waits for you"
        assert rig.window.windowTitle() == "1 session waits for you · other — Helix Desktop"

        press(line, "waiting-sessions")
        await until(lambda: rig.workspace.id == first and bool(rig.rows(ApprovalRow)), "the way there")
        await until(lambda: not line.isVisible(), "the line gone: the card says it")
        viewport = rig.chat.view.chat_viewport
        viewport.show_row(0)
        rig.window.show_page("cache")
        lines = rig.window.top_bar.findChildren(TextLine)
        state = next(line for line in lines if line.text == "Waiting for you")
        QTest.mouseClick(state, Qt.MouseButton.LeftButton)
        assert rig.window.page() == "chat"
        card = len(viewport.model) - 1
        area = viewport.item(card).hit_area("decide:once")
        assert area is not None
        placed = viewport.placed_row(card)
        assert placed is not None
        assert placed.y + area.rect.bottom() < rig.chat.view.viewport().height(), "its buttons are in sight"
        assert [row.state for row in rig.rows(ToolRow)] == ["approval"]
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        assert [row.state for row in rig.rows(ToolRow)] == ["ok"]

        rig.type_message("Again")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        await asyncio.wait_for(rig.conversation.stop(), 60)
        await rig.wait_for_turn_end()
        assert not rig.rows(ApprovalRow)
        assert [row.state for row in rig.rows(ToolRow)] == ["ok", "interrupted"]


async def _check_always(rig: WindowRig) -> None:
    """“Always” saves the displayed rule, which is listed with its uses until it is revoked."""
    async with ChatServer(wants_to_run) as server:
        await _ask(rig, server, "always")
        rig.type_message("Go")
        offer = (await rig.answer_approval("always")).offers[0]
        assert offer == "Run: echo done > made.txt"
        await rig.wait_for_turn_end()
        sentence = f"{offer}, in the sandbox"
        assert saved_rules(rig) == [sentence]
        for _ in range(2):
            await rig.run_turn("Again")
        assert rig.events(ApprovalGiven)[-1].rule == sentence
        page = rig.settings.permissions
        await rig.wiring.settings.show("permissions")
        await until(lambda: "used 2 times, last " in page_text(page), "the uses")
        assert sentence in page_text(page)
        assert "This folder is trusted." in page_text(page)

        press(page, "revoke")
        assert saved_rules(rig) == []
        await until(lambda: f"Revoked: {sentence}" in page_text(page), "the way back")
        press(page, "undo")
        assert saved_rules(rig) == [sentence]
        await until(lambda: "used 2 times" in page_text(page), "it is back with its uses")
        press(page, "revoke")
        rig.window.leave_settings()
        rig.type_message("Once more")
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()

        await rig.wiring.settings.show("permissions")
        page.new_rule.write("pattern", "../elsewhere")
        page.new_rule.write("kind", "folder")
        press(page, "add_rule")
        assert "The folder must be inside the workspace." in page_text(page)
        page.new_rule.write("kind", "pattern")
        page.new_rule.write("pattern", "echo *")
        press(page, "add_rule")
        await until(lambda: "Never: run commands like: echo *" in page_text(page), "the new rule")
        await rig.run_turn("Once more")
        assert rig.events(ApprovalGiven)[-1].rule == "Never: run commands like: echo *"

        press(page, "sandbox")
        await until(lambda: not rig.wiring.services.registry.get(rig.workspace.id).sandbox, "no sandbox")
        await until(lambda: not page.sandbox.controls["network"].isEnabled(), "nothing to let through")
        assert not await rig.wiring.services.tools.is_sandboxed(rig.workspace.id)
        rig.window.leave_settings()


async def _check_for_this_session(rig: WindowRig) -> None:
    """“For this session” is listed during the session and not saved."""
    async with ChatServer(wants_to_run) as server:
        await _ask(rig, server, "session-only")
        rig.type_message("Go")
        await rig.answer_approval("session")
        await rig.wait_for_turn_end()
        await rig.run_turn("Again")
        assert [event.decision for event in rig.events(ApprovalGiven)] == ["session", "session"]
        assert rig.wiring.services.registry.get(rig.workspace.id).rules == ()
        await rig.wiring.workspace_controller.new_session()
        rig.type_message("Elsewhere")
        await rig.answer_approval("session")
        await rig.wait_for_turn_end()
        page = rig.settings.permissions
        await rig.wiring.settings.show("permissions")
        await until(lambda: "In this session, until Helix Desktop closes" in page_text(page), "the rule")
        press(page, "revoke")
        await until(
            lambda: "In this session, until Helix Desktop closes" not in page_text(page), "the rule gone"
        )
        assert rig.conversation.permissions.rules == ()
        press(page, "change_trust")
        await until(lambda: "Nothing runs in it." in page_text(page), "no trust")
        assert not rig.composer.isEnabled()
        rig.window.leave_settings()
