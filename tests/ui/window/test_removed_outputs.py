"""An output that was removed as a secret: its card says so, and nothing leads to an entry that is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.ui.chat.actions import ToggleSection
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.viewport.interactions import menu_groups
from helix_desktop.ui.kit.intents import OpenCacheEntry, RemoveSecret
from helix_desktop.ui.window.redaction import confirmation_word
from helix_desktop.words.times import format_date
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import press
from tests.support.window.chat_geometry import click_area
from tests.support.window.redact_dialog import forget_dialog
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop
SECRET = "sk-live-Zq83hd02jfQ"


async def test_the_card_of_a_removed_output_says_when_and_leads_nowhere(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Found by its text, and named in the cache."""
    read = StreamedReply(Call("read_file", '{"path": "env.txt"}', id="r"))
    async with open_window(qapp, tmp_path) as rig:
        for folder in ("by-text", "by-entry"):
            async with ChatServer(replies_in_order(read, text_reply("Read."))) as server:
                await rig.open_folder(folder, {"env.txt": f"KEY={SECRET}\n"})
                await rig.use_server(server)
                await rig.run_turn("Look into env.txt.")
                digest = rig.events(ToolAnswered)[0].digest
                await _remove(rig, digest if folder == "by-entry" else "")
                await _check_the_card(rig)
                await _check_the_way_to_it(rig, digest)


async def _remove(rig: WindowRig, digest: str) -> None:
    if digest:
        rig.perform(RemoveSecret(digest))
    else:
        rig.window.commands.forget.trigger()
    dialog = await forget_dialog(rig)
    if not digest:
        dialog.text_input.setPlainText(SECRET)
    press(dialog, "search")
    await until(lambda: dialog.step == "found", "what was found")
    QTest.keyClicks(dialog.confirm_input, confirmation_word())
    press(dialog, "redact")
    await until(lambda: dialog.step == "done", "the end")
    press(dialog, "cancel")
    await until(lambda: rig.wiring.session.has_conversation and rig.rows(ToolRow), "the session again")


async def _check_the_card(rig: WindowRig) -> None:
    await until(lambda: rig.rows(ToolRow)[0].removed_at_ms, "the card")
    row = rig.rows(ToolRow)[0]
    assert "removed as a secret" in accessible_name(row)
    assert "in context" not in accessible_name(row)
    assert [entry.name for group in menu_groups(row) for entry in group] == []
    click_area(rig.chat.view, row.key, "open:card")
    viewport = rig.chat.view.chat_viewport
    index = viewport.model.index_of(row.key)
    assert index is not None
    await until(lambda: viewport.item(index).hit_area_for(ToggleSection), "the open card")
    item = viewport.item(index)
    words = "\n".join(text.document.toPlainText() for text in item.texts)
    assert f"You removed this output as a secret on {format_date(row.removed_at_ms)}." in words
    assert item.hit_area("cache:open") is None


async def _check_the_way_to_it(rig: WindowRig, digest: str) -> None:
    """A link of a card in the timeline still has the digest."""
    rig.perform(OpenCacheEntry(digest))
    await until(lambda: "You removed this output as a secret on" in rig.banner_text(), "the notice")
    assert rig.views.chat.isVisible(), "not a page without the entry"
