"""Images in the complete window: pasted, dropped and sent, or refused with a reason."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.image import MAX_EDGE_PX, identify_image
from helix_desktop.ui.chat.composer.attachment_chips import RemoveAttachment
from helix_desktop.ui.chat.rows.row_types import NoticeRow, UserRow
from tests.support.image_bytes import png
from tests.support.model_servers.chat_server import ChatServer, api_error, replies_in_order, text_reply
from tests.support.window.chat_geometry import action_names, press_action
from tests.support.window.drops import drop
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def test_images_are_dropped_pasted_sent_and_refused(qapp: QApplication, tmp_path: Path) -> None:
    """Each step has a session of its own; what is not sent stays in the first one's workspace."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_the_counts(rig)
        await _check_a_dropped_image(rig)
        await _check_a_large_screenshot(rig)
        await _check_a_model_without_vision(rig)
        await _check_a_model_of_which_nothing_is_known(rig)
        await _check_a_refused_image(rig)


async def _check_the_counts(rig: WindowRig) -> None:
    """A dropped image counts in the cache at once."""
    (rig.folder / "lamp.png").write_bytes(png(320, 200, 7))
    await rig.open_folder("not-sent")
    drop(rig, rig.folder / "lamp.png")
    await until(rig.attachment_labels, "the image stands above the text")
    await until(lambda: _inspector_says(rig, "In this workspace: 1 entry · "), "the inspector counts it")


async def _check_a_dropped_image(rig: WindowRig) -> None:
    """An image that was dropped is sent byte for byte."""
    data = png(320, 200, 7)
    (rig.folder / "lamp.png").write_bytes(data)
    async with ChatServer(replies_in_order(text_reply("A lamp."))) as server:
        await rig.open_folder("project")
        await rig.use_server(server, images=True)
        assert rig.attachment_labels() == []
        drop(rig, rig.folder / "lamp.png")
        await until(rig.attachment_labels, "the image stands above the text")
        assert rig.attachment_labels()[0].startswith(f"{rig.folder}/lamp.png · ")
        assert rig.composer.text() == ""
        await until(lambda: rig.attachment_chip().text_parts.thumbnail, "the chip shows it")
        rig.type_message("What is this?")
        await until(lambda: rig.events(UserSpoke), "it was sent")
        await rig.wait_for_turn_end()

        parts = server.requests[-1].json["messages"][-1]["content"]
        assert parts[0]["text"] == f"What is this?\n\n[Image: {rig.folder}/lamp.png]"
        assert base64.b64decode(parts[1]["image_url"]["url"].partition("base64,")[2]) == data
        (row,) = rig.rows(UserRow)
        assert row.attachments[0].label.startswith(f"{rig.folder}/lamp.png · ")
        await until(lambda: rig.rows(UserRow)[0].attachments[0].thumbnail, "the message shows it")
        (event,) = rig.events(UserSpoke)
        assert await rig.workspace.store.get(event.attachments[0].digest) == data
        assert rig.attachment_labels() == []


async def _check_a_large_screenshot(rig: WindowRig) -> None:
    """A large pasted screenshot is scaled down."""
    pixels = QImage(3_000, 1_500, QImage.Format.Format_RGB32)
    pixels.fill(QColor("teal"))
    async with ChatServer(replies_in_order(text_reply("Teal."))) as server:
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server, images=True)
        # Not as `QMimeData` of Python: left on the clipboard, it crashes the process at its end.
        QGuiApplication.clipboard().setImage(pixels)
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
        await until(rig.attachment_labels, "the image stands above the text")
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
        await until(lambda: rig.events(UserSpoke), "it was sent without a word")
        await rig.wait_for_turn_end()
        (event,) = rig.events(UserSpoke)
        image = event.attachments[0].image
        assert image is not None
        assert (image.width, image.height) == (MAX_EDGE_PX, MAX_EDGE_PX // 2)
        assert identify_image(await rig.workspace.store.get(image.digest), image.digest, image.label) == image


async def _check_a_model_without_vision(rig: WindowRig) -> None:
    (rig.folder / "lamp.png").write_bytes(png(32, 20))
    async with ChatServer(replies_in_order(text_reply("I cannot see it."))) as server:
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server)
        drop(rig, rig.folder / "lamp.png")
        await until(rig.attachment_labels, "the image stands above the text")
        assert rig.attachment_labels() == [f"{rig.folder}/lamp.png · images not supported: left out"]
        rig.type_message("What is this?")
        await until(lambda: rig.events(UserSpoke), "it was sent")
        await rig.wait_for_turn_end()
        assert (
            f"[Image left out: {rig.folder}/lamp.png" in server.requests[-1].json["messages"][-1]["content"]
        )
        await until(lambda: rig.rows(UserRow)[0].attachments[0].is_left_out, "the chat says so too")
        assert rig.rows(UserRow)[0].attachments[0].label == f"{rig.folder}/lamp.png · left out"


async def _check_a_model_of_which_nothing_is_known(rig: WindowRig) -> None:
    """A model that may see no images is named on the chip."""
    async with ChatServer(replies_in_order()) as server:
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server, images=None)
        drop(rig, rig.folder / "lamp.png")
        await until(rig.attachment_labels, "the image stands above the text")
        assert rig.attachment_labels()[0].endswith(" tokens · images may not be supported")
        rig.perform(RemoveAttachment(rig.attachment_chip().key))


async def _check_a_refused_image(rig: WindowRig) -> None:
    """A refused image is named and left out with a click."""
    (rig.folder / "lamp.png").write_bytes(png(320, 200, 7))
    refused = api_error(400, "Could not process image")
    async with ChatServer(replies_in_order(refused, text_reply("A lamp."))) as server:
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server, images=True)
        drop(rig, rig.folder / "lamp.png")
        await until(rig.attachment_labels, "the image stands above the text")
        rig.type_message("What is this?")
        await until(lambda: rig.rows(NoticeRow), "it was refused")
        await rig.wait_for_turn_end()
        (notice,) = rig.rows(NoticeRow)
        assert notice.what == f"box rejected an image: {rig.folder}/lamp.png."
        assert action_names(notice)[0] == "send_without_images"
        press_action(rig.chat.view, notice, "send_without_images")
        await until(lambda: len(server.requests) == 2, "it was sent again")
        await rig.wait_for_turn_end()
        assert f"Image left out: {rig.folder}/lamp.png" in server.requests[-1].json["messages"][-1]["content"]
        assert len(rig.rows(UserRow)) == 1
        assert rig.window.commands.undo_compaction.isEnabled()


def _inspector_says(rig: WindowRig, start: str) -> bool:
    return any(
        widget.accessibleName().startswith(start)
        for widget in rig.views.inspector.breakdown.findChildren(QWidget)
    )
