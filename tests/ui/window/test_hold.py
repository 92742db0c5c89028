"""After an undo above the threshold: the word that the context is compacted again, and Hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.rewrite import Undone
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.ui.chat.rows.row_types import DividerRow
from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.window.buttons import find_button
from tests.support.window.window_rig import open_window, until

pytestmark = pytest.mark.qt_loop


async def test_an_undo_above_the_threshold_offers_hold(qapp: QApplication, tmp_path: Path) -> None:
    """Offered only where it comes again; gauge, menu, chat and banner say it, until it is let go."""
    async with (
        ChatServer(lambda _: text_reply("Noted. " * 300)) as server,
        open_window(qapp, tmp_path) as rig,
    ):
        await rig.open_folder("project")
        await rig.use_server(server)
        await rig.change_policy(handover_least_gain=0.0, observe_at=0.0)
        for turn in range(3):
            await rig.conversation.run(f"Message {turn} " + "with many words " * 900)
        rig.conversation.handovers.start()
        await until(lambda: rig.events(HandoverMade), "the handover")
        await rig.conversation.wait_for_background_work()
        banners, commands, gauge = rig.window.notices, rig.window.commands, rig.composer.gauge
        transcript = rig.conversation.session.transcript
        commands.undo_compaction.trigger()
        await until(lambda: not transcript.window.handover, "undone")
        assert "hold" not in banners.names(), "there is room"

        commands.redo_compaction.trigger()
        await until(lambda: transcript.window.handover, "redone")
        await rig.change_policy(handover_at=0.3)
        await rig.conversation.session.record(Undone(max(transcript.rewrites.by_seq), refused=True))
        assert not transcript.window.handover
        assert "hold" not in banners.names(), "the user undid nothing"
        commands.redo_compaction.trigger()
        await until(lambda: transcript.window.handover, "redone by the user")
        commands.undo_compaction.trigger()
        await until(lambda: "hold" in banners.names(), "the word")
        find_button(banners, "hold").click()
        await until(commands.hold_compaction.isChecked, "held")
        await until(lambda: "paused" in gauge.accessibleName(), "the sign")
        await until(lambda: "hold" in banners.names(), "the banner")

        (release,) = (action for action in gauge.actions() if action is commands.hold_compaction)
        release.trigger()
        await until(lambda: rig.events(HoldSet) == [HoldSet(), HoldSet(on=False)], "let go")
        await until(lambda: "hold" not in banners.names(), "the banner gone")
        await until(lambda: not commands.hold_compaction.isChecked(), "no longer checked")
        texts = [row.text for row in rig.rows(DividerRow)]
        assert texts[-2:] == ["Compaction paused", "Compaction resumed"]

        commands.redo_compaction.trigger()
        await until(lambda: transcript.window.handover, "redone again")
        commands.undo_compaction.trigger()
        await until(lambda: "hold" in banners.names(), "the word again")
        rig.conversation.handovers.start()
        await until(lambda: len(rig.events(HandoverMade)) > 1, "another handover")
        await until(lambda: "hold" not in banners.names(), "what was announced has happened")
