"""Approvals in the chat: once, always, deny, and revoked rules."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.domain.events.session import ApprovalGiven, ToolAnswered
from helix_desktop.ui.chat.actions import Decide
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, ToolRow
from helix_desktop.ui.design.dialogs import TextInputDialog
from helix_desktop.ui.settings.permissions.page import PermissionsPage
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, StreamedReply, text_reply
from tests.support.window.buttons import press
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


async def _ask(rig: WindowRig, server: ChatServer) -> None:
    await rig.open_folder("project", {"a.txt": "words"})
    await rig.use_server(server)


async def test_once_runs_the_call_and_asks_again_next_time(qapp: QApplication, tmp_path: Path) -> None:
    async with ChatServer(wants_to_run) as server, open_window(qapp, tmp_path) as rig:
        await _ask(rig, server)
        rig.type_message("Go")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        status = rig.window.top_bar.status
        await until(lambda: status().startswith("Waiting for you"), "the top bar says so")
        assert not (tmp_path / "project" / "made.txt").exists()
        assert [row.state for row in rig.rows(ToolRow)] == ["approval"]
        approval = await rig.answer_approval("once")
        assert "echo done > made.txt" in approval.detail
        assert "echo done > made.txt" in approval.offers[0]
        await rig.wait_for_turn_end()
        assert (tmp_path / "project" / "made.txt").exists()
        assert [row.state for row in rig.rows(ToolRow)] == ["ok"]
        assert status().startswith("Ready")

        rig.type_message("Again")
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        assert [event.decision for event in rig.events(ApprovalGiven)] == ["once", "once"]


async def test_a_denial_and_its_reason_are_reported_to_the_model_and_nothing_runs(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with ChatServer(wants_to_run) as server, open_window(qapp, tmp_path) as rig:
        await _ask(rig, server)
        rig.type_message("Go")
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()
        assert [row.state for row in rig.rows(ToolRow)] == ["denied"]
        assert rig.events(ToolAnswered)[0].outcome == "denied"
        assert "did not allow" in server.bodies[-1]["messages"][-1]["content"]
        assert not (tmp_path / "project" / "made.txt").exists()

        rig.type_message("Again")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        approval = rig.rows(ApprovalRow)[0]
        rig.chat.view.action_triggered.emit(Decide(approval.key.call_id, "words"))
        await until(lambda: rig.window.findChildren(TextInputDialog), "the field")
        (field,) = rig.window.findChildren(TextInputDialog)
        QTest.keyClicks(field.field, "Write it to out.txt")
        press(field, "accept")
        await rig.wait_for_turn_end()
        assert server.bodies[-1]["messages"][-1]["content"].endswith("The user says: Write it to out.txt")
        assert rig.events(ApprovalGiven)[-1].words == "Write it to out.txt"
        assert not (tmp_path / "project" / "made.txt").exists()


async def test_for_this_session_is_listed_during_the_session_and_not_saved(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with ChatServer(wants_to_run) as server, open_window(qapp, tmp_path) as rig:
        await _ask(rig, server)
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
        page = rig.wiring.settings.dialog.permissions
        await rig.wiring.settings.show("permissions")
        await until(lambda: "Until Helix Desktop closes" in page_text(page), "the rule")
        press(page, "revoke")
        await until(lambda: "Until Helix Desktop closes" not in page_text(page), "the rule gone")
        assert rig.conversation.permissions.rules == ()
        press(page, "change_trust")
        await until(lambda: "Nothing runs in it." in page_text(page), "no trust")
        assert not rig.composer.isEnabled()
        rig.wiring.settings.dialog.close()


async def test_never_is_saved_and_stronger_than_yes(qapp: QApplication, tmp_path: Path) -> None:
    async with ChatServer(wants_to_run) as server, open_window(qapp, tmp_path) as rig:
        await _ask(rig, server)
        rig.type_message("Go")
        approval = await rig.answer_approval("never")
        await rig.wait_for_turn_end()
        (rule,) = rig.wiring.services.registry.get(rig.workspace.id).rules
        assert (rule.effect, rule.text) == ("deny", "Never: run: echo done > made.txt")
        assert approval.offers[0].startswith("Run: echo done > made.txt")
        await rig.run_turn("Again")
        assert [event.rule for event in rig.events(ApprovalGiven)] == ["", rule.text]
        assert not (tmp_path / "project" / "made.txt").exists()


def saved_rules(rig: WindowRig) -> list[str]:
    """Return the sentences of the workspace's rules."""
    return [rule.text for rule in rig.wiring.services.registry.get(rig.workspace.id).rules]


def page_text(page: PermissionsPage) -> str:
    """Return all text of the page."""
    return "\n".join(label.text() for label in page.findChildren(QLabel) if not label.isHidden())


async def test_always_saves_the_displayed_rule_that_is_listed_with_its_use_until_it_is_revoked(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with ChatServer(wants_to_run) as server, open_window(qapp, tmp_path) as rig:
        await _ask(rig, server)
        rig.type_message("Go")
        sentence = (await rig.answer_approval("always")).offers[0]
        assert sentence.startswith("Run: echo done > made.txt")
        await rig.wait_for_turn_end()
        assert saved_rules(rig) == [sentence]
        for _ in range(2):
            await rig.run_turn("Again")
        assert rig.events(ApprovalGiven)[-1].rule == sentence
        page = rig.wiring.settings.dialog.permissions
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
        rig.wiring.settings.dialog.close()
        rig.type_message("Once more")
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()

        await rig.wiring.settings.show("permissions")
        page.form.pattern.setText("../elsewhere")
        page.form.kind.setCurrentIndex(1)
        press(page, "add_rule")
        assert "The folder must be inside the workspace." in page_text(page)
        page.form.kind.setCurrentIndex(0)
        page.form.pattern.setText("echo *")
        press(page, "add_rule")
        await until(lambda: "Never: run commands like: echo *" in page_text(page), "the new rule")
        await rig.run_turn("Once more")
        assert rig.events(ApprovalGiven)[-1].rule == "Never: run commands like: echo *"

        page.sandbox.switches["sandbox"].click()
        await until(lambda: not rig.wiring.services.registry.get(rig.workspace.id).sandbox, "no sandbox")
        await until(lambda: not page.sandbox.switches["network"].isVisible(), "nothing to let through")
        assert not await rig.wiring.services.tools.is_sandboxed(rig.workspace.id)
        rig.wiring.settings.dialog.close()


async def test_several_approvals_are_numbered(qapp: QApplication, tmp_path: Path) -> None:
    def three(request: dict[str, object]) -> Reply:
        messages = request["messages"]
        assert isinstance(messages, list)
        if messages[-1]["role"] == "user":
            calls = (Call("run_command", f'{{"command": "true {n}"}}', id=f"c{n}") for n in range(3))
            return StreamedReply(*calls)
        return text_reply("Ended.")

    async with ChatServer(three) as server, open_window(qapp, tmp_path) as rig:
        await _ask(rig, server)
        rig.window.resize(1000, 560)  # too low for three cards
        rig.type_message("Go")
        await until(
            lambda: [row.position for row in rig.rows(ApprovalRow)][2:] == ["3 of 3"], "three questions"
        )
        first = rig.chat.model.index_of(rig.rows(ApprovalRow)[0].key)
        assert first is not None
        placed = rig.chat.view.chat_viewport.placed_row(first)
        assert placed is not None
        assert placed.y >= 0, "the first one is in sight"
        rig.conversation.decide("c2", "once")
        await until(
            lambda: [row.position for row in rig.rows(ApprovalRow)] == ["1 of 2", "2 of 2"], "two left"
        )
        assert [row.state for row in rig.rows(ToolRow)] == ["approval", "approval", "waiting"]
        await rig.wiring.session_controller.chat.show(None)
        await rig.wiring.session_controller.chat.show(rig.conversation)
        assert [row.state for row in rig.rows(ToolRow)] == ["approval", "approval", "waiting"]
        await rig.answer_approval("deny")
        await until(lambda: [row.position for row in rig.rows(ApprovalRow)] == [""], "one left")
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()
        assert [row.state for row in rig.rows(ToolRow)] == ["denied", "denied", "ok"]
        assert rig.chat.view.is_following


async def test_a_question_waits_while_another_workspace_is_on_screen_and_goes_with_its_turn(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with ChatServer(wants_to_run) as server, open_window(qapp, tmp_path) as rig:
        await _ask(rig, server)
        first = rig.workspace.id
        rig.type_message("Go")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        await rig.open_folder("other")
        rig.window.commands.switch_workspace.trigger()
        badges = {row.id: row.badge for row in rig.window.switcher.matching_workspaces()}
        assert badges[first] == "waiting"
        rig.window.switcher.hide()
        assert not rig.rows(ApprovalRow)

        await rig.wiring.workspace_controller.open_workspace(first)
        assert [row.state for row in rig.rows(ToolRow)] == ["approval"]
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        assert [row.state for row in rig.rows(ToolRow)] == ["ok"]

        rig.type_message("Again")
        await until(lambda: rig.rows(ApprovalRow), "a question")
        await asyncio.wait_for(rig.conversation.stop(), 30)
        await rig.wait_for_turn_end()
        assert not rig.rows(ApprovalRow)
        assert [row.state for row in rig.rows(ToolRow)] == ["ok", "interrupted"]
