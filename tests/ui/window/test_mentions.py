"""Files mentioned in the complete window: completed, announced below the text, sent along."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.domain.events.conversation import UserSpoke
from tests.support.model_servers.chat_server import ChatServer, replies_in_order, text_reply
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def note(rig: WindowRig) -> str:
    """Return the line below the text; empty if there is none."""
    label = rig.composer.findChild(QLabel, "composer_note")
    assert label is not None
    return label.accessibleName() if label.isVisible() else ""


def titles(rig: WindowRig) -> list[str]:
    """Return the rows of the popup; none while it is closed."""
    popup = rig.composer.completer.popup
    return [row.title for row in popup.completions] if popup is not None else []


async def read_notes(rig: WindowRig) -> None:
    """Mention a file that cannot be attached, and files in a command, which sends none."""
    (rig.folder / "project" / "tool.bin").write_bytes(b"\0" * 40)
    rig.composer.set_text("what is in @other.txt and @tool.bin")
    await until(lambda: "Couldn't attach tool.bin. It isn't text" in note(rig), "the file that is no text")
    assert "Attaches other.txt (" in note(rig)
    rig.composer.set_text("see @other")  # as if it was pasted
    expected = "No file named other (sent as text, Ctrl+Space completes a name)"
    await until(lambda: note(rig) == expected, "the name that attaches nothing")
    (rig.folder / "project" / "empty").mkdir()
    rig.composer.set_text("list @empty")
    await until(lambda: note(rig) == "Sent as text, without files: folder empty", "the folder")
    rig.composer.set_text("/btw what is in @other.txt")
    await until(lambda: note(rig) == "", "nothing: a command sends no files")


async def test_files_and_cached_contents_are_completed_and_sent_along(
    qapp: QApplication, tmp_path: Path
) -> None:
    """What names nothing stays text; Up brings the message back. One window: opening one takes a second."""
    async with ChatServer(replies_in_order(text_reply("Yes."))) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"my notes.md": "first\nsecond\nthird\n", "other.txt": "o"})
        await rig.use_server(server)
        editor = rig.composer.editor
        rig.type_message("Compare @not", send=False)
        await until(lambda: titles(rig) == ["my notes.md"], "the file")
        QTest.keyClick(editor, Qt.Key.Key_Return)
        assert rig.composer.text() == 'Compare @"my notes.md" '
        QTest.keyClick(editor, Qt.Key.Key_Backspace)
        rig.type_message(":2-3 with @gone.md", send=False)
        expected = "File not found: gone.md (sent as text) · Attaches my notes.md:2-3 (≈ "
        await until(lambda: note(rig).startswith(expected), "both files named")
        tokens = int(note(rig).removeprefix(expected).split()[0])
        text_tokens = await rig.workspace.contents.count_tokens(rig.composer.text())
        estimate = f"Message: ≈ {text_tokens + tokens + FRAMING_TOKENS} tokens"
        await until(lambda: estimate in rig.composer._status.full_text(), "the text and the file counted")
        QTest.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: rig.events(UserSpoke), "it was sent")
        assert note(rig) == ""
        await rig.wait_for_turn_end()

        (user_message,) = rig.events(UserSpoke)
        assert user_message.text == 'Compare @"my notes.md":2-3 with @gone.md'
        (part,) = user_message.attachments
        assert (part.path, part.first_line, part.last_line) == ("my notes.md", 2, 3)
        assert part.tokens == tokens
        sent = str(server.requests[-1].json["messages"][-1]["content"])
        assert "second" in sent
        assert "first" not in sent
        QTest.keyClick(editor, Qt.Key.Key_Up)
        assert rig.composer.text() == user_message.text
        QTest.keyClick(editor, Qt.Key.Key_Down)
        rig.type_message("and @", send=False)
        await until(lambda: titles(rig)[:1] == ["my notes.md"], "the file that was used last")
        rig.composer.set_text("")
        rig.type_message("what is in @other.txt:1-", send=False)
        await until(lambda: titles(rig) == ["other.txt"], "the file that is typed out")
        await read_notes(rig)
        rig.composer.set_text("")

        await rig.workspace.contents.attach_data(rig.conversation.session.id, b"login failed", "auth.log")
        session_id = rig.conversation.session.id
        for name, data in (("ports.md", b"a list"), ("newer.log", b"the ports are in use")):
            await rig.workspace.contents.attach_data(session_id, data, name)
        rig.type_message("#ports", send=False)
        await until(lambda: len(titles(rig)) == 2, "both")
        assert titles(rig)[0].endswith("ports.md"), "what is named so comes before what only has the word"
        rig.composer.set_text("")
        rig.type_message("# Heading, issue #42 and #", send=False)
        await until(lambda: len(titles(rig)) > 1, "the newest contents")
        rig.type_message('"failed login', send=False)
        await until(lambda: len(titles(rig)) == 1, "the content with these words")
        QTest.keyClick(editor, Qt.Key.Key_Tab)
        await until(rig.attachment_labels, "the content is attached")
        assert rig.composer.text() == "# Heading, issue #42 and "
        digest = part.digest
        rig.type_message(f"#{digest[:8]}", send=False)
        await until(lambda: len(titles(rig)) == 1, "the content of that digest")
