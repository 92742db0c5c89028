"""Branches in the window: a message edited, an answer retried, a session that goes on twice."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.ui.chat.actions import OpenVersion, RetryAnswer
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, TurnFooterRow, UserRow
from helix_desktop.ui.kit.intents import BranchSession, RestoreSession, TrashSession
from tests.support.model_servers.chat_server import Reply, text_reply
from tests.support.window.chat_geometry import click_area
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop


class Echo:
    """A model that says what it read last, and how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, request: dict[str, object]) -> Reply:
        messages = request["messages"]
        assert isinstance(messages, list)
        self.calls += 1
        return text_reply(f"{messages[-1]['content']}, call {self.calls}")


def words(rig: WindowRig) -> list[str]:
    """Return what user and model said, as the chat shows it."""
    return [*(row.text for row in rig.rows(UserRow)), *(row.text for row in rig.rows(AssistantRow))]


async def in_branch(rig: WindowRig, parent: str) -> None:
    """Wait until another session than `parent` is on screen, with its rows and its draft."""
    await until(lambda: rig.conversation.session.id != parent, "the branch on screen")
    await rig.wiring.sidebar.refresh()


async def test_messages_are_edited_retried_and_sessions_branch(rig: WindowRig) -> None:
    """Each step has a session of its own."""
    await rig.open_folder("project")
    await _check_an_edit(rig)
    await _check_a_retry(rig)
    await _check_a_branch(rig)
    await _check_a_version_from_before_a_handover(rig)


async def _check_an_edit(rig: WindowRig) -> None:
    async with rig.answered_by(Echo()) as server:
        await rig.run_turn("One")
        await rig.run_turn("Two")
        rig.type_message("a draft", send=False)
        original = rig.conversation.session.id
        click_area(rig.chat.view, rig.rows(UserRow)[1].key, "edit")
        await in_branch(rig, original)
        await until(lambda: rig.composer.text() == "Two", "the message in the composer")
        assert words(rig) == ["One", "One, call 1"]
        await until(lambda: "Editing a message." in rig.banner_text(), "the banner")

        await rig.run_turn(" and a half")
        await until(lambda: "Editing a message." not in rig.banner_text(), "no banner")
        assert words(rig) == ["One", "Two and a half", "One, call 1", "Two and a half, call 3"]
        versions = rig.rows(UserRow)[1].versions
        assert versions is not None
        assert (len(versions.session_ids), versions.place) == (2, 1)
        assert server.bodies[2]["messages"][:3] == server.bodies[1]["messages"][:3], "the same up to there"

        click_area(rig.chat.view, rig.rows(UserRow)[1].key, "version:previous")
        await until(lambda: words(rig)[1:2] == ["Two"], "the first version")
        assert rig.conversation.session.id == original
        await until(lambda: rig.composer.text() == "a draft", "its own draft")
        await until(lambda: rig.rows(UserRow)[1].versions is not None, "its versions")
        (row,) = rig.window.sidebar.session_list.sessions()
        assert (row.id, row.active, len(row.versions), row.branch_of) == (original, True, 2, "")
        assert "2 versions" in row.subtitle


async def _check_a_retry(rig: WindowRig) -> None:
    """An answer is copied, and retried without a second copy of the message."""
    async with rig.answered_by(Echo()) as server:
        await rig.run_turn("One")
        original = rig.conversation.session.id
        footer = rig.rows(TurnFooterRow)[0]
        click_area(rig.chat.view, footer.key, "copy")
        assert QApplication.clipboard().text() == "One, call 1", "the answer as Markdown"
        rig.perform(RetryAnswer(footer.key.seq))
        await in_branch(rig, original)
        await until(lambda: words(rig) == ["One", "One, call 2"], "the other answer")
        await rig.wait_for_turn_end()
        assert server.bodies[1] == server.bodies[0], "byte for byte the same request"
        await until(lambda: rig.rows(TurnFooterRow)[0].versions is not None, "two answers")
        versions = rig.rows(TurnFooterRow)[0].versions
        assert versions is not None
        branch = rig.conversation.session.id
        assert versions.session_ids == (original, branch)
        rig.perform(OpenVersion(original))
        await until(lambda: rig.app_window.shown_session.session_id == original, "the original")
        await until(lambda: rig.rows(TurnFooterRow)[0].versions is not None, "two answers")
        rig.window.perform(TrashSession(original))
        await until(
            lambda: "with its 2 versions moved to the trash" in rig.banner_text(), "both in the trash"
        )
        trash = await rig.workspace.store.retention.trash()
        assert {session.id for session in trash.sessions} == {original, branch}
        rig.window.perform(RestoreSession())
        await until(lambda: rig.app_window.shown_session.session_id == original, "it is back")
        await until(lambda: [bool(row.versions) for row in rig.rows(TurnFooterRow)] == [True], "both answers")


async def _check_a_branch(rig: WindowRig) -> None:
    """A session branches at a point and by its shortcut."""
    async with rig.answered_by(Echo()):
        await rig.run_turn("One")
        await rig.run_turn("Two")
        original = rig.conversation.session.id
        rig.perform(BranchSession(rig.rows(TurnFooterRow)[0].key.seq))
        await in_branch(rig, original)
        await until(lambda: rig.rows(DividerRow), "where the branch begins")
        assert words(rig) == ["One", "One, call 1"]
        assert [row.text for row in rig.rows(DividerRow)] == ["Branch begins here"]
        first = rig.conversation.session.id
        keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_B, keys)
        await in_branch(rig, first)
        listed = {item.id: item for item in rig.window.sidebar.session_list.sessions()}
        second = rig.conversation.session.id
        depths = [listed[session_id].depth for session_id in (original, first, second)]
        assert depths in ([0, 1, 1], [0, 1, 2])


async def _check_a_version_from_before_a_handover(rig: WindowRig) -> None:
    """It says so: else the context is full again without a word."""
    async with rig.answered_by(lambda _: text_reply("Noted. " * 300)):
        await rig.change_policy(handover_least_gain=0.0, observe_at=0.0)
        for turn in range(3):
            await rig.conversation.run(f"Message {turn} " + "with many words " * 900)
        rig.conversation.handovers.start()
        await until(lambda: rig.events(HandoverMade), "the handover")
        await rig.conversation.wait_for_background_work()
        answers = [row.key.seq for row in rig.rows(AssistantRow)]
        rig.perform(RetryAnswer(answers[-1]))
        await until(lambda: "This begins before the last compaction." in rig.banner_text(), "the word")
        await rig.wait_for_turn_end()
        assert not rig.conversation.session.transcript.window.handover
