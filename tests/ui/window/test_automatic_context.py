"""The context manages itself in the real window, with the default policy, over a real server."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.session import ErrorRaised, SpendRequestsChanged, Update
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.summary_task import fallback_rate
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
)
from helix_desktop.ui.timeline.card_data import HandoverCard
from helix_desktop.ui.timeline.from_events import build_cards
from tests.integration.whole_loop.test_automatic_context import Assistant, ask, write_files
from tests.support.model_servers.chat_server import ChatServer
from tests.support.window.window_rig import WindowRig, open_window

pytestmark = pytest.mark.qt_loop

MAX_TURNS = 40


async def run_until_all_was_written(rig: WindowRig, assistant: Assistant) -> None:
    """Run turns until there are observations, refined ones and a checkpoint, then one up to a handover."""
    conversation, turn = rig.conversation, 0
    while len({made.reflection for made in rig.events(ObservationsMade)}) < 2 or not (
        conversation.session.transcript.checkpoints
    ):
        assert turn < MAX_TURNS
        assert (await conversation.run(ask(turn))).how == "done"
        await conversation.wait_for_background_work()
        await conversation.checkpoints.wait()
        turn += 1
    assert rig.events(HandoverMade) == []
    assistant.files, assistant.steps = 1, 40
    assistant.step = assistant.steps + 1  # the next step begins a long turn
    assert (await conversation.run(ask(turn))).how == "done"
    await rig.wait_for_turn_end()
    await conversation.checkpoints.wait()


async def test_all_is_written_without_a_question_and_by_the_model(qapp: QApplication, tmp_path: Path) -> None:
    """Observations, refined ones, a checkpoint, and the handover at 85 %, which begins with that."""
    assistant, updates = Assistant(words=330, files=3, fact_words=60), list[Update]()
    async with ChatServer(assistant) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        write_files(tmp_path / "project")
        await rig.use_server(server, window=32_000)
        assert rig.workspace.policy == PROFILES["balanced"]
        rig.workspace.on(Update, lambda _, update: updates.append(update))
        await run_until_all_was_written(rig, assistant)

        assert not [update for update in updates if isinstance(update, SpendRequestsChanged | ErrorRaised)]
        assert not rig.events(HandoverFailed)
        assert not rig.events(ObservationsFailed)
        assert fallback_rate(rig.conversation.session.log).fallbacks == 0
        transcript = rig.conversation.session.transcript
        first = rig.events(HandoverMade)[0]
        assert (first.trigger, first.threshold) == (HandoverTrigger.THRESHOLD, 0.85)
        assert first.checkpoint in transcript.checkpoints
        writers = {made.model for made in rig.events(HandoverMade)}
        writers |= {made.model for made in rig.events(ObservationsMade)}
        writers |= {prepared.handover.model for prepared in transcript.checkpoints.values()}
        assert writers == {"box/small"}
        cards = [
            card
            for card in build_cards(rig.conversation.session.log, transcript)
            if isinstance(card, HandoverCard)
        ]
        assert {card.is_checkpoint for card in cards} == {True, False}
        assert all(card.event.sections for card in cards)
        assert all(0 < card.read < card.event.spent for card in cards if card.event.calls)
        assert await rig.stored_events() == rig.conversation.session.log
