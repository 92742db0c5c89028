"""What changed since a turn, in the inspector of the real window."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.inspector.changes_bar import LAST_TURN
from helix_desktop.ui.inspector.inspector_data import WindowRow
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

FILES = {"long.txt": "".join(f"line {n} of a file\n" for n in range(60))}


def rows(rig: WindowRig) -> list[WindowRow]:
    """The rows of the inspector."""
    entries = rig.views.inspector.requests.entries
    return [entries.index(at).data(Qt.ItemDataRole.UserRole) for at in range(entries.rowCount())]


async def test_the_changes_since_a_turn_are_marked_summed_and_lead_to_their_place(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Off at first, hidden in the past; each row says what became of it."""
    read = StreamedReply(Call("read_file", '{"path": "long.txt"}', id="c1"))
    replies = replies_in_order(read, text_reply("Read."), text_reply("Two."))
    async with ChatServer(replies) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", FILES)
        await rig.use_server(server)
        inspector = rig.views.inspector
        bar = inspector.changes
        await rig.run_turn("Read it")
        await until(lambda: rows(rig), "the rows of the first turn")
        assert bar.isHidden()
        await rig.run_turn("Second")
        await until(lambda: not bar.isHidden(), "the choice of a turn")
        assert [bar.turn.itemText(at) for at in range(bar.turn.count())] == [
            "Nothing", "Last turn", "Turn 2", "Turn 1",
        ]  # fmt: skip
        assert not any(row.change for row in rows(rig))

        bar.turn.setCurrentIndex(bar.turn.findData(LAST_TURN))
        await until(bar.summary.text, "the changes since the last turn")
        assert [row.name for row in rows(rig) if row.change] == ["Two."]
        output = next(row for row in rows(rig) if row.kind == "output")
        await rig.conversation.window.cache_now(output.seq)
        await until(lambda: "1 new, 1 became a marker" in bar.summary.text(), "the marker")
        marker = next(row for row in rows(rig) if row.kind == "output")
        assert marker.difference == marker.tokens - output.tokens
        at = next(at for at, row in enumerate(rows(rig)) if row.seq == output.seq)
        words = inspector.requests.entries.index(at).data(Qt.ItemDataRole.AccessibleTextRole)
        assert "Now a marker · \N{MINUS SIGN}" in words

        past, scrubber = rig.wiring.session_controller.past, rig.views.timeline.chart.scrubber
        rig.window.show_page("timeline")
        await until(lambda: len(scrubber.steps) == 3, "the steps")
        scrubber.choose(scrubber.steps[1].seq)
        await until(lambda: past.window is not None, "the past")
        await until(bar.isHidden, "no changes in the past")
        past.leave()
        await until(lambda: not bar.isHidden(), "now")

        bar.turn.setCurrentIndex(bar.turn.findData(1))
        await until(lambda: "became" not in bar.summary.text(), "the changes since turn 1")
        assert inspector.gone.isHidden()
