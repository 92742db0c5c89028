"""Sessions that start with the handover of another one, in the real window."""

from __future__ import annotations

from typing import Any

import pytest

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.ui.chat.rows.row_types import DividerRow, NoticeRow
from helix_desktop.ui.handover.range_choice import WHOLE_CONVERSATION
from helix_desktop.ui.handover.versions_and_drafts import NOW
from helix_desktop.ui.handover.window import HandoverWindow
from helix_desktop.words.numbers import format_token_count
from tests.support.model_servers.chat_server import Reply, StreamedReply, Text, text_reply
from tests.support.model_servers.stream_parts import TokenCounts
from tests.support.timeline_pane import find_card, pills, press, words
from tests.support.window.handover_window import has_draft, notes, opened_handovers
from tests.support.window.usage_checks import inspector_rows
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

SUMMARY = "\n".join(f"## {title}\n- The port is 8080, by the user's word. [e4]" for title in TITLES)


def script(request: dict[str, Any]) -> Reply:
    """Answer, or summarize."""
    last = str(request["messages"][-1]["content"])
    if last.startswith("[Write a handover]"):
        return text_reply(SUMMARY)
    return StreamedReply(Text("It is 8080."), usage=TokenCounts(4_000, 5))


async def _open_handovers(rig: WindowRig, *, has_summary: bool = True) -> HandoverWindow:
    """Open them from the timeline, which offers that once there is one, else from the command list."""
    rig.window.show_page("timeline")
    button = rig.views.timeline.get().handovers_button
    if has_summary:
        await until(button.isVisible, "the timeline")
        assert button.toolTip().endswith("(Ctrl+Shift+K)")
        button.click()
    else:
        assert not button.isVisible()
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
        window = await _open_handovers(rig, has_summary=False)
        assert window.seq == NOW
        assert notes(window)[0].startswith("A new session starts with this summary")
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
        press(timeline, 2, "fold:details")
        assert "Replaces 2 messages" in words(timeline, 2)
        await _check_its_tokens(rig)
        press(timeline, 2, f"session:{old}")
        await until(lambda: rig.app_window.shown_session.session_id == old, "the first session again")
        rig.window.show_page("timeline")
        await until(lambda: find_card(timeline, "continued"), "the way on")
        press(timeline, "continued", f"session:{new}")
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


async def _check_its_tokens(rig: WindowRig) -> None:
    """The timeline and the inspector have one number for it, whatever the model counts."""
    (_, gauge), origin = rig.conversation.window.measure(), rig.conversation.session.transcript.origin
    assert origin is not None
    assert gauge.ratio != 1.0
    (tokens,) = (row.tokens for row in rig.conversation.window.items() if row.kind == "handover")
    assert format_token_count(tokens) in pills(rig.views.timeline.get(), 2)
    assert [row.tokens for row in inspector_rows(rig) if row.kind == "handover"] == [tokens]


async def _check_the_first_card(rig: WindowRig, old: str) -> None:
    """It says what the session starts from, and leads to the source and from there back."""
    new = rig.conversation.session.id
    (first,) = rig.rows(NoticeRow)
    assert (first.what, first.level) == ("This session starts from a summary", "handover")
    assert first.why == "2 messages compacted"
    assert "Which port?" in first.details
    rig.window.commands.undo_compaction.trigger()
    await until(lambda: rig.rows(NoticeRow)[0].what.startswith("Not in the context"), "undone")
    rig.window.commands.redo_compaction.trigger()
    await until(lambda: rig.rows(NoticeRow) == [first], "redone")
    rig.perform(first.actions[0])
    await until(lambda: rig.app_window.shown_session.session_id == old, "the source session")
    await rig.wiring.workspace_controller.open_session(new)
