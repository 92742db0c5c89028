"""A long session is replayed before its policy page is opened, and what came out is there after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded, UserSpoke
from helix_desktop.replay.policy.session_replays import FOLDER, STORED_FROM
from tests.support.scripted_replays import ScriptedReplays
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def _go_on(conversation: Conversation, turns: int) -> None:
    """Record further turns of a session."""
    turn = UserSpoke("Go on.", 5), AssistantSpoke("Done.", "test/small", 5), TurnEnded("done")
    await conversation.session.record(*turn * turns)


def _use(rig: WindowRig, replays: ScriptedReplays) -> None:
    settings = rig.wiring.settings
    settings.replays.create_worker = lambda: replays
    settings.preparation.quiet_timer.setInterval(0)


async def test_a_long_session_is_replayed_ahead_and_stored(qapp: QApplication, tmp_path: Path) -> None:
    replays, profiles = ScriptedReplays(), set(PROFILES.values())
    async with open_window(qapp, tmp_path) as rig:
        _use(rig, replays)
        workspace_id = await rig.open_folder("project")
        folder = rig.wiring.services.registry.data_folder(workspace_id) / FOLDER
        await rig.run_turn("Begin.")
        await _go_on(rig.conversation, STORED_FROM // 6)
        assert not replays.policies, "a short one is replayed fast enough"

        await _go_on(rig.conversation, STORED_FROM // 3)
        await until(lambda: replays.policies, "the first policy")
        await rig.wiring.settings.show("policy")
        rig.settings.policy.replay.head.click()
        card = rig.settings.policy.replay_card
        await until(lambda: "Approximate" in card.status.text(), "the page's own replay")
        assert not folder.exists()
        rig.window.leave_settings()
        replays.go.set()
        await until(folder.exists, "what is stored")
        assert set(replays.policies) == profiles
        (stored,) = folder.iterdir()
        first = stored.read_bytes()

        await _go_on(rig.conversation, 1)
        await until(lambda: stored.read_bytes() != first, "what is stored of the longer session")

    again = ScriptedReplays()
    again.fails = True
    async with open_window(qapp, tmp_path) as rig:
        _use(rig, again)
        await rig.wiring.workspace_controller.open_folder(tmp_path / "project")
        await until(lambda: rig.wiring.session.has_conversation, "the session")
        await rig.wiring.settings.show("policy")
        rig.settings.policy.replay.head.click()
        card = rig.settings.policy.replay_card
        await until(lambda: "≈" not in card.chart.text_at(QPointF(card.chart.width() / 2, 5)), "the picture")
        await rig.conversation.choose_policy(PROFILES["lean"])  # what is recorded changes no replay
        for name in PROFILES:
            rig.settings.policy.slider.profile_selected.emit(name)
            await until(lambda: card.status.isHidden() and card.chart.isVisible(), f"{name}, exact")
        assert again.loads, "for other values"
        assert not again.policies, "each of the profiles was read"
        rig.window.leave_settings()
