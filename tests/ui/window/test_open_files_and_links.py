"""From outside: a double-clicked workspace is imported after a question, links open their target."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QAction, QFileOpenEvent, QGuiApplication
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from helix_desktop.app.early_file_events import FileOpenEvents
from helix_desktop.app.file_open_events import TargetParser, open_target
from helix_desktop.app.launch_targets import IMPORT_PREFIX
from helix_desktop.app.single_instance import SingleInstance
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.commands import OPEN_WORKSPACE, WindowCommands
from helix_desktop.ui.kit.intents import OpenCacheEntry
from tests.support.window.buttons import press, trigger
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

DIGEST = "f" * 64


def request_target(rig: WindowRig, target: str, fresh: bool = False) -> asyncio.Task[None]:
    """Request something, as another start does; the task ends when it is done, or refused in a banner."""
    return rig.context.actions.start(open_target(target, rig.wiring, fresh), "knock")


def dialog_text(dialog: QuestionDialog) -> str:
    return "\n".join(label.text() for label in dialog.findChildren(QLabel))


async def exported(rig: WindowRig, name: str = "Fern & Söhne.helix") -> Path:
    """A project with one session, as a file."""
    identity = await rig.open_folder("garden", {"a.txt": "words"})
    await rig.run_turn("What is in this folder?")
    place = rig.folder / name
    await rig.wiring.services.backup.export(identity, place)
    return place


def entry(menu: QMenu, name: str) -> None:
    trigger(menu, name)
    menu.deleteLater()


async def test_a_file_is_imported_into_the_current_workspace_after_a_question(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path / "there") as there:
        place = await exported(there)
    async with open_window(qapp, tmp_path / "here") as rig:
        identity = await rig.open_folder("shed")
        before = len(await rig.workspace.sessions())
        importing = request_target(rig, IMPORT_PREFIX + str(place))
        dialog = await rig.dialog(QuestionDialog)
        assert "Import Fern & Söhne.helix into shed?" in dialog_text(dialog)
        assert "exported from garden on" in dialog_text(dialog)
        assert "1 session and" in dialog_text(dialog)
        press(dialog, "cancel")
        await importing
        assert len(await rig.workspace.sessions()) == before

        importing = request_target(rig, IMPORT_PREFIX + str(place))
        press(await rig.dialog(QuestionDialog), "here")
        await importing
        assert "Fern & Söhne.helix imported." in rig.banner_text()
        assert rig.workspace.id == identity
        assert len(await rig.workspace.sessions()) == before + 1


async def test_a_file_finds_the_workspace_it_was_exported_from(rig: WindowRig) -> None:
    place = await exported(rig)
    garden = rig.workspace.id
    await rig.open_folder("shed")
    importing = request_target(rig, IMPORT_PREFIX + str(place))
    dialog = await rig.dialog(QuestionDialog)
    assert "into garden?" in dialog_text(dialog)
    assert "exported from this workspace" in dialog_text(dialog)
    press(dialog, "here")
    await importing
    assert "imported." in rig.banner_text()
    assert rig.wiring.session.workspace_id == garden


async def test_at_the_first_start_a_file_asks_for_a_folder(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path / "there") as there:
        place = await exported(there)
    (tmp_path / "new").mkdir()
    async with open_window(qapp, tmp_path / "here") as rig:
        importing = request_target(rig, IMPORT_PREFIX + str(place), fresh=True)
        press(await rig.dialog(QuestionDialog), "cancel")
        await importing
        assert rig.window.places.welcome.get().isVisible()
        assert not any(action.isEnabled() for action in actions_of_a_workspace(rig.window.commands))

        rig.window.commands.import_file.trigger()
        await rig.pick(place)
        press(await rig.dialog(QuestionDialog), "folder")
        await rig.pick(tmp_path / "new")
        await until(lambda: "imported." in rig.banner_text(), "the notice")
        await until(lambda: rig.wiring.session.has_conversation, "its session on screen")
        assert len(await rig.workspace.sessions()) == 1
        await until(
            lambda: all(action.isEnabled() for action in actions_of_a_workspace(rig.window.commands)),
            "commands",
        )


def actions_of_a_workspace(commands: WindowCommands) -> list[QAction]:
    return [commands.action(name) for name, own in commands.commands.items() if OPEN_WORKSPACE in own.needs]


async def test_links_lead_to_their_target_and_broken_ones_change_nothing(rig: WindowRig) -> None:
    """Links that are copied and followed, links to what is not there, files that cannot be read."""
    await _check_copied_links(rig)
    await _check_broken_links(rig)
    await _check_an_invalid_file(rig)


async def _check_an_invalid_file(rig: WindowRig) -> None:
    """An invalid file is reported without a question."""
    (rig.folder / "broken.helix").write_bytes(b"nothing")
    await rig.open_folder("shed")
    await request_target(rig, IMPORT_PREFIX + str(rig.folder / "broken.helix"))
    assert "This file can't be imported." in rig.banner_text()
    await request_target(rig, IMPORT_PREFIX + str(rig.folder / "gone.helix"))
    assert "can't be read" in rig.banner_text()
    assert not rig.window.findChildren(QuestionDialog)


async def _check_broken_links(rig: WindowRig) -> None:
    """A broken link is reported and changes nothing."""
    shed = await rig.open_folder("shed")
    for link, expected in (
        ("helix:open?workspace=0c7f6b52-0f5e-4bb4-9d1c-2f1d9f6f2a10", "isn't on this computer"),
        ("helix:run?command=rm", "This link can't be opened."),
        (f"helix:content/{DIGEST}?workspace={shed}", DIGEST[:12]),
        (f"helix:session/{'a' * 32}?workspace={shed}", "a session that isn't in shed"),
    ):
        await request_target(rig, link)
        assert expected in rig.banner_text()
    assert rig.workspace.id == shed
    assert not rig.window.findChildren(QuestionDialog)
    garden = await rig.open_folder("garden")
    await rig.wiring.workspace_controller.close_workspace(garden)
    rig.wiring.services.registry.remove(garden)
    await request_target(rig, f"helix:open?workspace={garden}")
    assert "garden, which was removed from the list" in rig.banner_text()


async def _check_copied_links(rig: WindowRig) -> None:
    clipboard = QGuiApplication.clipboard()
    garden = await rig.open_folder("garden", {"a.txt": "words"})
    await rig.run_turn("What is in this folder?")
    session_id = rig.conversation.session.id
    digest = rig.events(ToolAnswered)[0].digest
    rig.perform(OpenCacheEntry(digest))
    cache = rig.views.cache.get()
    await until(lambda: cache.table.selected_digests() == (digest,), "the entry")
    entry(cache.entry_actions.menu(cache.filter_bar), "cache-copy-link")
    to_content = clipboard.text()
    entry(
        rig.window.sidebar.session_list.menu_for(rig.window.sidebar.session_list.index_of(session_id)),
        "copy_link",
    )
    to_session = clipboard.text()
    entry(rig.window.rail.menu_for(garden), "copy_link")
    to_garden = clipboard.text()
    assert to_content == f"helix:content/{digest}?workspace={garden}"
    assert to_session == f"helix:session/{session_id}?workspace={garden}"
    assert to_garden == f"helix:open?workspace={garden}"

    await rig.open_folder("shed")
    await request_target(rig, to_garden)
    assert rig.workspace.id == garden
    await rig.open_folder("shed")
    rig.window.show_page("chat")
    await request_target(rig, to_content)
    await until(lambda: rig.window.page() == "cache", "the cache")
    await until(lambda: cache.table.current_digest() == digest, "the entry")
    await rig.wiring.workspace_controller.new_session()
    await request_target(rig, to_session)
    assert rig.conversation.session.id == session_id
    assert rig.window.page() == "chat"
    assert not rig.banner_text()


async def test_a_workspace_that_is_not_open_is_opened_after_a_question(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        garden = await rig.open_folder("garden")
        await rig.open_folder("shed")
    async with open_window(qapp, tmp_path) as rig:
        opening = request_target(rig, f"helix:open?workspace={garden}", fresh=True)
        dialog = await rig.dialog(QuestionDialog)
        assert "Open garden?" in dialog_text(dialog)
        assert rig.workspace.id != garden
        await request_target(rig, f"helix:open?workspace={garden}")  # a second one asks not next to the first
        press(dialog, "cancel")
        await opening
        assert garden not in rig.wiring.services.open_workspaces
        opening = request_target(rig, f"helix:open?workspace={garden}")
        press(await rig.dialog(QuestionDialog), "open")
        await opening
        assert rig.workspace.id == garden


async def test_the_system_hands_over_files_and_links(qapp: QApplication, tmp_path: Path) -> None:
    targets: list[str] = []
    errors: list[HelixError] = []
    events = FileOpenEvents(qapp)
    assert events.pass_to(TargetParser(targets.append, errors.append).handle) == []
    (tmp_path / "a b.helix").touch()
    for event in (
        QFileOpenEvent(str(tmp_path / "a b.helix")),
        QFileOpenEvent(QUrl("helix:open?workspace=x")),
        QFileOpenEvent(str(tmp_path / "gone.helix")),
    ):
        QCoreApplication.sendEvent(qapp, event)
    qapp.removeEventFilter(events)
    assert targets == [f"{IMPORT_PREFIX}{tmp_path / 'a b.helix'}", "helix:open?workspace=x"]
    assert ["File not found" in error.what for error in errors] == [True]


async def test_files_opened_before_the_first_frame_are_queued(qapp: QApplication, tmp_path: Path) -> None:
    events = FileOpenEvents(qapp)
    good, second = tmp_path / "a b.helix", tmp_path / "c.helix"
    good.touch()
    second.touch()
    for path in (tmp_path / "gone.helix", good, second):
        QCoreApplication.sendEvent(qapp, QFileOpenEvent(str(path)))
    opened: list[str] = []
    errors: list[HelixError] = []
    openings = TargetParser(opened.append, errors.append)
    targets = events.pass_to(openings.handle)
    qapp.removeEventFilter(events)
    assert openings.first_target(targets) == f"{IMPORT_PREFIX}{good}"
    assert targets == [str(second)]
    assert ["File not found" in error.what for error in errors] == [True]
    assert openings.first_target([]) == ""
    openings.handle(targets[0])
    assert opened == [f"{IMPORT_PREFIX}{second}"]


WAIT_MS = 10_000


@pytest.fixture
def owner(qapp: QApplication, tmp_path: Path) -> Iterator[SingleInstance]:
    instance = SingleInstance(tmp_path)
    assert instance.claim()
    yield instance
    instance.close()
    qapp.processEvents()


@pytest.fixture
def start(qapp: QApplication, owner: SingleInstance) -> Iterator[QLocalSocket]:
    """Another start that has connected, and that the owner has noticed."""
    socket = QLocalSocket()
    socket.connectToServer(owner.server_name)
    assert socket.waitForConnected(WAIT_MS)
    qapp.processEvents()
    yield socket
    socket.abort()


@pytest.mark.parametrize("is_closing", [False, True])
def test_a_start_is_acknowledged_only_by_a_window_that_stays(
    qapp: QApplication, owner: SingleInstance, start: QLocalSocket, is_closing: bool
) -> None:
    targets: list[str] = []
    owner.activated.connect(targets.append)
    if is_closing:
        owner.stop_listening()
    start.write(b"/a/folder\n\n")
    assert start.waitForBytesWritten(WAIT_MS)
    for _ in range(100):
        qapp.processEvents()
        if start.waitForReadyRead(20) or start.state() == QLocalSocket.LocalSocketState.UnconnectedState:
            break
    acknowledged = bytes(start.readAll().data())
    assert (acknowledged, targets) == ((b"", []) if is_closing else (b"ok\n", ["/a/folder"]))
    assert (start.state() == QLocalSocket.LocalSocketState.UnconnectedState) is is_closing
