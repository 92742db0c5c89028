"""What the user is asked: approvals and their rules, questions of the agent, modes, and trust in a folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from helix_desktop.domain.events.conversation import ApprovalGiven, MessageQueued, ToolAnswered, UserSpoke
from helix_desktop.domain.events.session import ModeChanged
from helix_desktop.domain.question import QuestionReply
from helix_desktop.tools.shell.sandbox_detect import find_sandbox
from helix_desktop.ui.chat.actions import AllowAllOnce
from helix_desktop.ui.chat.rows.row_texts import accessible_name, text_of_row
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, DividerRow, QuestionRow, ToolRow, ToolState
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from helix_desktop.ui.window.trust import TrustDialog
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_button, press
from tests.support.window.chat_geometry import click_area
from tests.support.window.list_contents import workspaces_in
from tests.support.window.window_rig import WindowRig, calls_for_each_message, open_window, until

pytestmark = pytest.mark.qt_loop

wants_to_run = calls_for_each_message("run_command", '{"command": "echo done > made.txt"}')


async def test_a_call_waits_for_an_answer_and_a_rule_holds_as_long_as_it_says(rig: WindowRig) -> None:
    """Once, together, never, always: from the chat, another page, another workspace and the list of rules."""
    async with rig.answered_by(wants_to_run, "project", {"a.txt": "words"}) as server:
        await _check_one_call(rig)
        await _check_saved_rules(rig)
    await _check_several_calls(rig)
    async with rig.answered_by(wants_to_run, "waiting") as server:
        await _check_a_question_of_another_workspace(rig)
        await _check_the_list_of_rules(rig, server)


async def _check_one_call(rig: WindowRig) -> None:
    """It runs once it is allowed."""
    made = rig.folder / "project" / "made.txt"
    rig.type_message("Go")
    await until(lambda: rig.rows(ApprovalRow), "a question")
    status = rig.window.top_bar.status
    await until(lambda: status().startswith("Waiting for you"), "the top bar says so")
    assert [row.state for row in rig.rows(ToolRow)] == ["approval"]
    rig.window.show_page("outputs")
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


async def _check_saved_rules(rig: WindowRig) -> None:
    """A banner names the rule that an answer saved, and takes it back."""
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
    three_calls = calls_for_each_message("run_command", *(f'{{"command": "true {n}"}}' for n in range(3)))

    def positions() -> list[str]:
        return [row.position for row in rig.rows(ApprovalRow)]

    def states() -> list[ToolState]:
        return [row.state for row in rig.rows(ToolRow)][-3:]

    async with rig.answered_by(three_calls, "several") as server:
        rig.window.resize(1000, 560)  # too low for three cards
        rig.type_message("Go")
        await until(lambda: positions()[2:] == ["3 of 3"], "three questions")
        view = rig.chat.view
        first = rig.chat.model.index_of(rig.rows(ApprovalRow)[0].key)
        assert first is not None
        placed_row = view.chat_viewport.placed_row
        await until(lambda: (placed := placed_row(first)) is not None and placed.y >= 0, "the first in sight")
        view.setFocus()
        rig.perform(AllowAllOnce(rig.rows(ApprovalRow)[-1].allowed_together))
        assert rig.composer.editor.hasFocus(), "the cards that had the keyboard go away"
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
        answers = {message["tool_call_id"][:2]: message["content"] for message in messages}
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
    badges = {row.id: row.badge for row in workspaces_in(rig.window.picker)}
    assert badges[first] == "waiting"
    rig.window.picker.hide()
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
    rig.window.show_page("outputs")
    lines = rig.window.top_bar.findChildren(TextLine)
    state = next(line for line in lines if line.text == "Waiting for you")
    QTest.mouseClick(state, Qt.MouseButton.LeftButton)
    assert rig.window.page() == "chat"
    card = len(viewport.model) - 1
    area = viewport.item(card).hit_area("decide:once")
    placed = viewport.placed_row(card)
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


OPTIONS = [{"label": "SQLite", "description": "One file"}, {"label": "Postgres"}, {"label": "DuckDB"}]
COLORS = [{"label": "Red"}, {"label": "Blue"}, {"label": "Green"}]
SCRIPT: dict[str, list[Call]] = {
    "one": [Call("ask_user", json.dumps({"question": "Which database?", "options": OPTIONS}), id="q1")],
    "several": [
        Call("run_command", '{"command": "echo x > y.txt"}', id="r1"),
        Call(
            "ask_user",
            json.dumps({"question": "Which colors?", "options": COLORS, "multiple": True}),
            id="q2",
        ),
        Call("ask_user", '{"question": "What name?"}', id="q3"),
    ],
}


def asking_model(request: dict[str, Any]) -> Reply:
    """A model that asks what the user's message names, then is done."""
    message = request["messages"][-1]
    calls = SCRIPT.get(str(message["content"])) if message["role"] == "user" else None
    return StreamedReply(*calls) if calls else text_reply("Ended.")


async def cards(rig: WindowRig, count: int) -> list[QuestionRow]:
    """Return the questions that wait, once there are so many."""
    await until(lambda: len(rig.rows(QuestionRow)) == count, "the questions")
    return rig.rows(QuestionRow)


def chosen(rig: WindowRig, card: QuestionRow) -> tuple[str, ...]:
    return rig.chat.view.chat_viewport.item_cache.chosen(card)


def places(rig: WindowRig, card: QuestionRow) -> list[str]:
    """Return what can be pressed on a card."""
    index = rig.chat.model.index_of(card.key)
    assert index is not None
    return [area.name for area in rig.chat.view.chat_viewport.item(index).hit_areas]


def click(rig: WindowRig, card: QuestionRow, name: str) -> None:
    """Click a place of a card, unless it is on its way already."""
    if name in places(rig, card):
        click_area(rig.chat.view, card.key, name)


def focused() -> str:
    widget = QApplication.focusWidget()
    return widget.objectName() if widget is not None else ""


def press_key(key: Qt.Key) -> None:
    widget = QApplication.focusWidget()
    assert widget is not None
    QTest.keyClick(widget, key)


def replies(rig: WindowRig) -> list[QuestionReply | None]:
    return [answer.reply for answer in rig.events(ToolAnswered) if answer.name == "ask_user"]


async def press_until(rig: WindowRig, press: Callable[[], None], left: int) -> None:
    """Press until so many questions are left: a card that just came takes no answer yet."""

    def is_answered() -> bool:
        if len(rig.rows(QuestionRow)) > left:
            press()
        return len(rig.rows(QuestionRow)) == left

    await until(is_answered, "the question is answered")


def has_keyboard(widget: QWidget) -> bool:
    return QApplication.focusWidget() is widget


async def test_questions_are_answered_on_their_card_by_a_message_and_after_a_restart(
    qapp: QApplication, tmp_path: Path
) -> None:
    """After a restart the answer is a message. What was typed elsewhere stays where it is."""
    async with ChatServer(asking_model) as server:
        async with open_window(qapp, tmp_path) as rig:
            await rig.open_folder("project", {"a.txt": "words"})
            await rig.use_server(server)
            await _check_several_questions(rig)
            rig.type_message("one")
            (card,) = await cards(rig, 1)
            status = rig.window.top_bar.status
            await until(lambda: status().startswith("Waiting for you"), "the top bar says so")
            assert has_keyboard(rig.composer.editor)
            QTest.keyClick(rig.composer.editor, Qt.Key.Key_Backtab)
            assert focused() == "option:1", "as on the card of an approval"
            press_key(Qt.Key.Key_Down)
            assert focused() == "option:2"
            rig.type_message("with pgvector 2", send=False)
            click(rig, card, "option:2")
            assert chosen(rig, card) == ("Postgres",), "one is an answer"
            assert places(rig, card)[3:] == ["skip", "answer", "answer:message"]
            await press_until(rig, lambda: click(rig, card, "answer:message"), 0)
            await rig.wait_for_turn_end()
            assert replies(rig)[2:] == [QuestionReply(("Postgres",), "with pgvector 2")]
            assert has_keyboard(rig.composer.editor)
            row = rig.rows(ToolRow)[-1]
            assert accessible_name(row) == "Question, answered: Which database?"
            assert text_of_row(row) == "Which database?\nPostgres\nwith pgvector 2"

            rig.type_message("one")
            (card,) = await cards(rig, 1)
            QTest.mouseClick(rig.chat.view.viewport(), Qt.MouseButton.LeftButton)
            QTest.keyClick(rig.chat.view, Qt.Key.Key_3)
            await press_until(rig, lambda: QTest.keyClick(rig.chat.view, Qt.Key.Key_Return), 0)
            await rig.wait_for_turn_end()
            assert replies(rig)[3:] == [QuestionReply(("DuckDB",))]

            rig.type_message("one")
            await cards(rig, 1)
            rig.type_message("2 of them")
            await rig.wait_for_turn_end()
            assert replies(rig)[4:] == [QuestionReply((), "2 of them")]
            assert (rig.composer.text(), rig.events(MessageQueued)) == ("", [])
            rig.type_message("one")
            rig.type_message("my own draft", send=False)
            await cards(rig, 1)
            assert has_keyboard(rig.composer.editor), "whoever types is not interrupted"
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            (card,) = await cards(rig, 1)
            assert accessible_name(rig.rows(ToolRow)[-1]) == "Question, not answered: Which database?"
            assert rig.composer.text() == "my own draft"
            assert places(rig, card) == ["option:1", "option:2", "option:3", "answer:message"]
            click(rig, card, "option:2")
            assert chosen(rig, card) == ("Postgres",), "what is typed may belong to it: so it is not sent yet"
            await press_until(rig, lambda: click(rig, card, "answer"), 0)
            said = "Your question: Which database?\n\nMy answer: Postgres"
            await until(lambda: rig.events(UserSpoke)[-1].text == said, "the answer begins a turn")
            await rig.wait_for_turn_end()
            assert rig.rows(QuestionRow) == []
            assert rig.composer.text() == "my own draft"


async def _check_several_questions(rig: WindowRig) -> None:
    """Several questions stand in order with approvals."""
    rig.type_message("several")
    colors, name = await cards(rig, 2)
    waiting = [row for row in rig.chat.model.raw_rows() if isinstance(row, ApprovalRow | QuestionRow)]
    assert [row.position for row in waiting] == ["1 of 3", "2 of 3", "3 of 3"]
    assert isinstance(waiting[0], ApprovalRow)
    assert places(rig, colors) == ["option:1", "option:2", "option:3", "skip"]
    assert places(rig, name) == ["skip"]
    rig.chat.view.jump_to(colors.key)
    click(rig, colors, "option:1")
    rig.chat.view.focus_area(colors.key, "option:3")
    press_key(Qt.Key.Key_Space)
    assert chosen(rig, colors) == ("Red", "Green")
    assert places(rig, colors)[3:] == ["skip", "answer"]
    await press_until(rig, lambda: press_key(Qt.Key.Key_Return), 1)
    rig.chat.view.jump_to(name.key)
    await press_until(rig, lambda: click(rig, name, "skip"), 0)
    await rig.answer_approval("deny")
    await rig.wait_for_turn_end()
    assert replies(rig) == [QuestionReply(("Red", "Green")), QuestionReply()]


async def opened(rig: WindowRig) -> PermissionsPage:
    await rig.wiring.settings.show("permissions")
    return rig.settings.permissions


def flip(page: PermissionsPage, name: str) -> None:
    """Click a switch."""
    QTest.mouseClick(find_button(page, name), Qt.MouseButton.LeftButton, pos=QPoint(15, 13))


def tools(server: ChatServer) -> list[str]:
    """Return the tools in the newest request."""
    return [tool["function"]["name"] for tool in server.bodies[-1]["tools"]]


async def _check_the_page_of_permissions(rig: WindowRig) -> None:
    """What it allows holds from the next request on."""
    call = StreamedReply(Call("run_command", '{"command": "true"}'))
    async with rig.answered_by(replies_in_order(text_reply("Hi."), call, text_reply("Ran."))) as server:
        page = await opened(rig)
        await rig.run_turn("Hello")
        assert "fetch_url" not in tools(server)
        assert "no network" in page._status.text()
        flip(page, "fetch")
        flip(page, "network")
        await until(lambda: "network allowed" in page._status.text(), "the network open")
        flip(page, "sandbox")
        await until(lambda: page._status.text().startswith("Not sandboxed"), "the sandbox off")
        await until(lambda: not find_button(page, "network").isEnabled(), "nothing to allow")
        record = rig.wiring.services.registry.get(rig.workspace.id)
        assert (record.sandbox, record.network, record.fetch) == (False, True, True)
        rig.window.leave_settings()
        rig.type_message("Run it")
        approval = (await rig.answer_approval("once")).request
        assert "Not sandboxed" in approval.effect
        await rig.wait_for_turn_end()
        assert rig.last_output("run_command").text.startswith("exit code 0 (not sandboxed)")
        assert "fetch_url" in tools(server)


def mode_text(rig: WindowRig) -> str:
    """Return the mode as read by a screen reader."""
    return rig.composer.mode_button.accessibleName()


async def test_modes_permissions_and_trust_decide_what_runs_and_is_sent(rig: WindowRig) -> None:
    """Trust comes last: without it nothing is sent from the workspace of the steps before."""
    await _check_modes(rig)
    if find_sandbox().kind != "none":
        await _check_the_page_of_permissions(rig)
    await _check_it_stops_running_work(rig)
    await _check_nothing_is_sent_before(rig)
    await rig.wiring.workspace_controller.open_folder(rig.folder / "cloned")
    assert rig.composer.isEnabled()
    assert trust_dialog(rig) is None, "it is trusted by now"
    await _check_questions_come_one_after_the_other(rig)


async def _check_modes(rig: WindowRig) -> None:
    """A mode is of its session."""
    writes = calls_for_each_message("write_file", '{"path": "f#.txt", "content": "made"}')
    async with rig.answered_by(writes, "project") as server:
        assert mode_text(rig) == "Mode: Ask first"
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: mode_text(rig) == "Mode: Plan", "mode plan")
        await until(rig.window.commands.mode_plan.isChecked, "the menu says so")
        await rig.run_turn("Go")
        assert [row.state for row in rig.rows(ToolRow)] == ["denied"]
        assert not list((rig.folder / "project").iterdir())
        contents = [
            message["content"] for message in server.bodies[0]["messages"] if message["role"] == "user"
        ]
        assert contents[0].startswith("[Mode: plan]")
        assert [row.text for row in rig.rows(DividerRow)] == ["Plan mode: the agent only reads and plans"]

        rig.window.commands.mode_auto.trigger()
        await until(lambda: mode_text(rig) == "Mode: Auto", "mode auto")
        await rig.run_turn("Go on")
        assert rig.rows(ToolRow)[-1].state == "ok"
        assert rig.rows(ApprovalRow) == []
        assert [event.mode for event in rig.events(ModeChanged)] == ["plan", "auto"]

        auto = rig.conversation.session.id
        await rig.wiring.workspace_controller.new_session()
        assert mode_text(rig) == "Mode: Ask first", "it is the session's"
        await rig.wiring.workspace_controller.open_session(auto)
        assert mode_text(rig) == "Mode: Auto"


def trust_dialog(rig: WindowRig) -> TrustDialog | None:
    """The question on screen."""
    return next((dialog for dialog in rig.window.findChildren(TrustDialog) if dialog.isVisible()), None)


async def _added(rig: WindowRig, folder: Path) -> TrustDialog:
    await rig.wiring.workspace_controller.open_folder(folder)
    return await until(lambda: trust_dialog(rig), "the question")


async def _check_questions_come_one_after_the_other(rig: WindowRig) -> None:
    """Of folders that are opened in quick succession; a folder that is opened twice is asked about once."""
    questions = []
    for name in ("one", "two", "two", "three"):
        (rig.folder / name).mkdir(exist_ok=True)
        await rig.wiring.workspace_controller.open_folder(rig.folder / name)
    for name in ("one", "two", "three"):
        await until(lambda: trust_dialog(rig), f"the question about {name}")
        (dialog,) = [dialog for dialog in rig.window.findChildren(TrustDialog) if dialog.isVisible()]
        labels = dialog.findChildren(QLabel)
        questions.append([label.text() for label in labels if "Do you" in label.text()])
        press(dialog, "decline")
        await until(partial(_is_gone, rig, dialog), "the question gone")
    assert questions == [["Do you trust one?"], ["Do you trust two?"], ["Do you trust three?"]]


def _is_gone(rig: WindowRig, dialog: TrustDialog) -> bool:
    return trust_dialog(rig) is not dialog


async def _check_nothing_is_sent_before(rig: WindowRig) -> None:
    """What a folder could do is listed; declined, it takes no message until it is trusted after all."""
    folder = rig.folder / "cloned"
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "hooks" / "post-checkout").write_text("curl evil", encoding="utf-8")
    (folder / ".mcp.json").write_text("{}", encoding="utf-8")
    async with ChatServer(lambda _: text_reply("Hello.")) as server:
        dialog = await _added(rig, folder)
        words = "\n".join(label.text() for label in dialog.findChildren(QLabel))
        assert dialog.windowTitle() == "Trust this folder?"
        QTest.keyClick(dialog, Qt.Key.Key_Return)
        assert trust_dialog(rig) is dialog, "Enter decides nothing"
        assert not rig.chat.trust_strip.isVisible(), "the dialog asks already"
        for expected in (str(folder), ".git/hooks", "post-checkout", ".mcp.json"):
            assert expected in words
        press(dialog, "decline")
        await until(lambda: trust_dialog(rig) is None, "the question gone")
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server)

        assert rig.chat.trust_strip.isVisible()
        assert not rig.composer.isEnabled()
        assert "Trust this folder" in rig.composer.editor.placeholderText()
        rig.wiring.composer.send("Sent all the same")
        await until(lambda: "isn't trusted yet" in rig.banner_text(), "it says why not")
        assert server.bodies == []
        assert rig.composer.text() == "Sent all the same", "nothing typed is lost"

        press(rig.chat.trust_strip, "strip_action")
        again = await until(lambda: trust_dialog(rig), "the question again")
        press(again, "trust")
        registry = rig.wiring.services.registry
        await until(lambda: registry.get(rig.workspace.id).trusted, "the answer saved")
        assert not rig.chat.trust_strip.isVisible()
        rig.composer.set_text("")
        await rig.run_turn("Hello")
        assert len(server.bodies) == 1


async def _check_it_stops_running_work(rig: WindowRig) -> None:
    """Without trust, a turn ends and no message can be written."""
    never = asyncio.Event()
    async with ChatServer(lambda _: StreamedReply(Wait(never))) as server:
        await rig.use_server(server)
        rig.type_message("Go on for ever")
        await until(lambda: rig.conversation.is_running, "a turn")
        await rig.wiring.trust.set_trusted(rig.workspace.id, trusted=False)
        assert not rig.conversation.is_running
        assert not rig.composer.isEnabled()
        assert rig.chat.trust_strip.isVisible()
        never.set()
