"""The range of a draft in the real window: what is compacted is what the dialog names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverMade
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.handover.window import HandoverWindow
from tests.support.model_servers.chat_server import (
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    Wait,
    text_reply,
)
from tests.support.part_files import part_files, read_part
from tests.support.window.buttons import press
from tests.support.window.handover_window import has_draft, open_after_two_turns, open_handovers, shown_text
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

FILES = part_files(5, 200)
SUMMARY = "\n".join(f"## {title}\n- Words about it, and some more of them. [e4]" for title in TITLES)


def reader(summary: Callable[[], Reply]) -> Callable[[dict[str, Any]], Reply]:
    """A model that reads all files one by one, and writes a handover on request."""

    def script(request: dict[str, Any]) -> Reply:
        messages = request["messages"]
        if str(messages[-1]["content"]).startswith("[Write a handover]"):
            return summary()
        done = sum(message["role"] == "assistant" for message in messages)
        if done < len(FILES):
            return StreamedReply(read_part(done))
        return text_reply("All read.")

    return script


def _note(dialog: HandoverWindow) -> str:
    words = (part for part in dialog.findChildren(QLabel, "draft-range") if part.isVisible())
    return next((part.text() for part in words), "")


def _pills(dialog: HandoverWindow) -> list[str]:
    return [pill.text() for pill in dialog.findChildren(Pill) if pill.isVisible()]


async def test_a_draft_is_used_for_its_own_range_alone(qapp: QApplication, tmp_path: Path) -> None:
    """Another range makes the draft out of date: it can be written again, or its range chosen again."""
    go, replies = asyncio.Event(), [text_reply(SUMMARY)]
    async with ChatServer(reader(lambda: replies[-1])) as server, open_window(qapp, tmp_path) as rig:
        dialog = await open_after_two_turns(rig, server, FILES)
        first, last = 0, dialog.ranges.box.count() - 2  # behind it the one for a new session
        assert last > first
        drafted = dialog.ranges.box.currentText()
        press(dialog, "write_draft")
        await until(lambda: has_draft(dialog), "the draft")
        assert (_note(dialog), dialog.use_button.isEnabled()) == ("", True)
        pills = _pills(dialog)

        dialog.ranges.box.setCurrentIndex(last)
        assert drafted in _note(dialog), "it names the range that its figures are of"
        assert _pills(dialog) == pills
        assert not dialog.use_button.isEnabled()
        assert "another range" in dialog.use_button.toolTip()
        press(dialog, "draft-range-back")
        assert (dialog.ranges.box.currentIndex(), _note(dialog)) == (first, "")
        assert dialog.use_button.isEnabled()

        dialog.ranges.box.setCurrentIndex(last)
        replies.append(StreamedReply(Text("## Project Background\n- Wor"), Wait(go), Text("ds.")))
        QTest.keyClick(dialog, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: "- Wor" in dialog.model_output.toPlainText(), "it is written again")
        press(dialog, "stop")
        await until(lambda: has_draft(dialog), "the former draft")
        assert drafted in _note(dialog)
        replies.append(text_reply(SUMMARY))
        press(dialog, "write_draft")
        await until(lambda: has_draft(dialog) and not _note(dialog), "the draft of the chosen range")
        assert _pills(dialog) != pills
        end = dialog.ranges.box.currentData()
        press(dialog, "hand_over")
        await until(lambda: rig.events(HandoverMade), "compacted")
        assert rig.events(HandoverMade)[-1].upto == end
        await until(lambda: rig.wiring.rewrites.handover_window is None, "the dialog closed")
        go.set()


async def test_the_former_draft_can_be_used_after_writing_again_was_stopped(
    qapp: QApplication, tmp_path: Path
) -> None:
    """It stays on screen, and Compact takes it: it did nothing."""
    go, replies = asyncio.Event(), [text_reply(SUMMARY)]
    async with ChatServer(reader(lambda: replies[-1])) as server, open_window(qapp, tmp_path) as rig:
        dialog = await open_after_two_turns(rig, server, FILES)
        press(dialog, "write_draft")
        await until(lambda: has_draft(dialog), "the draft")
        replies.append(StreamedReply(Text("## Project Background\n- Wor"), Wait(go), Text("ds.")))
        press(dialog, "write_draft")
        await until(lambda: "- Wor" in dialog.model_output.toPlainText(), "it is written again")
        press(dialog, "stop")
        await until(lambda: has_draft(dialog), "the former draft")
        press(dialog, "hand_over")
        await until(lambda: rig.events(HandoverMade), "compacted")
        assert "Words about it" in rig.events(HandoverMade)[-1].sections[0].bullets[0].text
        await until(lambda: rig.wiring.rewrites.handover_window is None, "the dialog closed")
        go.set()


async def test_a_draft_is_there_again_after_a_restart(qapp: QApplication, tmp_path: Path) -> None:
    """As the user left it, with the app or by Escape, and paid for once; gone once its context is another."""
    async with ChatServer(reader(lambda: text_reply(SUMMARY))) as server:
        async with open_window(qapp, tmp_path) as rig:
            dialog = await open_after_two_turns(rig, server, FILES)
            dialog.ranges.focus.setText("the parts")
            press(dialog, "write_draft")
            await until(lambda: has_draft(dialog), "the draft")
            dialog.fields[0].editor.appendPlainText("- One more.")
            left, shown = shown_text(dialog), (_pills(dialog), dialog.ranges.box.currentText())
        sent = len(server.requests)
        for _ in range(2):
            async with open_window(qapp, tmp_path) as rig:
                await rig.wiring.workspace_controller.restore_last()
                spent = rig.conversation.budget.spent
                (drafted,) = rig.events(HandoverDiscarded)
                assert drafted.draft is not None
                assert drafted.spent > 0
                dialog = await _reopened_draft(rig)
                assert shown_text(dialog) == left
                assert (_pills(dialog), dialog.ranges.box.currentText()) == shown
                assert dialog.ranges.focus.text() == "the parts"
                dialog.reject()
                await until(lambda: rig.wiring.rewrites.handover_window is None, "closed unchanged")
                assert rig.conversation.budget.spent == spent
                assert len(rig.events(HandoverDiscarded)) == 1, "nothing is recorded twice"
                assert len(server.requests) == sent
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            dialog = await _reopened_draft(rig)
            press(dialog, "hand_over")
            await until(lambda: rig.events(HandoverMade), "compacted")
            assert "One more." in str(rig.events(HandoverMade)[0].sections)
            assert rig.events(HandoverMade)[0].spent == 0
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            dialog = await open_handovers(rig)
            assert dialog.draft is None, "its messages are compacted"
            dialog.reject()


async def _reopened_draft(rig: WindowRig) -> HandoverWindow:
    dialog = await open_handovers(rig)
    await until(lambda: has_draft(dialog), "the draft without a request")
    return dialog
