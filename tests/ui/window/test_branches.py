"""Sessions that start with a handover, and branches: edits and retries."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.events.summary import (
    HandoverMade,
)
from helix_desktop.ui.chat.actions import OpenVersion, RetryAnswer
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, NoticeRow, TurnFooterRow, UserRow
from helix_desktop.ui.handover.range_choice import WHOLE_CONVERSATION
from helix_desktop.ui.handover.versions import NOW
from helix_desktop.ui.handover.window import HandoverWindow
from helix_desktop.ui.kit.intents import (
    BranchSession,
    RestoreSession,
    TrashSession,
)
from tests.support.model_servers.chat_server import Reply, StreamedReply, Text, text_reply
from tests.support.model_servers.stream_parts import TokenCounts
from tests.support.timeline_pane import find_card, words
from tests.support.timeline_pane import press as press_card
from tests.support.window.chat_geometry import click_area
from tests.support.window.handover_window import (
    has_draft,
    notes,
    opened_handovers,
    with_summaries,
)
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop


PORT_SUMMARY = "\n".join(f"## {title}\n- The port is 8080, by the user's word. [e4]" for title in TITLES)


def script(request: dict[str, Any]) -> Reply:
    """Answer, or summarize."""
    last = str(request["messages"][-1]["content"])
    if last.startswith("[Write a handover]"):
        return text_reply(PORT_SUMMARY)
    return StreamedReply(Text("It is 8080."), usage=TokenCounts(4_000, 5))


async def _open_handovers(rig: WindowRig) -> HandoverWindow:
    rig.window.commands.continue_session.trigger()
    window = await opened_handovers(rig)
    await until(lambda: notes(window), "the preview")
    return window


async def test_a_session_starts_from_the_timeline_and_both_are_linked(rig: WindowRig) -> None:
    """Made without a model, then written by one; the words of the first are in the second's request."""
    async with rig.answered_by(script, "project") as server:
        await rig.run_turn("Which port?")
        old = rig.conversation.session.id
        requests = len(server.bodies)
        timeline = rig.views.timeline.get()
        window = await _open_handovers(rig)
        assert window.seq == NOW
        assert notes(window)[0].startswith("A new session starts with this handover summary")
        assert window.session_button.isHidden(), "there is nothing else to make of one turn"
        window.use_button.click()
        await until(lambda: rig.conversation.session.id != old, "the new session")
        assert len(server.bodies) == requests
        new = rig.conversation.session.id
        await until(lambda: rig.rows(DividerRow), "the first row")
        assert rig.rows(DividerRow)[0].text == "Continues “Which port?”"
        await _check_the_first_card(rig, old)
        await rig.run_turn("And now?")
        first = str(server.bodies[-1]["messages"][1]["content"])
        assert first.startswith("[Conversation History Summary]")
        assert "user: Which port?\nagent: It is 8080." in first

        rig.window.show_page("timeline")
        await until(lambda: find_card(timeline, 2), "the card of the origin")
        press_card(timeline, 2, "fold:details")
        assert "Replaces 2 messages" in words(timeline, 2)
        press_card(timeline, 2, f"session:{old}")
        await until(lambda: rig.app_window.shown_session.session_id == old, "the first session again")
        rig.window.show_page("timeline")
        await until(lambda: find_card(timeline, "continued"), "the way on")
        press_card(timeline, "continued", f"session:{new}")
        await until(lambda: rig.app_window.shown_session.session_id == new, "the second session again")

        window = await _open_handovers(rig)
        await until(window.ranges.box.count, "its ranges")
        window.ranges.box.setCurrentIndex(window.ranges.box.findData(WHOLE_CONVERSATION))
        window.write_button.click()
        await until(lambda: has_draft(window), "the draft")
        assert window.use_button.text() == "Start new session"
        window.use_button.click()
        await until(lambda: rig.conversation.session.id not in (old, new), "the third session")
        origin = rig.conversation.session.transcript.origin
        assert origin is not None
        assert (origin.origin, origin.model) == (new, rig.conversation.model.label)


async def _check_the_first_card(rig: WindowRig, old: str) -> None:
    """It says what the session starts from, and leads to the source and from there back."""
    new = rig.conversation.session.id
    (first,) = rig.rows(NoticeRow)
    assert (first.what, first.level) == ("This session starts from a handover summary", "handover")
    assert first.why == "2 messages compacted"
    assert "Which port?" in first.details
    rig.window.commands.undo_compaction.trigger()
    await until(lambda: rig.rows(NoticeRow)[0].what.startswith("Not in the context"), "undone")
    rig.window.commands.redo_compaction.trigger()
    await until(lambda: rig.rows(NoticeRow) == [first], "redone")
    rig.perform(first.actions[0])
    await until(lambda: rig.app_window.shown_session.session_id == old, "the source session")
    await rig.wiring.workspace_controller.open_session(new)


class Echo:
    """A model that says what it read last, and how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, request: dict[str, object]) -> Reply:
        messages = request["messages"]
        assert isinstance(messages, list)
        self.calls += 1
        return text_reply(f"{messages[-1]['content']}, call {self.calls}")


def said(rig: WindowRig) -> list[str]:
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
        assert said(rig) == ["One", "One, call 1"]
        await until(lambda: "Editing a message." in rig.banner_text(), "the banner")

        await rig.run_turn(" and a half")
        await until(lambda: "Editing a message." not in rig.banner_text(), "no banner")
        assert said(rig) == ["One", "Two and a half", "One, call 1", "Two and a half, call 3"]
        versions = rig.rows(UserRow)[1].versions
        assert versions is not None
        assert (len(versions.session_ids), versions.place) == (2, 1)
        assert server.bodies[2]["messages"][:3] == server.bodies[1]["messages"][:3], "the same up to there"

        click_area(rig.chat.view, rig.rows(UserRow)[1].key, "version:previous")
        await until(lambda: said(rig)[1:2] == ["Two"], "the first version")
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
        await until(lambda: said(rig) == ["One", "One, call 2"], "the other answer")
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
        assert said(rig) == ["One", "One, call 1"]
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
    async with rig.answered_by(with_summaries(lambda _: text_reply("Noted. " * 300))):
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
