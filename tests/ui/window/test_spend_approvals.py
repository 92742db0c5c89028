"""Approvals of what background work may read, in the real window."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.events.summary import NO_MODEL, HandoverMade, ObservationsMade
from helix_desktop.ui.chat.rows.row_types import DividerRow
from helix_desktop.words.costs import cost_text
from tests.support.model_servers.chat_server import ChatServer, Hang, Reply, StreamedReply, text_reply
from tests.support.timeline_pane import find_card, pills
from tests.support.timeline_pane import press as press_card
from tests.support.window.handover_window import has_draft, opened_handovers
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

SUMMARY = "\n".join(f"## {title}\n- Words about it. [e4]" for title in TITLES)
ASKING = {
    "observe_at": 0.05, "observe_place_at": 0.9, "ask_above": 1_000, "handover_least_gain": 0.0,
    "handover_keep": 0.02,
}  # fmt: skip


def answers(request: dict[str, Any]) -> Reply:
    """Long answers, observations and handovers."""
    last = str(request["messages"][-1]["content"])
    if last.startswith("[Write observations]"):
        return text_reply("".join(f"- (1) Word {n} was talked about, at length. [e4]\n" for n in range(30)))
    return text_reply(SUMMARY) if last.startswith("[Write a handover]") else text_reply("some words " * 700)


def click(rig: WindowRig, name: str) -> None:
    button = rig.window.notices.findChild(QPushButton, name)
    assert button is not None
    button.click()


async def run_long_turns(rig: WindowRig, server: ChatServer, folder: str, turns: int = 6) -> None:
    """So many turns with long answers."""
    await rig.open_folder(folder)
    await rig.use_server(server)
    await rig.change_policy(**ASKING)
    for _ in range(turns):
        await rig.run_turn("Go on")


async def test_an_approval_stays_until_it_is_answered_and_a_dialog_displays_the_cost(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with ChatServer(answers) as server, open_window(qapp, tmp_path) as rig:
        await _check_an_approval(rig, server)
        await _check_the_dialog(rig, server)


async def _check_an_approval(rig: WindowRig, server: ChatServer) -> None:
    """It survives switching sessions, blocks no turn, and its card then states the cost."""
    await run_long_turns(rig, server, "approved")
    first = rig.conversation.session.id
    await until(lambda: "Write a summary for later?" in rig.banner_text(), "the question")
    assert "price unknown" in rig.banner_text()
    await rig.wiring.workspace_controller.new_session()
    assert "Write a summary for later?" not in rig.banner_text()
    await rig.wiring.workspace_controller.open_session(first)
    assert "Write a summary for later?" in rig.banner_text()
    await rig.run_turn("A word")
    assert "Write a summary for later?" in rig.banner_text()
    assert rig.events(ObservationsMade) == []
    click(rig, "spend-observations:allow")
    await until(lambda: "Write a summary for later?" not in rig.banner_text(), "no question")
    await rig.wait_for_turn_end()
    (event,) = rig.events(ObservationsMade)
    rig.window.show_page("timeline")
    expected_cost = cost_text(event.spent, event.cost)
    timeline = rig.views.timeline.get()
    (seq,) = (entry.seq for entry in rig.conversation.session.log if entry.event is event)
    await until(lambda: find_card(timeline, seq), "its card")
    press_card(timeline, seq, "fold:details")
    assert expected_cost.endswith("tokens · price unknown")
    assert f"Used {expected_cost}" in pills(timeline, seq)


async def _check_the_dialog(rig: WindowRig, server: ChatServer) -> None:
    """It displays the cost of a handover before anything is written, and again for another end.

    The same work then needs no question.
    """
    await run_long_turns(rig, server, "refused")
    await until(lambda: "Write a summary for later?" in rig.banner_text(), "the question")
    click(rig, "spend-observations:refuse")
    rig.window.commands.compact_now.trigger()
    dialog = await opened_handovers(rig)
    await until(lambda: dialog.ranges.price.text().startswith("Reads ≈ "), "the price")
    furthest = dialog.ranges.price.text()
    assert "tokens · price unknown" in furthest
    dialog.ranges.box.setCurrentIndex(dialog.ranges.box.count() - 2)  # the last one is for a new session
    price = dialog.ranges.price.text
    await until(lambda: price().startswith("Reads ≈ ") and price() != furthest, "the price of another end")
    dialog.write_button.click()
    await until(lambda: has_draft(dialog), "the draft")
    dialog.use_button.click()
    await until(lambda: rig.events(HandoverMade), "the handover")


async def run_until_a_step_waits(rig: WindowRig) -> None:
    ends = len(rig.events(TurnEnded))
    while not rig.conversation.summary_wait.is_active:
        rig.type_message("Go on")
        ends += 1
        await until(partial(has_ended_or_waits, rig, ends), "the end of the turn, or a wait")


def has_ended_or_waits(rig: WindowRig, ends: int) -> bool:
    """Return True once so many turns have ended, or a step waits."""
    return rig.conversation.summary_wait.is_active or len(rig.events(TurnEnded)) >= ends


async def test_a_step_that_waits_for_the_summary_says_so_with_two_ways_out(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Continue without a model makes room at once; Stop ends the turn. Another session doesn't show it."""

    def hang(request: dict[str, Any]) -> Reply:
        is_summary = str(request["messages"][-1]["content"]).startswith("[Write a handover]")
        return StreamedReply(Hang()) if is_summary else text_reply("some words " * 1_500)

    async with ChatServer(hang) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("full")
        await rig.use_server(server, window=16_000)
        await rig.change_policy(handover_at=0.95, observe_at=0.0, observe_place_at=0.0, fold_after_steps=0)
        await run_until_a_step_waits(rig)
        waiting = rig.conversation.session.id
        await rig.wiring.workspace_controller.new_session()
        assert "waiting for the summary" not in rig.banner_text()
        await rig.wiring.workspace_controller.open_session(waiting)
        assert "waiting for the summary" in rig.banner_text()
        click(rig, "summary-wait:continue")
        await rig.wait_for_turn_end()
        assert "waiting for the summary" not in rig.banner_text()
        (made,) = rig.events(HandoverMade)
        assert (made.model, made.fallback) == (NO_MODEL, "You continued without a model.")
        await until(lambda: any(row.kind == "context" for row in rig.rows(DividerRow)), "it is said")
        await run_until_a_step_waits(rig)
        click(rig, "summary-wait:stop")
        await until(lambda: not rig.conversation.is_running, "the end of the turn")
        assert rig.events(TurnEnded)[-1].how == "stopped"
        assert "waiting for the summary" not in rig.banner_text()
        rig.conversation.handovers.cancel()
