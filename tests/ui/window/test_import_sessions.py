"""Sessions of other agents are found on request, chosen and imported from the window."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit

from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.foreign.discovery import AgentFolders
from helix_desktop.ui.workspace_dialogs.import_sessions import ImportSessionsDialog
from tests.support.window.buttons import find_button, find_buttons, press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop
CLAUDE, PI = "21a2e002-8b63-45db-8e0d-1978fe0600aa", "5f0c0c5e-6c0f-4d2c-8a3e-0f6a1f1d7c11"


def write(path: Path, lines: Sequence[dict[str, Any]], tail: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + tail)
    return path


def record(uuid: str, parent: str | None, role: str, content: object) -> dict[str, Any]:
    """A record of Claude Code."""
    return {
        "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": CLAUDE, "cwd": "/home/ann/shop",
        "version": "2.1.5", "timestamp": "2026-02-12T07:51:13Z",
        "message": {"role": role, "content": content, "model": "claude-opus-4-5", "id": f"m{uuid}"},
    }  # fmt: skip


TALK = [
    record("1", None, "user", "Which port does it use?"),
    record("2", "1", "assistant", [{"type": "text", "text": "8080."}]),
    {"type": "file-history-snapshot", "snapshot": {}},
]
MORE = [
    record("3", "2", "user", "And the host?"),
    record("4", "3", "assistant", [{"type": "text", "text": "localhost."}]),
]
PI_TALK: list[dict[str, Any]] = [
    {"type": "session", "version": 3, "id": PI, "timestamp": "2026-03-01T09:00:00Z", "cwd": "/home/ann/api"},
    {"type": "message", "id": "a1", "parentId": None, "timestamp": "2026-03-01T09:00:01Z",
     "message": {"role": "user", "content": [{"type": "text", "text": "Rename the table"}]}},
    {"type": "message", "id": "a2", "parentId": "a1", "timestamp": "2026-03-01T09:00:02Z",
     "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "model": "m"}},
]  # fmt: skip


def fill_home(home: Path) -> None:
    """A session of Claude Code with a damaged line, and one of Pi."""
    claude = write(home / f".claude/projects/-home-ann-shop/{CLAUDE}.jsonl", TALK, '{"type": "user", "mess\n')
    pi = write(home / ".pi/agent/sessions/--home-ann-api--/2026-03-01_x.jsonl", PI_TALK)
    for path, at in ((claude, 1_772_400_000), (pi, 1_772_300_000)):
        os.utime(path, (at, at))


async def open_dialog(rig: WindowRig) -> ImportSessionsDialog:
    """The dialog, once it is on screen."""
    rig.window.commands.import_sessions.trigger()

    def shown() -> list[ImportSessionsDialog]:
        return [dialog for dialog in rig.window.findChildren(ImportSessionsDialog) if dialog.isVisible()]

    await until(shown, "the dialog")
    return shown()[0]


async def search(dialog: ImportSessionsDialog, count: int) -> None:
    press(dialog, "search_computer")
    await until(lambda: len(dialog.list.items()) == count, "the sessions")


def use_home(rig: WindowRig, home: Path) -> None:
    """Let the agents' folders be in a folder of the test."""
    rig.wiring.services.foreign_sessions._folders = lambda: AgentFolders(home, {}, "linux")


async def test_chosen_sessions_come_in_and_again_only_what_is_new(qapp: QApplication, tmp_path: Path) -> None:
    home = tmp_path / "home"
    fill_home(home)
    async with open_window(qapp, tmp_path) as rig:
        use_home(rig, home)
        await rig.open_folder("first")
        dialog = await open_dialog(rig)
        assert not dialog.list.items()  # nothing is looked for before the user asks
        await search(dialog, 2)
        assert [item.text(0) for item in dialog.list.items()] == [
            "Which port does it use?",
            "Rename the table",
        ]
        assert [dialog.list.items()[0].text(place) for place in (1, 2)] == ["Claude Code", "shop"]
        assert not find_button(dialog, "import").isEnabled()

        QTest.keyClicks(dialog.filter, "pi api")
        assert [item.isHidden() for item in dialog.list.items()] == [True, False]
        press(dialog, "check_all")
        dialog.filter.clear()
        QTest.keyClick(dialog.list, Qt.Key.Key_Home)
        QTest.keyClick(dialog.list, Qt.Key.Key_Space)
        assert len(dialog.chosen()) == 2
        assert find_button(dialog, "import").text() == "Import 2 sessions"
        press(dialog, "import")
        await until(lambda: "2 sessions imported." in rig.banner_text(), "the notice")
        assert "2 records without a place here are kept as data." in rig.banner_text()
        assert "1 damaged line was skipped." in rig.banner_text()
        assert not rig.window.jobs.job_ids()
        press(rig.window.notices, "open_imported")
        await until(lambda: bool(rig.events(AssistantSpoke)), "the session")
        assert [event.text for event in rig.events(UserSpoke)] == ["Which port does it use?"]

        with (home / f".claude/projects/-home-ann-shop/{CLAUDE}.jsonl").open("a") as file:
            file.write("".join(f"{json.dumps(line)}\n" for line in MORE))
        dialog = await open_dialog(rig)
        await search(dialog, 2)
        assert all(item.text(0).startswith("Imported · ") for item in dialog.list.items())
        press(dialog, "check_all")
        press(dialog, "import")
        await until(lambda: "1 continued with what is new, 1 already here." in rig.banner_text(), "the news")
        await until(lambda: len(rig.events(UserSpoke)) == 2, "the session on screen again")
        assert not find_buttons(rig.window.notices, "undo")


async def test_a_file_is_chosen_by_hand_and_what_has_no_session_says_why(
    qapp: QApplication, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    fill_home(home)
    (tmp_path / "notes.jsonl").write_text("no session\n")
    async with open_window(qapp, tmp_path) as rig:
        use_home(rig, tmp_path / "nobody")
        await rig.open_folder("first")
        press(rig.chat.empty_state, "empty_link")
        await until(lambda: rig.window.findChildren(ImportSessionsDialog), "the dialog")
        (dialog,) = rig.window.findChildren(ImportSessionsDialog)
        press(dialog, "search_computer")
        await until(
            lambda: "No sessions of other agents" in dialog.empty.sentence.text(), "the end of the search"
        )
        for path, is_found in ((tmp_path / "notes.jsonl", False), (next(home.glob(".pi/**/*.jsonl")), True)):
            press(dialog, "choose_file")
            await until(lambda: dialog.findChildren(QFileDialog), "the file dialog")
            (files,) = dialog.findChildren(QFileDialog)
            field = files.findChild(QLineEdit)
            assert field is not None
            files.setDirectory(str(path.parent))
            field.setText(str(path))
            files.accept()
            await until(lambda: not dialog.findChildren(QFileDialog), "the file dialog gone")
            if not is_found:
                await until(dialog.error.isVisible, "the error")
                assert "No sessions found in" in dialog.error.text()
        await until(lambda: len(dialog.chosen()) == 1, "the session, checked")
        press(dialog, "import")
        await until(lambda: "1 session imported." in rig.banner_text(), "the notice")
        press(rig.window.notices, "undo")
        await until(lambda: "1 session moved to the trash." in rig.banner_text(), "the end of the undo")


async def test_a_canceled_import_says_so_and_leaves_nothing_half(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    lines = [record(str(at), str(at - 1) if at else None, "user", f"Message {at}") for at in range(6_000)]
    write(home / f".claude/projects/-home-ann-shop/{CLAUDE}.jsonl", lines)
    async with open_window(qapp, tmp_path) as rig:
        use_home(rig, home)
        await rig.open_folder("first")
        before = {session.id for session in await rig.workspace.sessions()}
        dialog = await open_dialog(rig)
        await search(dialog, 1)
        press(dialog, "check_all")
        press(dialog, "import")
        await until(lambda: find_buttons(rig.window.jobs, "cancel_job"), "the job")
        press(rig.window.jobs, "cancel_job")
        await until(lambda: not rig.window.jobs.job_ids(), "the end of the job")
        assert {session.id for session in await rig.workspace.sessions()} == before
