"""Approvals in the chat and on the page of permissions: once, always, never, denied with a reason."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from helix_desktop.domain.events.conversation import ApprovalGiven, MessageQueued
from helix_desktop.ui.chat.actions import AllowAllOnce
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, ToolRow, ToolState
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, StreamedReply, text_reply
from tests.support.window.buttons import press
from tests.support.window.list_contents import workspaces_in
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

COMMAND = '{"command": "echo done > made.txt"}'


def wants_to_run(request: dict[str, object]) -> Reply:
    """A model that runs one command for each message, then says so."""
    messages = request["messages"]
    assert isinstance(messages, list)
    if messages[-1]["role"] == "user":
        return StreamedReply(Call("run_command", COMMAND, id=f"call{len(messages)}"))
    return text_reply("Ended.")


async def test_a_call_waits_for_an_answer_and_a_rule_holds_as_long_as_it_says(rig: WindowRig) -> None:
    """Once, together, never, always: from the chat, another page, another workspace and the list of rules."""
    async with rig.answered_by(wants_to_run, "project", {"a.txt": "words"}) as server:
        await _check_one_call(rig, server)
        await _check_saved_rules(rig)
    await _check_several_calls(rig)
    async with rig.answered_by(wants_to_run, "waiting") as server:
        await _check_a_question_of_another_workspace(rig)
        await _check_the_list_of_rules(rig, server)


async def _check_one_call(rig: WindowRig, server: ChatServer) -> None:
    """It runs once it is allowed; a reason to deny it reaches the model."""
    made = rig.folder / "project" / "made.txt"
    rig.type_message("Go")
    await until(lambda: rig.rows(ApprovalRow), "a question")
    status = rig.window.top_bar.status
    await until(lambda: status().startswith("Waiting for you"), "the top bar says so")
    assert [row.state for row in rig.rows(ToolRow)] == ["approval"]
    rig.window.show_page("cache")
    rig.window.commands.allow_call.trigger()
    assert rig.window.page() == "chat", "first to what is to be allowed"
    assert not made.exists()
    approval = await rig.answer_approval("once")
    assert "echo done > made.txt" in approval.detail
    assert approval.offers[0] == "Run: echo done > made.txt"
    await rig.wait_for_turn_end()
    assert made.exists()
    await until(lambda: status().startswith("Ready"), "the top bar says so again")
    assert not rig.window.commands.allow_call.isEnabled()
    made.unlink()

    rig.type_message("Again")
    await until(lambda: rig.rows(ApprovalRow), "it asks again")
    editor = rig.composer.editor
    assert "eny with a reason" in editor.placeholderText()
    editor.setFocus()
    QTest.keyClick(editor, Qt.Key.Key_Return)
    QTest.keyClicks(editor, "123")
    assert (rig.rows(ApprovalRow) != [], rig.composer.text()) == (True, "123"), "keys answer nothing"
    editor.clear()
    QTest.keyClicks(editor, "Write it to out.txt")
    await until(lambda: rig.chat.view.takes_denial, "the card stands still")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    await rig.wait_for_turn_end()
    assert (rig.composer.text(), rig.events(MessageQueued)) == ("", [])
    assert "eny with" not in editor.placeholderText()
    answered = server.bodies[-1]["messages"][-1]["content"]
    assert "did not allow" in answered
    assert answered.endswith("Do what they say instead: Write it to out.txt")
    assert rig.events(ApprovalGiven)[-1].words == "Write it to out.txt"
    assert [row.state for row in rig.rows(ToolRow)] == ["ok", "denied"]


async def _check_saved_rules(rig: WindowRig) -> None:
    """A banner names the rule that an answer saved, and takes it back."""
    made = rig.folder / "project" / "made.txt"
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
    made.unlink()
    rig.type_message("Go")
    await rig.answer_approval("never")
    await rig.wait_for_turn_end()
    await rig.run_turn("Again")
    (rule,) = saved_rules(rig)
    assert rule == "Never: run: echo done > made.txt"
    assert [event.rule for event in rig.events(ApprovalGiven)][-2:] == ["", rule]
    assert not made.exists()


def wants_to_run_three(request: dict[str, object]) -> Reply:
    messages = request["messages"]
    assert isinstance(messages, list)
    if messages[-1]["role"] == "user":
        calls = (Call("run_command", f'{{"command": "true {n}"}}', id=f"c{n}") for n in range(3))
        return StreamedReply(*calls)
    return text_reply("Ended.")


def _deny_button(rig: WindowRig, place: int) -> HitArea:
    row = rig.rows(ApprovalRow)[place]
    index = rig.chat.model.index_of(row.key)
    assert index is not None
    area = rig.chat.view.chat_viewport.item(index).hit_area("decide:deny")
    assert area is not None
    return area


async def _check_several_calls(rig: WindowRig) -> None:
    """They are numbered, and answered one by one or together.

    Enter denies the first in sight with what is typed, a card's Deny its own.
    """
    size = rig.window.size()

    def positions() -> list[str]:
        return [row.position for row in rig.rows(ApprovalRow)]

    def states() -> list[ToolState]:
        return [row.state for row in rig.rows(ToolRow)][-3:]

    async with rig.answered_by(wants_to_run_three, "several") as server:
        rig.window.resize(1000, 560)  # too low for three cards
        rig.type_message("Go")
        await until(lambda: positions()[2:] == ["3 of 3"], "three questions")
        view = rig.chat.view
        first = rig.chat.model.index_of(rig.rows(ApprovalRow)[0].key)
        assert first is not None
        placed_row = view.chat_viewport.placed_row
        await until(lambda: (placed := placed_row(first)) is not None and placed.y >= 0, "the first in sight")
        rig.conversation.decide("c2", "once")
        await until(lambda: positions() == ["1 of 3", "2 of 3"], "two left")
        assert [row.allowed_together for row in rig.rows(ApprovalRow)] == [("c0", "c1"), ("c0", "c1")]
        await rig.wiring.chat.load()
        assert states() == ["approval", "approval", "waiting"]
        for _ in range(2):
            await rig.answer_approval("deny")
        await rig.wait_for_turn_end()
        assert states() == ["denied", "denied", "ok"]

        rig.type_message("Once more")
        await until(lambda: len(rig.rows(ApprovalRow)) == 3, "three questions again")
        rig.perform(AllowAllOnce(rig.rows(ApprovalRow)[0].allowed_together))
        await rig.wait_for_turn_end()
        assert states() == ["ok", "ok", "ok"]
        assert not saved_rules(rig)
        assert view.chat_viewport.is_following

        rig.window.resize(1000, 1400)  # all three in sight
        rig.type_message("And now")
        await until(lambda: len(rig.rows(ApprovalRow)) == 3, "three questions")
        editor = rig.composer.editor
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
        QTest.keyClicks(editor, "None of them")
        await until(lambda: view.takes_denial, "the cards stand still")
        QTest.keyClick(editor, Qt.Key.Key_Return)
        await rig.wait_for_turn_end()
        assert rig.composer.text() == ""
        messages = server.bodies[-1]["messages"][-3:]
        answers = {message["tool_call_id"]: message["content"] for message in messages}
        assert answers["c2"].endswith("Do what they say instead: Not the last one")
        assert answers["c0"].endswith("Do what they say instead: None of them")
        assert answers["c1"].endswith("Do what they said on another call of this step.")
        assert not rig.events(MessageQueued)
    rig.window.resize(size)


def saved_rules(rig: WindowRig) -> list[str]:
    """Return the sentences of the workspace's rules."""
    return [rule.text for rule in rig.wiring.services.registry.get(rig.workspace.id).rules]


def page_text(page: PermissionsPage) -> str:
    return "\n".join(label.text() for label in page.findChildren(QLabel) if not label.isHidden())


async def _check_a_question_of_another_workspace(rig: WindowRig) -> None:
    """It waits in its session, and a line below leads there."""
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
    area, placed = viewport.item(card).hit_area("decide:once"), viewport.placed_row(card)
    assert area is not None
    assert placed is not None
    assert placed.y + area.rect.bottom() < rig.chat.view.viewport().height(), "its buttons are in sight"
    await asyncio.wait_for(rig.conversation.stop(), 60)
    await rig.wait_for_turn_end()
    assert not rig.rows(ApprovalRow), "it goes with its turn"
    assert [row.state for row in rig.rows(ToolRow)] == ["interrupted"]


async def _check_the_list_of_rules(rig: WindowRig, server: ChatServer) -> None:
    """A rule is for this session or the workspace, until it is revoked; none holds without trust."""
    rig.type_message("Again")
    await rig.answer_approval("always")
    await rig.wait_for_turn_end()
    rule = "Run: echo done > made.txt, in the sandbox"
    assert saved_rules(rig) == [rule]
    for _ in range(2):
        await rig.run_turn("Again")
    assert rig.events(ApprovalGiven)[-1].rule == rule
    page = rig.settings.permissions
    await rig.wiring.settings.show("permissions")
    await until(lambda: "used 2 times, last " in page_text(page), "the uses")
    assert rule in page_text(page)
    press(page, "revoke")
    assert saved_rules(rig) == []
    await until(lambda: f"Revoked: {rule}" in page_text(page), "the way back")
    press(page, "undo")
    assert saved_rules(rig) == [rule]
    await until(lambda: "used 2 times" in page_text(page), "it is back with its uses")
    press(page, "revoke")
    rig.window.leave_settings()

    await rig.wiring.workspace_controller.new_session()
    rig.type_message("Once more")
    await rig.answer_approval("session")
    await rig.wait_for_turn_end()
    await rig.run_turn("Again")
    assert [event.decision for event in rig.events(ApprovalGiven)] == ["session", "session"]
    assert saved_rules(rig) == []
    session_rule = "In this session, until Helix Desktop closes"
    await rig.wiring.settings.show("permissions")
    await until(lambda: session_rule in page_text(page), "the rule")
    press(page, "revoke")
    await until(lambda: session_rule not in page_text(page), "the rule gone")
    assert rig.conversation.permissions.rules == ()
    page.new_rule.write("pattern", "../elsewhere")
    page.new_rule.write("kind", "folder")
    press(page, "add_rule")
    assert "The folder must be inside the workspace." in page_text(page)
    page.new_rule.write("kind", "pattern")
    page.new_rule.write("pattern", "echo *")
    press(page, "add_rule")
    await until(lambda: "Never: run commands like: echo *" in page_text(page), "the new rule")
    requests = len(server.bodies)
    await rig.run_turn("Once more")
    assert len(server.bodies) == requests + 2
    assert rig.events(ApprovalGiven)[-1].rule == "Never: run commands like: echo *"
    press(page, "change_trust")
    await until(lambda: "Nothing runs in it." in page_text(page), "no trust")
    assert not rig.composer.isEnabled()
    rig.window.leave_settings()
