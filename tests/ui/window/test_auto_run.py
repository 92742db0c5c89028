"""What a command changed that runs by itself: the card that waits in a real window, the line, its buttons."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.tools.shell.sandbox_bwrap import find_bwrap
from helix_desktop.ui.chat.questions.question_card import QuestionCard
from helix_desktop.ui.chat.rows.row_types import QuestionRow, ToolRow
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = [
    pytest.mark.qt_loop,
    pytest.mark.skipif(find_bwrap() is None, reason="bubblewrap does not work here"),
]

PLANT = """
import pathlib, subprocess
pathlib.Path('.vscode').mkdir()
for name in ('.envrc', 'package.json', '.vscode/tasks.json'):
    pathlib.Path(name).write_text('planted')
subprocess.run(['git', 'init', '-q', 'sub'], check=True)
subprocess.run(['git', '-C', 'sub', 'config', 'core.fsmonitor', 'evil'], check=True)
"""


def _card(rig: WindowRig) -> QuestionCard | None:
    find = rig.chat.view.chat_viewport.item_cache.question_cards.find
    return next((card for row in rig.rows(QuestionRow) if (card := find(row.key)) is not None), None)


def _grab(rig: WindowRig, name: str) -> None:
    if folder := os.environ.get("HELIX_GRABS"):
        rig.window.grab().save(str(Path(folder, f"{name}.png")))


async def test_the_card_takes_back_and_the_line_restores(qapp: QApplication, tmp_path: Path) -> None:
    call = Call("run_command", json.dumps({"command": "python3 plant.py"}), id="call_1")
    server = ChatServer(replies_in_order(StreamedReply(call), text_reply("Done.")))
    async with server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"plant.py": PLANT})
        await rig.use_server(server)
        await rig.conversation.set_mode("auto")
        project = Path(rig.wiring.services.registry.get(rig.workspace.id).path)
        rig.type_message("Plant it")
        await until(lambda: _card(rig) is not None, "the card")
        card = _card(rig)
        assert card is not None
        assert [option.label for option in card.options] == ["Take back", "Keep"]
        assert card.field.isHidden()
        assert card.skip.isHidden()
        _grab(rig, "card")

        def take_back() -> bool:
            if (shown := _card(rig)) is not None:
                shown.options[0].click()
                shown.answer.click()
            return not rig.rows(QuestionRow)

        await until(take_back, "the answer")
        await rig.wait_for_turn_end()
        assert not (project / ".envrc").exists()
        (answer,) = rig.events(ToolAnswered)
        assert [change.outcome for change in answer.auto_run].count("removed") == 3
        (row,) = rig.rows(ToolRow)
        _grab(rig, "line")
        item = rig.chat.view.chat_viewport.widget_pool.visible[row.key]
        item.trigger("auto_run:0")
        await until((project / ".envrc").exists, "restored")
        await until(lambda: "restored" in rig.banner_text(), "the report")
        _grab(rig, "restored")
