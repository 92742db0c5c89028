"""Drops on the window and on the chat: each says beforehand what it does, or why it does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.services.attached_paths import MAX_LISTED, list_folder
from helix_desktop.ui.design.drops import DropHint
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

_MOVE_OR_COPY = Qt.DropAction.MoveAction | Qt.DropAction.CopyAction


def urls(*addresses: str | Path) -> QMimeData:
    """Return what a file manager or a browser drags."""
    mime = QMimeData()
    mime.setUrls(
        [QUrl.fromLocalFile(str(each)) if isinstance(each, Path) else QUrl(each) for each in addresses]
    )
    return mime


def enter(place: QWidget, mime: QMimeData) -> bool:
    """Drag over a place; return whether it takes that."""
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    entered = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, mime, left, none)
    QGuiApplication.sendEvent(place, entered)
    return entered.isAccepted()


def drop(place: QWidget, mime: QMimeData) -> None:
    """Drop on a place what its program would rather move; it must not be told that it was moved."""
    left, moves = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier
    dropped = QDropEvent(QPoint(5, 5), _MOVE_OR_COPY, mime, left, moves)
    dropped.setDropAction(Qt.DropAction.MoveAction)
    QGuiApplication.sendEvent(place, dropped)
    assert dropped.dropAction() is Qt.DropAction.CopyAction


def hints(places: Sequence[DropHint]) -> list[str]:
    """Return what is said of a drag now."""
    return [hint.words for hint in places if not hint.isHidden()]


async def test_each_place_takes_what_is_its_own(qapp: QApplication, tmp_path: Path) -> None:
    """Folders open on the window and are listed on the composer; rows of the cache are recalled."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        folder, composer = tmp_path / "project" / "src", rig.composer
        folder.mkdir()
        (folder / "app.py").write_text("x = 1\n")
        digest = (await rig.workspace.contents.attach_paste(rig.conversation.session.id, "a\n" * 40)).digest
        signs = (rig.chat.drop_hint, rig.window.drops.hint)
        assert enter(composer, urls(folder))
        assert hints(signs) == ["Drop to attach a list of the files in “src”"]
        file = folder / "app.py"
        for paths, words in (
            ((folder, file), "Drop to attach 1 file and the list of 1 folder"),
            ((folder, folder), "Drop to attach the lists of files in 2 folders"),
            ((file,) * 202, "Drop to attach the first 200. 2 more are too many at once."),
        ):
            assert enter(composer, urls(*paths))
            assert hints(signs) == [words]
        drop(composer, urls(folder))
        assert hints(signs) == []
        await until(lambda: len(rig.attachment_labels()) == 1, "the list goes along")
        attached = rig.wiring.composer.attachments.current()[0]
        assert (attached.label, attached.text) == ("src/", "app.py (6 B)\n")

        rig.views.cache.get().refresh()
        await until(lambda: rig.views.cache.get().model.rowCount() == 2, "both are in the cache")
        model = rig.views.cache.get().model
        row = model.index(model.row_of(digest), 3)
        assert model.flags(row) & Qt.ItemFlag.ItemIsDragEnabled
        rows = model.mimeData([row, row.siblingAtColumn(1)])
        assert rows.text() == digest
        assert enter(rig.chat, rows)
        assert hints(signs) == ["Drop to recall 1 cached output into the message"]
        drop(rig.chat, rows)
        await until(lambda: len(rig.attachment_labels()) == 2, "it is recalled")
        picture = QMimeData()
        picture.setImageData(QImage(2, 2, QImage.Format.Format_RGB32))
        assert enter(rig.chat, picture)
        drop(rig.chat, picture)
        await until(lambda: len(rig.attachment_labels()) == 3, "the picture goes along")
        assert "Dropped image" in rig.attachment_labels()[2]

        assert enter(rig.chat, urls(folder))
        assert hints(signs) == ["Drop to open “src” as a workspace"]
        assert enter(rig.window, urls("https://example.org/a.png"))
        assert hints(signs) == ["Only a folder can be opened here. Drop files, text and outputs on the chat."]
        drop(rig.window, urls("https://example.org/a.png"))
        assert enter(rig.window, QMimeData())
        assert hints(signs) == ["Only files, folders, images and text can be dropped."]
        assert enter(rig.window, urls(folder))
        QGuiApplication.sendEvent(rig.window, QDragLeaveEvent())
        assert hints(signs) == []
        await _check_an_archive(rig, signs, tmp_path)
        before = rig.workspace.id
        assert enter(rig.window, urls(folder))
        drop(rig.window, urls(folder))
        await until(lambda: rig.wiring.session.workspace_id != before, "the folder is a workspace")


async def _check_an_archive(rig: WindowRig, signs: Sequence[DropHint], folder: Path) -> None:
    """One exported workspace is imported, wherever it is dropped; here it is damaged."""
    archive = folder / "out.helix"
    archive.write_bytes(b"not an archive")
    for place in (rig.chat, rig.window):
        enter(place, urls(archive))
    assert hints(signs) == ["Drop to import “out.helix”"]
    drop(rig.window, urls(archive))
    await until(lambda: "This file can't be imported." in rig.banner_text(), "what is wrong with it")
    assert len(rig.attachment_labels()) == 3, "it isn't attached"


async def test_text_and_links_are_copied_into_the_message(qapp: QApplication, tmp_path: Path) -> None:
    """On the chat and on the field itself; the program they come from keeps its own."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        text, editor = QMimeData(), rig.composer.editor
        text.setText("See ")
        assert enter(rig.chat, text)
        assert hints([rig.chat.drop_hint]) == ["Drop to insert the text into the message"]
        drop(rig.chat, text)
        assert editor.toPlainText() == "See "
        link = urls("https://example.org/a")
        assert enter(rig.chat, link)
        drop(rig.chat, link)
        assert editor.toPlainText() == "See https://example.org/a"
        assert enter(editor.viewport(), link)
        drop(editor.viewport(), link)
        assert enter(rig.chat, text)
        drop(rig.chat, text)
        parts = sorted(editor.toPlainText().split())
        assert parts == ["See", "See", "https://example.org/a", "https://example.org/a"], (
            "none runs into another"
        )
        editor.clear()
        assert enter(editor.viewport(), text)
        drop(editor.viewport(), text)
        assert editor.toPlainText() == "See "

        outside = tmp_path / "other" / "model.py"
        outside.parent.mkdir()
        outside.write_text("x = 1\n")
        assert enter(rig.chat, urls(outside))
        drop(rig.chat, urls(outside))
        await until(lambda: len(rig.attachment_labels()) == 1, "a file from outside the workspace")
        attached = rig.wiring.composer.attachments.current()[0]
        assert attached.label == str(outside), "its name alone doesn't say which file it is"


def test_a_list_of_a_folder_is_bounded_and_follows_no_link(tmp_path: Path) -> None:
    """A loop of links ends; what package managers bring is named only."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "node_modules" / "left").mkdir(parents=True)
    assert list_folder(tmp_path).splitlines() == ["a/", "node_modules/", "a/b/", "a/b/up (link)"]
    for number in range(MAX_LISTED + 5):
        (inner / f"{number:05}").touch()
    assert len(list_folder(tmp_path).splitlines()) == MAX_LISTED + 1
