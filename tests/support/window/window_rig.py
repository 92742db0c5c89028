"""The complete window with real services in a folder of the test: real stores, real tools, used as by a user.

    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"a.txt": "words"})
        await rig.run_turn("Hello")

Tests wait for visible state, with a limit; a ChatServer lets a test delay a model's answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QObject, QPoint, Qt, QTimer, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QFrame, QLineEdit, QWidget
from shiboken6 import isValid

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.app.run import Launch, StartTargets, load_windows, reopen_windows, shut_down, wire_app
from helix_desktop.app.single_instance import SingleInstance
from helix_desktop.app.window_context import WindowContext, create_window_context
from helix_desktop.app.window_frame import build_frame, set_application_identity
from helix_desktop.app.window_state import WINDOW_STATE_FILE, WindowStateFile
from helix_desktop.config.paths import DataDir
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.ui.chat.actions import ApprovalAnswer, Decide
from helix_desktop.ui.chat.composer.attachment_chips import AttachmentChip
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, Row
from helix_desktop.ui.kit.intents import Intent
from helix_desktop.ui.settings.view import SettingsView
from helix_desktop.ui.window.controlled_window import ControlledWindow
from helix_desktop.ui.window.main_window import MainWindow, WindowPages
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, Script, StreamedReply, text_reply
from tests.support.window.buttons import find_child

TIMEOUT_S = 300.0  # only a test that fails waits for it
_POLL_INTERVAL_S = 0.01
_FRAME_INTERVAL_MS = 250
T = TypeVar("T")
W = TypeVar("W", bound=QWidget)


async def until(condition: Callable[[], T | None], description: str) -> T:
    """Run the loop until a condition is true of what is stored; raise AssertionError after TIMEOUT_S.

    Return what it found; `description` says what did not come.
    """
    started = time.monotonic()
    while _is_recording() or not (found := condition()):
        assert time.monotonic() - started < TIMEOUT_S, f"it never came to that: {description}{_waiting()}"
        await asyncio.sleep(_POLL_INTERVAL_S)
    _paint_windows()
    return found


def _is_recording() -> bool:
    """Return True while a transcript has events that are not published yet."""
    return any(task.get_name().startswith("record ") for task in asyncio.all_tasks())


async def act(action: Callable[[], object]) -> None:
    """Do what a user does, and wait for the end of all that it has started.

    A state that is waited for instead mostly comes before that end: the next action then meets the rest of
    this one, in an order that depends on how busy the machine is.
    """
    before = asyncio.all_tasks()
    action()
    if started := asyncio.all_tasks() - before:
        await asyncio.wait(started)
    _paint_windows()


def _paint_windows() -> None:
    for window in QApplication.topLevelWidgets():
        for frames in window.findChildren(_Frames, options=Qt.FindChildOption.FindDirectChildrenOnly):
            frames.paint()


class _Frames(QObject):
    """Paints a window whenever a test has waited for something, and else four times a second.

    So every state that a test waits for is painted, once. A fifth of the time went into the frames on the way
    there, of which any number came before the test went on.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._due = QTimer(self)
        self._is_painting = False
        self._due.setSingleShot(True)
        self._due.timeout.connect(self._paint_now)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let what has changed wait for the next frame."""
        if event.type() != QEvent.Type.UpdateRequest or self._is_painting:
            return False
        if not self._due.isActive():
            self._due.start(_FRAME_INTERVAL_MS)
        return True

    def paint(self) -> None:
        """Paint what has changed since the last frame."""
        if self._due.isActive():
            self._due.stop()
            self._paint_now()

    def _paint_now(self) -> None:
        self._is_painting = True
        QCoreApplication.sendEvent(self._window, QEvent(QEvent.Type.UpdateRequest))
        self._is_painting = False


def _waiting() -> str:
    """Return where each task waits, for a failure that comes only now and then."""
    lines = [""]
    for task in asyncio.all_tasks():
        frames = task.get_stack(limit=1)
        place = f"{frames[0].f_code.co_filename}:{frames[0].f_lineno}" if frames else "about to go on"
        lines.append(f"{task.get_name()}: {place}")
    return "\n  ".join(lines)


def _write_project(folder: Path, files: Mapping[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@dataclass(frozen=True, repr=False)
class WindowRig:
    """A shown window, and a user's way to find things in it."""

    context: WindowContext
    wiring: ControlledWindow
    folder: Path

    @property
    def window(self) -> MainWindow:
        return self.context.window

    @property
    def app_window(self) -> ControlledWindow:
        return self.wiring

    @property
    def views(self) -> WindowPages:
        return self.wiring.window.pages

    @property
    def chat(self) -> ChatPage:
        """Conversation and composer."""
        return self.views.chat

    @property
    def settings(self) -> SettingsView:
        return self.wiring.settings.view

    @property
    def composer(self) -> Composer:
        """Where messages are written."""
        return self.chat.composer

    @property
    def conversation(self) -> Conversation:
        return self.wiring.session.conversation

    @property
    def workspace(self) -> OpenWorkspace:
        return self.wiring.session.workspace

    async def open_folder(self, name: str, files: Mapping[str, str] | None = None) -> str:
        """Open a project with a new session; the workspace's id."""
        place = _write_project(self.folder / name, files or {})
        self.wiring.services.registry.add(place, trusted=True)
        await self.wiring.workspace_controller.open_folder(place)
        await self.wiring.workspace_controller.new_session()
        return self.workspace.id

    async def use_server(
        self,
        server: ChatServer,
        model: str = "small",
        window: int = 32_000,
        images: bool | None = False,
        titled: bool = False,
    ) -> None:
        """Let a local server's model answer in the workspace on screen."""
        entry = ModelEntry(name=model, window=window, reserve=1_000, images=images)
        await self.use_models(server, entry, titled=titled)

    async def use_models(self, server: ChatServer, *models: ModelEntry, titled: bool = False) -> None:
        """Let models of a local server answer, in the workspace on screen the first of them.

        Unless sessions are `titled`, as by default, it has no requests but those of the turns.
        """
        services = self.wiring.services
        default = models[0].name
        provider = Provider(name="box", base_url=server.base_url, models=models, default_model=default)
        settings = msgspec.structs.replace(services.settings, titles=services.settings.titles and titled)
        await services.save_settings(settings.with_provider(provider))
        await services.use_model(self.workspace.id, f"box/{default}")
        await self.wiring.session.show_model()

    @asynccontextmanager
    async def answered_by(
        self,
        script: Script,
        folder: str = "",
        files: Mapping[str, str] | None = None,
        **options: Any,
    ) -> AsyncIterator[ChatServer]:
        """Let a server answer in a new session: of a folder, or of the workspace on screen.

        The options are those of `use_server`.
        """
        async with ChatServer(script) as server:
            if folder:
                await self.open_folder(folder, files)
            else:
                await self.wiring.workspace_controller.new_session()
            await self.use_server(server, **options)
            yield server

    async def change_policy(self, **fields: object) -> None:
        """Change numbers of the workspace's policy."""
        policy = msgspec.structs.replace(self.workspace.policy, **fields)
        self.wiring.services.registry.save_policy(self.workspace.id, policy)
        self.workspace.policy = policy

    async def begin(self, name: str, files: Mapping[str, str], server: ChatServer, **policy: object) -> None:
        """Open a project with a new session, in which a server answers under a changed policy."""
        await self.open_folder(name, files)
        await self.use_server(server)
        await self.change_policy(**policy)

    def type_message(self, text: str, send: bool = True) -> None:
        """Type into the composer key by key, and press Enter."""
        QTest.keyClicks(self.composer.editor, text)
        if send:
            QTest.keyClick(self.composer.editor, Qt.Key.Key_Return)

    async def run_turn(self, text: str) -> None:
        """Type, send, and wait for the end of the turn."""
        turns = self.conversation.session.transcript.messages.turns
        self.type_message(text)
        await until(
            lambda: self.conversation.session.transcript.messages.turns > turns, "the message on record"
        )
        await self.wait_for_turn_end()

    async def wait_for_turn_end(self) -> None:
        """Wait until no turn and no handover runs, and the screens show the newest numbers.

        A message just typed is recorded first: its tokens are counted before its turn begins.
        """
        await self.wiring.windows.drafts.settle(self.workspace.id)
        await until(lambda: not self.conversation.is_running, "the end of the turn")
        await self.conversation.wait_for_background_work()
        await self.wiring.session.refresh()
        await self.wiring.sidebar.refresh()

    def rows(self, kind: type[T]) -> list[T]:
        """The chat's rows of one kind, with all that has arrived."""
        model = self.chat.model
        rows: list[Row] = [model.row(at) for at in range(len(model))]
        return [row for row in rows if isinstance(row, kind)]

    def events(self, kind: type[T]) -> list[T]:
        return [entry.event for entry in self.conversation.session.log if isinstance(entry.event, kind)]

    def last_output(self, tool: str) -> ToolAnswered:
        return [event for event in self.events(ToolAnswered) if event.name == tool][-1]

    async def stored_events(self) -> list[RecordedEvent]:
        return await self.workspace.store.events(self.conversation.session.id)

    def attachment_labels(self) -> list[str]:
        return [chip.label for chip in self._attachment_chips()]

    def attachment_chip(self) -> AttachmentChip:
        """Return the only attachment to the next message."""
        (chip,) = self._attachment_chips()
        return chip

    def _attachment_chips(self) -> list[AttachmentChip]:
        return [chip for chip in self.composer.findChildren(AttachmentChip) if not chip.isHidden()]

    def next_message_lines(self) -> tuple[str, ...]:
        """Return the lines above the composer."""
        return self.chat.next_messages.lines

    def banner_text(self) -> str:
        """Return all text of the notices on screen; of folded ones too, as they fold after a while."""
        names = self.window.notices.names()
        frames = self.window.notices.findChildren(QFrame)
        cards = [frame for frame in frames if frame.property("role") == "notice"]
        shown = [card for card in cards if not card.isHidden()]
        folded = [card for card in cards if getattr(card, "is_folded", False) and card.objectName() in names]
        return "\n".join(card.accessibleName() for card in (*shown, *folded))

    def perform(self, intent: Intent) -> None:
        """Do what a click, a key or a menu of the window would do."""
        self.window.perform(intent)

    async def dialog(self, kind: type[W]) -> W:
        """Return the dialog of a kind over the window, once it is on screen."""

        def shown() -> list[W]:
            return [dialog for dialog in self.window.findChildren(kind) if dialog.isVisible()]

        return (await until(shown, f"the {kind.__name__}"))[0]

    async def pick(self, path: Path) -> None:
        """Choose a file or folder in the dialog that comes, and accept."""
        dialog = await self.dialog(QFileDialog)
        dialog.setDirectory(str(path.parent))
        find_child(dialog, QLineEdit).setText(str(path))
        dialog.accept()
        await until(lambda: not dialog.isVisible(), "the dialog gone")

    async def answer_approval(self, decision: ApprovalAnswer, rule_index: int = 0) -> ApprovalRow:
        """Wait for a question in the chat and answer it, with one of its rules; the question."""
        await until(lambda: self.rows(ApprovalRow), "a question")
        approval_row = self.rows(ApprovalRow)[0]
        rule = approval_row.request.offered_rules[rule_index]
        self.perform(Decide(approval_row.key.call_id, decision, rule))
        await until(
            lambda: approval_row.key not in [row.key for row in self.rows(ApprovalRow)], "the question gone"
        )
        return approval_row


def calls_for_each_message(tool: str, *arguments: str) -> Script:
    """A model that calls a tool for each message of the user, then says so; # is the number of messages."""

    def script(request: dict[str, Any]) -> Reply:
        count = len(request["messages"])
        if request["messages"][-1]["role"] != "user":
            return text_reply("Ended.")
        return StreamedReply(
            *(
                Call(tool, each.replace("#", str(count)), id=f"c{place}-{count}")
                for place, each in enumerate(arguments)
            )
        )

    return script


@asynccontextmanager
async def open_window(
    app: QApplication, folder: Path, pause_s: float = 0.0, visible: bool = True
) -> AsyncIterator[WindowRig]:
    """A window over `folder`/data, ended like the app ends; opening it again is a restart.

    Each test opens its own, a tenth of the tests' CPU time. Windows that were reset for the next test saved
    about half of that, but kept the pages built before: what a test found depended on the tests before it.
    """
    set_application_identity(app)  # without it, closing the last window stops the loop
    data = DataDir(folder / "data")
    data.ensure()
    frame = build_frame(app, WindowStateFile(data.root / WINDOW_STATE_FILE))
    front = create_window_context(frame)
    _Frames(front.window)
    if visible:
        front.window.show()
    opened = wire_app(data, front, pause_s)
    if visible:
        front.window.activateWindow()
        await until(front.window.isActiveWindow, "the window in front")
    try:
        yield WindowRig(front, opened, folder)
        _paint_windows()
    finally:
        await shut_down(front, opened)
        front.window.deleteLater()
        # Else the next window's style sheet is also applied to this one's thousand widgets.
        await until(lambda: not isValid(front.window), "the window gone")
        app.setStyleSheet("")  # as of a new application: under one, a window takes longer to build


async def new_window(rig: WindowRig) -> ControlledWindow:
    """Open a window by its key; it shows a new session of the same workspace."""
    windows = rig.wiring.windows
    count = len(windows.open_windows)
    assert not rig.window.commands.new_window.autoRepeat()
    await act(rig.window.commands.new_window.trigger)
    assert len(windows.open_windows) == count + 1
    opened = windows.current
    assert isinstance(opened, ControlledWindow)
    await until(lambda: row_of(opened, opened.shown_session.session_id), "its session in its list")
    return opened


def row_of(app_window: ControlledWindow, session_id: str) -> str:
    """Return the title that a window's session list has for a session; empty if it lists none."""
    sessions = app_window.window.sidebar.session_list.sessions()
    return next((session.title for session in sessions if session.id == session_id), "")


async def restart(app: QApplication, rig: WindowRig, target: str = "") -> None:
    """Open the windows of the last run, and a launch target, as a start does."""
    data = DataDir(rig.folder / "data")
    targets = StartTargets(rig.wiring.windows, load_windows(rig.context.window_state))
    launch = Launch(data, Path(data.root / "marker"), target)
    first_task = targets.open_first(launch, SingleInstance(data.root))
    await reopen_windows(rig.wiring, targets.last_windows, first_task)


def drop(rig: WindowRig, *paths: Path) -> None:
    """Drop files on the composer."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    at = QPoint(5, 5)
    copy = Qt.DropAction.CopyAction
    drop_args = (mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    entered = QDragEnterEvent(at, copy, *drop_args)
    QGuiApplication.sendEvent(rig.composer, entered)
    assert entered.isAccepted()
    QGuiApplication.sendEvent(rig.composer, QDropEvent(at, copy, *drop_args))
