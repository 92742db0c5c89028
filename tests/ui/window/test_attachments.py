"""Files and long texts in the complete window: pasted, dropped, opened, sent, and after a restart."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.ui.chat.composer.attachment_chips import AttachmentChip
from helix_desktop.ui.chat.composer.editor import LONG_TEXT_CHARS
from helix_desktop.ui.chat.rows.row_types import UserRow, Versions
from helix_desktop.ui.kit.intents import Recall
from tests.support.image_bytes import png
from tests.support.pdf_bytes import pdf, protected_pdf
from tests.support.window.chat_geometry import hit_area_point
from tests.support.window.drops import drop
from tests.support.window.window_rig import TIMEOUT_S, WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

LOG = "".join(f"step {number}: ok\n" for number in range(1, 61))


def paste(rig: WindowRig, text: str) -> None:
    """Paste a text into the field by its key."""
    # Not as `QMimeData` of Python: left on the clipboard, it crashes the process at its end.
    QGuiApplication.clipboard().setText(text)
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)


def chips(rig: WindowRig) -> list[AttachmentChip]:
    """Return the chips above the text."""
    return [chip for chip in rig.composer.findChildren(AttachmentChip) if not chip.isHidden()]


async def until_saved(rig: WindowRig, count: int) -> None:
    """Wait until the stored draft has so many attachments."""
    session_id, deadline = rig.conversation.session.id, time.monotonic() + TIMEOUT_S
    while len((await rig.workspace.store.draft(session_id)).attachments) != count:
        assert time.monotonic() < deadline, "the draft is saved by itself"
        await asyncio.sleep(0.01)


async def test_files_of_every_kind_and_pastes_survive_a_restart_and_are_sent(
    qapp: QApplication, tmp_path: Path
) -> None:
    """What cannot be attached says why; one of the workspace is followed; chips in the chat open it."""
    outside = {"notes.txt": b"words\n", "report.pdf": pdf("Total: 42"), "lamp.png": png(64, 48, 9)}
    refused = {"broken.png": b"\0no image", "secret.pdf": protected_pdf("xyzzy")}
    for name, data in (outside | refused).items():
        (tmp_path / name).write_bytes(data)
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"app.py": "x = 1\ny = 2\n"})
        await rig.run_turn("Hello")
        await rig.wiring.session.run(Recall(rig.last_output("list_directory").digest))
        drop(rig, *(tmp_path / name for name in refused), tmp_path / "gone.txt")
        await until(lambda: "gone.txt" in rig.banner_text(), "it is said of each why")
        assert "It isn't text" in rig.banner_text()
        assert "It is protected by a password." in rig.banner_text()
        drop(rig, *(tmp_path / name for name in outside), tmp_path / "project" / "app.py")
        await until(lambda: len(chips(rig)) == 5, "the others stand above the text")
        paste(rig, LOG)
        await until(lambda: len(chips(rig)) == 6, "so does what was pasted")
        await until(lambda: rig.composer.text() == "", "and is no text")
        labels, session_id = rig.attachment_labels(), rig.conversation.session.id
        assert [label.rpartition(" · ")[0].removeprefix(f"{tmp_path}/") for label in labels[1:5]] == [
            *("notes.txt · 1 line", "report.pdf · 1 page", "lamp.png", "app.py · 2 lines")
        ]
        assert labels[5].startswith("Pasted text · 60 lines · ")
        await until_saved(rig, 6)  # not only at the end

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        await rig.wiring.workspace_controller.open_session(session_id)
        assert rig.attachment_labels() == labels
        rig.type_message("What is this?")
        await until(lambda: len(rig.events(UserSpoke)) == 2, "the message on record")
        await rig.wait_for_turn_end()
        sent = rig.events(UserSpoke)[-1].attachments
        assert [attachment.kind for attachment in sent] == ["cached", "file", "pdf", "file", "file", "paste"]
        assert [attachment.path for attachment in sent if attachment.version] == ["app.py"]
        assert await rig.workspace.store.get(sent[3].digest) == outside["lamp.png"]
        assert not await rig.workspace.store.draft(session_id)
        (tmp_path / "project" / "app.py").write_text("x = 2\n")
        await rig.run_turn("And now?")
        row = rig.rows(UserRow)[1]
        assert [bool(note.changed_since) for note in row.attachments] == [False] * 4 + [True, False]
        _check_a_recount_keeps_versions(rig, row)
        rig.chat.view.jump_to(row.key)
        await until(lambda: row.key in rig.chat.view.chat_viewport.widget_pool.visible, "it is in sight")
        place = hit_area_point(rig.chat.view, row.key, "attachment:2")
        QTest.mouseClick(rig.chat.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
        await until(lambda: rig.window.page() == "cache", "the cache is in sight")
        await until(lambda: rig.views.cache.get().table.current_digest() == sent[2].digest, "its entry")

        await rig.open_folder("pasted")
        await _check_a_long_paste(rig)


def _check_a_recount_keeps_versions(rig: WindowRig, row: UserRow) -> None:
    """After a report an edited message shows its other version still, and the same tokens."""
    chat, versions = rig.wiring.chat, Versions(("other", "this"), 1)
    chat.show_versions({row.key: versions})
    chat.recount()
    recounted = rig.rows(UserRow)[1]
    assert recounted.versions == versions
    assert recounted.attachments == row.attachments
    chat.show_versions({})


async def _check_a_long_paste(rig: WindowRig) -> None:
    """It is opened, turned into text and taken away, by keyboard; a short one stays text."""
    paste(rig, "short\n" * 3)
    assert rig.composer.text() == "short\n" * 3
    rig.composer.set_text("")
    for text in (LOG, "w" * (LONG_TEXT_CHARS + 1), LOG + "end"):
        paste(rig, text)
    await until(lambda: len(chips(rig)) == 3, "three chips")
    first, second, _ = chips(rig)
    for _ in range(3 * 3):  # each chip and its two buttons come before the text
        QTest.keyClick(rig.window.focusWidget(), Qt.Key.Key_Backtab)
    assert first.hasFocus()
    QTest.keyClick(first, Qt.Key.Key_Right)
    assert second.hasFocus()
    QTest.keyClick(second, Qt.Key.Key_Delete)
    await until(lambda: len(chips(rig)) == 2, "the second is gone")
    assert chips(rig)[1].hasFocus(), "the next one has the keyboard"
    QTest.keyClick(chips(rig)[0], Qt.Key.Key_Return)
    await until(lambda: rig.window.page() == "cache", "its content is in sight")
    rig.window.show_page("chat")
    menu = chips(rig)[0].menu()
    next(action for action in menu.actions() if action.objectName() == "attachment-unpack").trigger()
    await until(lambda: len(chips(rig)) == 1, "it is text now")
    assert rig.composer.text() == LOG
    assert [chip.label.split(" · ")[1] for chip in chips(rig)] == ["61 lines"]
    paste(rig, "".join(f"{number}: another line of a long log\n" for number in range(3_000)))
    await until(lambda: len(chips(rig)) == 2, "a large one")
    assert "preview" in chips(rig)[1].label
    menu = chips(rig)[1].menu()
    next(action for action in menu.actions() if action.objectName() == "attachment-full").trigger()
    await until(lambda: "preview" not in rig.attachment_labels()[-1], "it goes along in full")
    QTest.keyClick(chips(rig)[-1], Qt.Key.Key_Delete)
    await until(lambda: len(chips(rig)) == 1, "it is gone")
    paste(rig, LOG)
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)  # at once: what is being attached goes along
    await until(lambda: rig.events(UserSpoke), "it was sent")
    assert len(rig.events(UserSpoke)[0].attachments) == 2
    await rig.wait_for_turn_end()
