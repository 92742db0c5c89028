"""What goes with a message: files, images, long texts, mentions; slash commands and prompt files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.session import ModelChosen
from helix_desktop.domain.slash_command import MAX_PROMPT_BYTES
from helix_desktop.ui.chat.composer.attachment_chips import AttachmentChip, RemoveAttachment
from helix_desktop.ui.chat.composer.editor import LONG_TEXT_CHARS
from helix_desktop.ui.chat.rows.row_types import NoticeRow, UserRow, Versions
from helix_desktop.ui.design.drops import DropHint
from helix_desktop.ui.kit.intents import Recall
from helix_desktop.words.numbers import format_tokens
from tests.support.image_bytes import png
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.pdf_bytes import pdf, protected_pdf
from tests.support.window.buttons import find_child, press
from tests.support.window.chat_geometry import action_names, hit_area_point, press_action
from tests.support.window.window_rig import TIMEOUT_S, WindowRig, drop, open_window, until

pytestmark = pytest.mark.qt_loop

LOG = "".join(f"step {number}: ok\n" for number in range(1, 61))


def paste(rig: WindowRig, text: str) -> None:
    # Not as `QMimeData` of Python: left on the clipboard, it crashes the process at its end.
    QGuiApplication.clipboard().setText(text)
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)


def chips(rig: WindowRig) -> list[AttachmentChip]:
    return [chip for chip in rig.composer.findChildren(AttachmentChip) if not chip.isHidden()]


async def until_saved(rig: WindowRig, count: int) -> None:
    """Wait until the stored draft has so many attachments."""
    session_id = rig.conversation.session.id
    deadline = time.monotonic() + TIMEOUT_S
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
        labels = rig.attachment_labels()
        session_id = rig.conversation.session.id
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
        assert [note.is_outdated for note in row.attachments] == [False] * 4 + [True, False]
        _check_a_recount_keeps_versions(rig, row)
        rig.chat.view.jump_to(row.key)
        await until(lambda: row.key in rig.chat.view.chat_viewport.widget_pool.visible, "it is in sight")
        place = hit_area_point(rig.chat.view, row.key, "attachment:2")
        QTest.mouseClick(rig.chat.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
        await until(lambda: rig.window.page() == "outputs", "the outputs are in sight")
        await until(lambda: rig.views.outputs.get().table.current_digest() == sent[2].digest, "its entry")

        await rig.wiring.workspace_controller.new_session()
        await _check_a_long_paste(rig)


def _check_a_recount_keeps_versions(rig: WindowRig, row: UserRow) -> None:
    """After a report an edited message shows its other version still, and the same tokens."""
    chat = rig.wiring.chat
    versions = Versions(("other", "this"), 1)
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
    QTest.keyClick(chips(rig)[1], Qt.Key.Key_Delete)
    await until(lambda: len(chips(rig)) == 2, "the second is gone")
    QTest.keyClick(chips(rig)[0], Qt.Key.Key_Return)
    await until(lambda: rig.window.page() == "outputs", "its content is in sight")
    rig.window.show_page("chat")
    menu = chips(rig)[0].menu()
    next(action for action in menu.actions() if action.objectName() == "attachment-unpack").trigger()
    await until(lambda: len(chips(rig)) == 1, "it is text now")
    assert rig.composer.text() == LOG
    assert [chip.label.split(" · ")[1] for chip in chips(rig)] == ["61 lines"]
    paste(rig, "".join(f"{number}: another line of a long log\n" for number in range(3_000)))
    await until(lambda: len(chips(rig)) == 2, "a large one")
    assert "only first and last lines" in chips(rig)[1].label
    menu = chips(rig)[1].menu()
    next(action for action in menu.actions() if action.objectName() == "attachment-full").trigger()
    await until(lambda: "only first" not in rig.attachment_labels()[-1], "it goes along in full")
    QTest.keyClick(chips(rig)[-1], Qt.Key.Key_Delete)
    await until(lambda: len(chips(rig)) == 1, "it is gone")
    paste(rig, LOG)
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)  # at once: what is being attached goes along
    await until(lambda: rig.events(UserSpoke), "it was sent")
    assert len(rig.events(UserSpoke)[0].attachments) == 2
    await rig.wait_for_turn_end()


async def test_what_is_mentioned_recalled_pasted_and_dropped_goes_along(rig: WindowRig) -> None:
    """Each step has a session of its own; a folder that is dropped on the window is opened at the end."""
    await _check_mentions(rig)
    await _check_models_without_vision(rig)
    await _check_a_refused_image(rig)
    await _check_a_filtered_output(rig)
    await _check_dropped_text_and_links(rig)
    await _check_what_each_place_takes(rig)


async def _check_models_without_vision(rig: WindowRig) -> None:
    """One that sees no images, and one of which that is not known, is named on the chip."""
    (rig.folder / "lamp.png").write_bytes(png(32, 20))
    for images, words in (
        (False, f"{rig.folder}/lamp.png · images not supported: left out"),
        (None, " tokens · images may not be supported"),
    ):
        async with rig.answered_by(replies_in_order(), images=images):
            drop(rig, rig.folder / "lamp.png")
            await until(rig.attachment_labels, "the image stands above the text")
            assert rig.attachment_labels()[0].endswith(words)
            rig.perform(RemoveAttachment(rig.attachment_chip().key))


async def _check_a_refused_image(rig: WindowRig) -> None:
    (rig.folder / "lamp.png").write_bytes(png(320, 200, 7))
    refused = api_error(400, "Could not process image")
    async with rig.answered_by(replies_in_order(refused, text_reply("A lamp.")), images=True) as server:
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


async def _check_a_filtered_output(rig: WindowRig) -> None:
    (rig.folder / "bad.txt").write_text("bad words\n")
    refusal = api_error(400, "The prompt was filtered.", "content_filter")
    read = StreamedReply(Call("read_file", '{"path": "bad.txt"}'))
    async with rig.answered_by(replies_in_order(read, refusal, text_reply("It is empty."))) as server:
        rig.type_message("What is in bad.txt?")
        await until(lambda: rig.rows(NoticeRow), "it was refused")
        await rig.wait_for_turn_end()
        (notice,) = rig.rows(NoticeRow)
        assert notice.what == (
            "The content filter of box refused the request, perhaps for the newest output (read_file)."
        )
        assert action_names(notice)[0] == "send_without_output"
        press_action(rig.chat.view, notice, "send_without_output")
        await until(lambda: len(server.requests) == 3, "it was sent again")
        await rig.wait_for_turn_end()
        assert "bad words" not in server.requests[-1].body.decode()
        assert rig.window.commands.undo_compaction.isEnabled()


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
    left = Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    entered = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, mime, left, none)
    QGuiApplication.sendEvent(place, entered)
    return entered.isAccepted()


def drop_on(place: QWidget, mime: QMimeData) -> None:
    """Drop on a place what its program would rather move; it must not be told that it was moved."""
    left = Qt.MouseButton.LeftButton
    moves = Qt.KeyboardModifier.ShiftModifier
    dropped = QDropEvent(QPoint(5, 5), _MOVE_OR_COPY, mime, left, moves)
    dropped.setDropAction(Qt.DropAction.MoveAction)
    QGuiApplication.sendEvent(place, dropped)
    assert dropped.dropAction() is Qt.DropAction.CopyAction


def hints(places: Sequence[DropHint]) -> list[str]:
    return [hint.words for hint in places if not hint.isHidden()]


async def _check_what_each_place_takes(rig: WindowRig) -> None:
    """Folders open on the window and are listed on the composer; rows of the cache are recalled."""
    await rig.open_folder("drops")
    folder = rig.folder / "drops" / "src"
    composer = rig.composer
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
    drop_on(composer, urls(folder))
    assert hints(signs) == []
    await until(lambda: len(rig.attachment_labels()) == 1, "the list goes along")
    attached = rig.wiring.composer.attachments.current()[0]
    assert (attached.label, attached.text) == ("src/", "app.py (6 B)\n")

    rig.views.outputs.get().refresh()
    await until(lambda: rig.views.outputs.get().model.rowCount() == 2, "both are in the cache")
    model = rig.views.outputs.get().model
    row = model.index(model.row_of(digest), 3)
    assert model.flags(row) & Qt.ItemFlag.ItemIsDragEnabled
    rows = model.mimeData([row, row.siblingAtColumn(1)])
    assert rows.text() == digest
    assert enter(rig.chat, rows)
    assert hints(signs) == ["Drop to recall 1 output into the message"]
    drop_on(rig.chat, rows)
    await until(lambda: len(rig.attachment_labels()) == 2, "it is recalled")
    picture = QMimeData()
    picture.setImageData(QImage(2, 2, QImage.Format.Format_RGB32))
    assert enter(rig.chat, picture)
    drop_on(rig.chat, picture)
    await until(lambda: len(rig.attachment_labels()) == 3, "the picture goes along")
    assert "Dropped image" in rig.attachment_labels()[2]

    assert enter(rig.chat, urls(folder))
    assert hints(signs) == ["Drop to open “src” as a workspace"]
    assert enter(rig.window, urls("https://example.org/a.png"))
    assert hints(signs) == ["Only a folder can be opened here. Drop files, text and outputs on the chat."]
    drop_on(rig.window, urls("https://example.org/a.png"))
    assert enter(rig.window, QMimeData())
    assert hints(signs) == ["Only files, folders, images and text can be dropped."]
    assert enter(rig.window, urls(folder))
    QGuiApplication.sendEvent(rig.window, QDragLeaveEvent())
    assert hints(signs) == []
    await _check_an_archive(rig, signs)
    before = rig.workspace.id
    assert enter(rig.window, urls(folder))
    drop_on(rig.window, urls(folder))
    await until(lambda: rig.wiring.session.workspace_id != before, "the folder is a workspace")


async def _check_an_archive(rig: WindowRig, signs: Sequence[DropHint]) -> None:
    """One exported workspace is imported, wherever it is dropped; here it is damaged."""
    archive = rig.folder / "out.helix"
    archive.write_bytes(b"not an archive")
    for place in (rig.chat, rig.window):
        enter(place, urls(archive))
    assert hints(signs) == ["Drop to import “out.helix”"]
    drop_on(rig.window, urls(archive))
    await until(lambda: "This file can't be imported." in rig.banner_text(), "what is wrong with it")
    assert len(rig.attachment_labels()) == 3, "it isn't attached"


async def _check_dropped_text_and_links(rig: WindowRig) -> None:
    """They are copied into the message, on the chat and on the field itself."""
    await rig.wiring.workspace_controller.new_session()
    text = QMimeData()
    editor = rig.composer.editor
    text.setText("See ")
    assert enter(rig.chat, text)
    assert hints([rig.chat.drop_hint]) == ["Drop to insert the text into the message"]
    drop_on(rig.chat, text)
    assert editor.toPlainText() == "See "
    link = urls("https://example.org/a")
    assert enter(rig.chat, link)
    drop_on(rig.chat, link)
    assert editor.toPlainText() == "See https://example.org/a"
    assert enter(editor.viewport(), link)
    drop_on(editor.viewport(), link)
    assert enter(rig.chat, text)
    drop_on(rig.chat, text)
    parts = sorted(editor.toPlainText().split())
    assert parts == ["See", "See", "https://example.org/a", "https://example.org/a"], "none runs into another"
    editor.clear()
    assert enter(editor.viewport(), text)
    drop_on(editor.viewport(), text)
    assert editor.toPlainText() == "See "

    outside = rig.folder / "other" / "model.py"
    outside.parent.mkdir()
    outside.write_text("x = 1\n")
    assert enter(rig.chat, urls(outside))
    drop_on(rig.chat, urls(outside))
    await until(lambda: len(rig.attachment_labels()) == 1, "a file from outside the workspace")
    attached = rig.wiring.composer.attachments.current()[0]
    assert attached.label == str(outside), "its name alone doesn't say which file it is"


def note(rig: WindowRig) -> str:
    """Return the line below the text; empty if there is none."""
    label = find_child(rig.composer, QLabel, "composer_note")
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


async def _check_mentions(rig: WindowRig) -> None:
    """Files and cached contents are completed; what names nothing stays text; Up brings the message back."""
    async with rig.answered_by(
        replies_in_order(text_reply("Yes.")),
        "project",
        {"my notes.md": "first\nsecond\nthird\n", "other.txt": "o"},
    ) as server:
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
        limit = rig.conversation.window.message_limit
        rig.composer.set_text("word " * limit)
        most = f"tokens, at most {format_tokens(limit)} can be sent"
        await until(lambda: most in rig.composer._status.full_text(), "what is too long to be sent")
        rig.composer.set_text("")
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


PROMPT = "---\ndescription: Review a file\nargument-hint: FILE\n---\nReview $1 closely.\n!git status\n"


def _is_named(rig: WindowRig, words: str) -> bool:
    return words in rig.banner_text()


def _write_prompt(rig: WindowRig, name: str, text: str = PROMPT) -> None:
    file = Path(rig.wiring.services.registry.get(rig.workspace.id).path) / ".agents" / "commands" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


async def test_prompt_files_and_built_in_commands_are_typed(rig: WindowRig) -> None:
    async with rig.answered_by(lambda _: text_reply("Done."), "built-in") as server:
        await _check_built_in_commands(rig, server)
        await rig.open_folder("files")
        await rig.use_server(server)
        await _check_prompt_files(rig, server)
        rig.window.commands.copy_markdown.trigger()
        copied = QGuiApplication.clipboard().text()
        assert "## You · " in copied
        assert "Review src/app.py closely.\n!git status" in copied
        await _check_models(rig)


async def _check_models(rig: WindowRig) -> None:
    """Behind `/model ` the models are offered."""
    editor = rig.composer.editor
    label = rig.conversation.model.label
    rig.composer.set_text("")
    QTest.keyClicks(editor, "/model ")
    await until(lambda: titles(rig) == [label, "demo/offline", "default"], "all models")
    QTest.keyClicks(editor, "off")
    await until(lambda: titles(rig) == ["demo/offline"], "those with these letters")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert rig.composer.text() == "/model demo/offline "
    QTest.keyClick(editor, Qt.Key.Key_Return)
    await until(lambda: rig.conversation.model.demo, "the demo model")
    rig.type_message("/model default")
    await until(lambda: rig.conversation.model.label == label, "the workspace's default")
    assert rig.conversation.session.transcript.chosen_model == ""


async def _check_built_in_commands(rig: WindowRig, server: ChatServer) -> None:
    """They do what the menus do, with arguments or without.

    An unknown command is kept with the nearest name, a path is sent as text.
    """
    rig.type_message("/mode plan")
    await until(lambda: rig.conversation.mode == "plan", "mode plan")
    rig.type_message("/budget 200k $2.50")
    await until(lambda: rig.conversation.budget.limit.tokens == 200_000, "the budget")
    assert rig.conversation.budget.limit.cost == 2.5
    rig.type_message("/rename A better title")
    await until(lambda: rig.conversation.session.transcript.title == "A better title", "the title")
    rig.type_message("/model demo")
    await until(lambda: rig.events(ModelChosen), "the model")
    assert rig.events(ModelChosen)[-1].model == "demo/offline"
    rig.type_message("/cache notes")
    await until(lambda: rig.window.page() == "outputs", "the outputs")
    assert rig.views.outputs.get().filter_bar.field.text() == "notes"
    rig.window.show_page("chat")
    before = rig.conversation.session.id
    rig.type_message("/rename")
    await until(rig.window.top_bar.title.is_editing, "the title to type into")
    rig.type_message("/help")
    guide = await until(lambda: rig.window.help_windows.guide, "the guide")
    assert guide.topic == "commands"
    rig.type_message("/clear")
    await until(lambda: rig.conversation.session.id != before, "a new session")
    assert server.bodies == []

    _write_prompt(rig, "review.md")
    rig.type_message("/reviw src")
    await until(lambda: "Did you mean /review?" in rig.banner_text(), "the nearest name")
    assert rig.composer.text() == "/reviw src"
    press(rig.window.notices, "send_as_message")
    await until(lambda: rig.events(UserSpoke), "the message")
    await until(lambda: "Did you mean" not in rig.banner_text(), "no banner")
    await rig.wait_for_turn_end()
    for typed, words in (
        ("/mode loud", "isn't a mode"),
        ("/clear now", "takes no arguments"),
        ("/stop", "isn't running"),
        ("/budget x", "wasn't changed"),
        ("/model zzz", "isn't one model"),
    ):
        rig.type_message(typed)
        await until(partial(_is_named, rig, words), words)
        assert rig.composer.text() == typed
        rig.composer.set_text("")
    await rig.run_turn("/usr/bin is full")
    assert [event.text for event in rig.events(UserSpoke)] == ["/reviw src", "/usr/bin is full"]


async def _check_prompt_files(rig: WindowRig, server: ChatServer) -> None:
    """One is completed, expanded and sent, with the draft and its attachments.

    The chat shows what was sent and from which file.
    """
    _write_prompt(rig, "review.md")
    _write_prompt(rig, "large.md", "x" * (MAX_PROMPT_BYTES + 1))
    rig.type_message("/", send=False)
    await until(lambda: titles(rig)[:1] == ["/review"], "prompt files first")
    assert titles(rig)[-1] == "/large", "what can't be used comes last, with the reason"
    rig.type_message("rev", send=False)
    await until(lambda: titles(rig) == ["/review"], "the command that matches")
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_Tab)
    assert rig.composer.text() == "/review "
    await rig.run_turn("src/app.py")
    (event,) = rig.events(UserSpoke)
    assert event.text == "Review src/app.py closely.\n!git status"
    assert event.prompt is not None
    assert server.bodies[-1]["messages"][-1]["content"] == event.text
    (row,) = rig.rows(UserRow)
    assert (row.text, row.prompt) == (event.text, "/review · .agents/commands/review.md")
    await until(lambda: "nothing is run" in rig.banner_text(), "the banner")
    assert rig.composer.text() == ""
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_Up)
    assert rig.composer.text() == "/review src/app.py"
    rig.composer.set_text("")

    rig.window.commands.all_commands.trigger()
    picker = rig.window.picker
    picker.search.setText(">review")
    await until(lambda: len(picker.list_view.rows) == 2, "the prompt file below its heading")
    picker.accept(picker.list_view.rows[1].value)
    assert rig.composer.text() == "/review "
