"""Approvals of what background work may read, in the real window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from helix_desktop.domain.events.summary import SECTIONS, HandoverMade, ObservationsMade
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.handover.dialog import HandoverDialog
from helix_desktop.ui.timeline.observations_view import ObservationsView
from helix_desktop.words.costs import cost_text
from tests.support.model_servers.chat_server import ChatServer, Reply, text_reply
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

SUMMARY = "\n".join(f"## {title}\n- Words about it. [e4]" for title in SECTIONS)
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
    """Click a button of a banner by its name."""
    button = rig.window.banners.findChild(QPushButton, name)
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
    await until(lambda: "Note older messages?" in rig.banner_text(), "the question")
    assert "price unknown" in rig.banner_text()
    await rig.wiring.workspace_controller.new_session()
    assert "Note older messages?" not in rig.banner_text()
    await rig.wiring.workspace_controller.session_opener.open_session(first)
    assert "Note older messages?" in rig.banner_text()
    await rig.run_turn("A word")
    assert "Note older messages?" in rig.banner_text()
    assert rig.events(ObservationsMade) == []
    click(rig, "spend-observations:allow")
    await until(lambda: "Note older messages?" not in rig.banner_text(), "no question")
    await rig.wait_for_turn_end()
    (event,) = rig.events(ObservationsMade)
    rig.window.show_page("timeline")
    expected_cost = cost_text(event.spent, event.cost)
    timeline = rig.views.timeline
    await until(lambda: timeline.findChildren(ObservationsView), "its card")
    assert expected_cost.endswith("tokens · price unknown")
    assert f"Used {expected_cost}" in [pill.text() for pill in timeline.findChildren(Pill)]


async def _check_the_dialog(rig: WindowRig, server: ChatServer) -> None:
    """It displays the cost of a handover before anything is written, and again for another end.

    The same work then needs no question.
    """
    await run_long_turns(rig, server, "refused")
    await until(lambda: "Note older messages?" in rig.banner_text(), "the question")
    click(rig, "spend-observations:refuse")
    rig.window.commands.compact_now.trigger()
    await until(lambda: rig.wiring.rewrites.handover_presenter, "the dialog")
    by_hand = rig.wiring.rewrites.handover_presenter
    assert by_hand is not None
    dialog: HandoverDialog = by_hand.dialog
    await until(lambda: dialog.estimate_label.text().startswith("Reads ≈ "), "the price")
    furthest = dialog.estimate_label.text()
    assert "tokens · price unknown" in furthest
    dialog.range_box.setCurrentIndex(dialog.range_box.count() - 1)
    price = dialog.estimate_label.text
    await until(lambda: price().startswith("Reads ≈ ") and price() != furthest, "the price of another end")
    dialog.draft_button.click()
    await until(lambda: dialog.step == "draft", "the draft")
    dialog.commit_button.click()
    await until(lambda: rig.events(HandoverMade), "the handover")
