"""What a message brings along in the inspector: it stands in the message, and counts as the user's."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.ui.inspector.inspector_data import WindowRow
from helix_desktop.ui.kit.intents import Recall
from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

LOG = "".join(f"step {n} of the build went well\n" for n in range(80))


def _rows(rig: WindowRig) -> list[WindowRow]:
    entries = rig.views.inspector.requests.entries
    return [entries.index(at).data(Qt.ItemDataRole.UserRole) for at in range(entries.rowCount())]


def _messages(rig: WindowRig) -> list[WindowRow]:
    return [row for row in _rows(rig) if row.kind == "user"]


async def test_what_the_user_recalls_into_a_message_is_named_with_it(
    qapp: QApplication, tmp_path: Path
) -> None:
    """The request has it in the message: none of it counts as recalled, which is what the agent asked for."""
    async with ChatServer(lambda _: text_reply("Seen.")) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"a.txt": "words"})
        await rig.use_server(server)
        await rig.run_turn("Hello")
        contents = rig.workspace.contents
        for text in (LOG, LOG.upper()):
            digest = (await contents.attach_paste(rig.conversation.session.id, text)).digest
            await rig.wiring.session.run(Recall(digest))
        await until(lambda: len(rig.attachment_labels()) == 2, "the chips")
        await rig.run_turn("What is this?")
        await until(lambda: len(_messages(rig)) == 2, "its row")
        plain, attached = _messages(rig)
        assert (plain.why, attached.why) == ("Your message", "Your message, with 2 attachments")
        (_, event) = rig.events(UserSpoke)
        assert attached.tokens > sum(one.tokens for one in event.attachments) / 2
        assert not [row for row in _rows(rig) if row.kind == "recalled"]
        legend = rig.views.inspector.breakdown._legend
        assert "recalled" not in legend
        assert "that you attached" in legend["user"].toolTip()
        await rig.wiring.session.run(Recall(event.attachments[0].digest))
        await until(lambda: len(rig.attachment_labels()) == 1, "the chip")
        await rig.run_turn("And this?")
        await until(lambda: len(_messages(rig)) == 3, "its row")
        assert _messages(rig)[-1].why.startswith("Your message, with ")
