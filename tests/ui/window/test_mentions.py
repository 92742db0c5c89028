"""Files mentioned in the complete window: completed, announced below the text, sent along."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.domain.events.session import UserSpoke
from tests.support.model_servers.chat_server import ChatServer, replies_in_order, text_reply
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def note(rig: WindowRig) -> str:
    """Return the line below the text; empty if there is none."""
    label = rig.composer.findChild(QLabel, "composer_note")
    assert label is not None
    return label.accessibleName() if label.isVisible() else ""


async def test_a_completed_file_goes_along_and_what_names_nothing_stays_text(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with (
        ChatServer(replies_in_order(text_reply("Two lines."), text_reply("I see."))) as server,
        open_window(qapp, tmp_path) as rig,
    ):
        await rig.open_folder("project", {"my notes.md": "first\nsecond\nthird\n", "other.txt": "o"})
        await rig.use_server(server)
        rig.type_message("Compare @not", send=False)
        completer = rig.composer.completer
        await until(lambda: completer.popup and completer.popup.completions, "the file")
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
        assert rig.composer.text() == 'Compare @"my notes.md" '
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Backspace)
        rig.type_message(":2-3 with @gone.md", send=False)
        await until(lambda: note(rig), "the line below the text")
        expected = "File not found: gone.md (sent as text) · Attaches my notes.md:2-3"
        await until(lambda: note(rig) == expected, "both files named")
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: rig.events(UserSpoke), "it was sent")
        assert note(rig) == ""
        await rig.wait_for_turn_end()

        (spoke,) = rig.events(UserSpoke)
        assert spoke.text == 'Compare @"my notes.md":2-3 with @gone.md'
        assert [(part.path, part.first_line, part.last_line) for part in spoke.attachments] == [
            ("my notes.md", 2, 3)
        ]
        sent = str(server.requests[-1].json["messages"][-1]["content"])
        assert "second" in sent
        assert "first" not in sent

        rig.type_message("and @", send=False)
        await until(lambda: completer.popup and completer.popup.completions, "the files")
        assert completer.popup is not None
        assert completer.popup.completions[0].title == "my notes.md", "used last"


async def test_cached_contents_are_found_by_words_and_hash_and_attached(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        for name, text in (("auth.log", "login failed for lamp"), ("ok.log", "all is well")):
            await rig.workspace.contents.attach_data(rig.conversation.session.id, text.encode(), name)
        completer = rig.composer.completer

        def titles() -> list[str]:
            return [row.title for row in completer.popup.completions] if completer.popup else []

        rig.type_message("# Heading, issue #42 and #", send=False)
        await until(lambda: len(titles()) == 2, "the newest contents")
        rig.type_message('"failed lamp', send=False)
        await until(lambda: len(titles()) == 1, "the content with these words")
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Tab)
        await until(rig.attachment_labels, "the content is attached")
        assert rig.composer.text() == "# Heading, issue #42 and "
        digest = (await rig.workspace.store.page(limit=1)).entries[0].digest
        rig.type_message(f"#{digest[:8]}", send=False)
        await until(lambda: len(titles()) == 1 and completer.popup, "the content of that hash")
        assert completer.popup is not None
        assert completer.popup.completions[0].key == digest
