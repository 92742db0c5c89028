"""Looking at an earlier step: chart, inspector and chat show it as it was, and the session is untouched."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from helix_desktop.context.log.steps import read_steps
from helix_desktop.ui.chat.rows.row_types import DividerRow, ToolRow, UserRow
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.kit.intents import Undo
from helix_desktop.ui.timeline.usage_chart import Scrubber
from tests.support.model_servers.chat_server import replies_in_order, text_reply
from tests.support.part_files import part_files, reads_all
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

FILES = part_files()
SWEEPS = {"protect_steps": 2, "protect_tokens": 2_500, "sweep": "at once", "handover_at": 0.95}


def _scrubber(rig: WindowRig) -> Scrubber:
    return rig.views.timeline.get().chart.scrubber


async def _look_at(rig: WindowRig, seq: int) -> None:
    """Choose a step, and wait until the inspector shows its request."""
    past = rig.wiring.past
    _scrubber(rig).choose(seq)
    await until(lambda: past.window is not None and past.window.answer_seq == seq, f"the request of e{seq}")


async def test_a_look_at_the_past_leaves_the_session_and_what_runs_alone(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_every_step(rig)
    await _check_the_way_back(rig)


async def _check_every_step(rig: WindowRig) -> None:
    async with reads_all() as server:
        await rig.begin("steps", FILES, server, **SWEEPS)
        await rig.run_turn("Read everything")
        steps, log = read_steps(rig.conversation.session.log), list(rig.conversation.session.log)
        rig.window.show_page("timeline")
        await until(lambda: len(_scrubber(rig).steps) == len(steps), "the steps on the chart")
        for step, sent in zip(steps, server.bodies, strict=True):
            past = await rig.conversation.window.window_at(step.seq)
            assert past.is_exact
            texts = [message.get("content") or "" for message in sent["messages"]]
            assert [message.text for message in past.window.request.messages] == texts

        await _look_at(rig, steps[2].seq)
        inspector, past_window = rig.views.inspector, rig.wiring.past.window
        assert past_window is not None
        rows = past_window.items()
        assert len(inspector.requests.rows) >= len(rows)
        assert inspector.requests.is_read_only
        rig.wiring.session.schedule_refresh()
        await rig.wiring.session.refresh()
        assert inspector.requests.is_read_only  # what goes on meanwhile does not end the look

        rig.window.show_page("chat")
        await until(lambda: rig.rows(DividerRow)[-1:] and rig.rows(DividerRow)[-1].kind == "past", "the cut")
        assert {row.target: row.badge for row in rig.rows(ToolRow)} == {
            f"part{n}.txt": "in_window" for n in range(2)
        }
        assert rig.chat.past_strip.isVisible()
        assert "turn 1, request 3" in rig.chat.past_strip.accessibleName().lower()
        rig.chat.view.chat_viewport.show_row(0)
        assert rig.conversation.session.log == log
        assert await rig.stored_events() == log

        rig.type_message("And now?")
        await until(lambda: len(rig.rows(UserRow)) == 2, "the message at now")
        await rig.wait_for_turn_end()
        assert not rig.chat.past_strip.isVisible()
        assert not inspector.requests.is_read_only
        assert {row.target: row.badge for row in rig.rows(ToolRow)}["part0.txt"] == "cached"


async def _check_the_way_back(rig: WindowRig) -> None:
    """A button of the past does nothing but that; Esc on the handle, and another session, do the same."""
    replies = replies_in_order(text_reply("One."), text_reply("Two."))
    async with rig.answered_by(replies, "back"):
        await rig.run_turn("First")
        await rig.run_turn("Second")
        log, past = list(rig.conversation.session.log), rig.wiring.past
        first = read_steps(log)[0].seq
        rig.window.show_page("timeline")
        await until(lambda: len(_scrubber(rig).steps) == 2, "the steps on the chart")
        await _look_at(rig, first)
        assert rig.views.timeline.get().now_button.isVisible()
        header = [line.accessibleName() for line in rig.views.timeline.get().findChildren(TextLine)]
        assert "tokens in the request" in header
        assert any(words.startswith("You're looking at turn") for words in header)
        QTest.keyClick(_scrubber(rig), Qt.Key.Key_Escape)
        assert past.step is None
        assert not rig.views.timeline.get().now_button.isVisible()

        await _look_at(rig, first)
        QTest.keyClick(_scrubber(rig), Qt.Key.Key_Return)
        await until(lambda: len(rig.rows(UserRow)) == 1, "the chat of the first step")
        assert rig.window.page() == "chat"
        rig.chat.view.perform(Undo((first,)))
        await until(lambda: len(rig.rows(UserRow)) == 2, "the chat of now")
        assert past.step is None
        assert rig.conversation.session.log == log

        rig.window.show_page("timeline")
        await _look_at(rig, first)
        await rig.wiring.workspace_controller.new_session()
        assert past.step is None
        assert not rig.chat.past_strip.isVisible()
