"""Workspaces and sessions exported and imported; sessions of other agents, too, with and without Helix."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QFileDialog

from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.rewrite import SweepMade, Undone
from helix_desktop.foreign.discovery import AgentFolders
from helix_desktop.main import main
from helix_desktop.ui.comparison.page import Comparison, ComparisonPage
from helix_desktop.ui.design.dialogs import ChoiceDialog, QuestionDialog
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.intents import Export, ExportUpTo, Undo
from helix_desktop.ui.window.import_export import DocumentDialog, ExportDialog
from helix_desktop.ui.workspace_dialogs.import_sessions import ImportSessionsDialog
from tests.support.model_servers.chat_server import (
    ChatServer,
    Hang,
    StreamedReply,
    Text,
    replies_in_order,
    text_reply,
)
from tests.support.part_files import part_files, reads_all
from tests.support.window.buttons import find_button, find_buttons, find_child, press, trigger
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

MAILBOX = "ann@engines.org"
PASSWORD = "st4ple-horse"


def choose(rig: WindowRig, entry: str, identity: str) -> None:
    """Choose an entry of a workspace's menu."""
    menu = rig.window.rail.menu_for(identity)
    trigger(menu, entry)
    menu.deleteLater()


async def export(rig: WindowRig, subject: str, kind: str = "") -> None:
    """Export something by the menu, in a format; none: the one that is offered first."""
    rig.window.commands.export.trigger()
    await export_as(rig, subject, kind)


async def export_as(rig: WindowRig, subject: str, kind: str = "") -> None:
    """Answer the one dialog that asks what to export, and in which format."""
    dialog = await rig.dialog(ExportDialog)
    dialog.form.write("subject", subject)
    assert dialog.form.controls["purpose"].isEnabled() == (subject == "session")
    assert dialog.form.controls["format"].isEnabled() == (subject in ("session", "outputs"))
    if subject == "session":
        assert dialog.chosen == ("session", ".html"), "for others, unless the user wants it exact"
    if kind == ".helix":
        dialog.form.write("purpose", "exact")
    elif kind:
        dialog.form.write("format", kind)
    press(dialog, "export")


async def import_archive(rig: WindowRig, path: Path, identity: str) -> None:
    """Import a file by the menu of a workspace."""
    choose(rig, "import", identity)
    press(await rig.dialog(ChoiceDialog), "file")
    await rig.pick(path)


async def test_what_was_exported_is_imported_again_and_backed_up(
    monkeypatch: pytest.MonkeyPatch, rig: WindowRig
) -> None:
    """Also while a turn runs; sessions of other agents come into the same workspaces."""
    await _check_exports_and_imports(rig)
    await _check_an_import_beside_a_turn(rig)
    await _check_sessions_of_other_agents(rig)
    await _check_a_backup(rig, monkeypatch)


async def _check_exports_and_imports(rig: WindowRig) -> None:
    """Of a workspace, of outputs, of a document and of a session."""
    await rig.open_folder("first", {"a.txt": "words"})
    await rig.run_turn("What is in this folder?")
    await rig.run_turn(f"Ask {MAILBOX}, with DB_PASSWORD={PASSWORD}")
    log = await rig.stored_events()
    session_id = rig.conversation.session.id
    await export(rig, "workspace")
    await rig.pick(rig.folder / "all")
    await until(lambda: "all.helix exported" in rig.banner_text(), "the notice")
    assert "1 session." in rig.banner_text()
    assert rig.window.jobs.isHidden()

    (rig.folder / "outputs").mkdir()
    outputs = [rig.last_output("list_directory").digest, "0" * 64]
    rig.perform(Export(digests=tuple(outputs)))
    dialog = await rig.dialog(ExportDialog)
    assert dialog.chosen == ("outputs", "folder"), "what the page named is chosen"
    press(dialog, "export")
    await rig.pick(rig.folder / "outputs")
    await until(lambda: "Saving stopped." in rig.banner_text(), "the notice")
    assert "1 entry was saved to outputs." in rig.banner_text()
    await _check_a_document(rig, rig.folder)
    rig.type_message("/export")
    await export_as(rig, "session", ".helix")
    await rig.pick(rig.folder / "session.helix")
    await until(lambda: "session.helix exported" in rig.banner_text(), "the notice")

    second = await rig.open_folder("second")
    for file in ("all.helix", "session.helix"):
        await import_archive(rig, rig.folder / file, second)
        await until(partial(_is_said, rig, f"{file} imported."), "the notice")
        assert "Sessions: 1 new." in rig.banner_text()
        assert (rig.workspace.id, rig.conversation.session.id) == (second, session_id)
        assert await rig.workspace.store.events(session_id) == log
        press(rig.window.notices, "undo")
        await until(lambda: "1 session moved to the trash." in rig.banner_text(), "the notice")
        assert session_id not in {session.id for session in await rig.workspace.sessions()}
        trash = await rig.workspace.store.retention.trash()
        assert [session.id for session in trash.sessions] == [session_id]
        await rig.workspace.store.retention.empty_trash()


def _is_said(rig: WindowRig, words: str) -> bool:
    return words in rig.banner_text()


async def _check_a_document(rig: WindowRig, folder: Path) -> None:
    """What is on screen of a session is what is saved; up to a message it is less."""
    rig.perform(ExportUpTo(2))
    sharing = await rig.dialog(DocumentDialog)
    beginning = sharing.document
    assert beginning.startswith("# What is in this folder?\n")
    sharing.reject()
    sessions = rig.window.sidebar.session_list
    menu = sessions.menu_for(sessions.index_of(rig.conversation.session.id))
    trigger(menu, "export")
    menu.deleteLater()
    await export_as(rig, "session", ".html")
    await until(lambda: len(rig.window.findChildren(DocumentDialog)) == 1, "the document of all")
    sharing = await rig.dialog(DocumentDialog)
    assert len(sharing.document) > len(beginning)
    assert len(sharing.list.items()) == 1, "the format isn't asked again"
    await _check_putting_back(sharing)
    shown = sharing.document
    assert sharing.viewer.text.toPlainText().startswith("<!doctype html>")
    press(sharing, "save")
    await rig.pick(folder / "read")
    await until(lambda: "read.html saved: " in rig.banner_text(), "the notice")
    assert (folder / "read.html").read_text(encoding="utf-8") == shown


async def _check_putting_back(sharing: DocumentDialog) -> None:
    """What was taken out is listed by kind and place; what is unchecked is in the document that is saved."""
    rows = {item.text(1): item for item in sharing.removals.items()}
    assert rows.keys() >= {MAILBOX, PASSWORD}
    assert rows[PASSWORD].text(0) == "Value of DB_PASSWORD"
    assert rows[MAILBOX].text(2) == "Your message"
    assert MAILBOX not in sharing.document
    assert PASSWORD not in sharing.document
    rows[MAILBOX].setCheckState(0, Qt.CheckState.Unchecked)
    await until(lambda: MAILBOX in sharing.document, "the mailbox back")
    await until(find_button(sharing, "save").isEnabled, "saving again")
    assert MAILBOX in sharing.viewer.text.toPlainText()
    assert PASSWORD not in sharing.document


async def _check_an_import_beside_a_turn(rig: WindowRig) -> None:
    """It stops running work only when the user agrees."""
    turns = replies_in_order(text_reply("Well."), StreamedReply(Text("I think"), Hang()))
    async with ChatServer(turns) as server:
        identity = rig.workspace.id
        await rig.wiring.workspace_controller.new_session()
        await rig.use_server(server)
        await rig.run_turn("First")
        choose(rig, "export", identity)
        await export_as(rig, "workspace")
        await rig.pick(rig.folder / "a.helix")
        await until(lambda: "a.helix exported" in rig.banner_text(), "the notice")
        rig.type_message("Second")
        await until(lambda: rig.conversation.is_running, "a turn")
        for answer, stays in (("cancel", True), ("stop", False)):
            await import_archive(rig, rig.folder / "a.helix", identity)
            press(await rig.dialog(QuestionDialog), answer)
            if stays:
                await until(lambda: not rig.window.findChildren(QuestionDialog), "the answer")
                assert rig.conversation.is_running
        await until(lambda: "a.helix imported." in rig.banner_text(), "the notice")
        assert "1 unchanged." in rig.banner_text()
        assert not rig.conversation.is_running
        assert [event.text for event in rig.events(UserSpoke)] == ["First", "Second"]


async def _check_a_backup(rig: WindowRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names what it left out, and is canceled."""
    broken = await rig.open_folder("second")
    place = rig.folder / "backups"
    place.mkdir()
    await export(rig, "all")
    await rig.pick(place)
    await until(lambda: "2 workspaces backed up" in rig.banner_text(), "the notice")
    assert "verified" in rig.banner_text()
    assert len(list(place.glob("*.helix"))) == 2
    assert rig.window.jobs.isHidden()

    await rig.wiring.services.close_workspace(broken)
    (rig.wiring.services.registry.store_folder(broken) / "format").write_text("nothing")
    (rig.wiring.services.registry.store_folder(broken) / "db" / "CURRENT").write_text("nothing")
    again = rig.folder / "again"
    again.mkdir()
    await export(rig, "all")
    await rig.pick(again)
    await until(lambda: "1 of 2 workspaces backed up" in rig.banner_text(), "the notice")
    assert "second: The workspace" in rig.banner_text()
    assert len(list(again.glob("*.helix"))) == 1

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(rig.wiring.services.backup, "back_up", never)
    await export(rig, "all")
    await rig.pick(rig.folder)
    await until(lambda: not rig.window.jobs.isHidden(), "the job")
    press(rig.window.jobs, "cancel_job")
    await until(lambda: "Backup canceled. No workspace was backed up." in rig.banner_text(), "the notice")


CLAUDE = "21a2e002-8b63-45db-8e0d-1978fe0600aa"
PI = "5f0c0c5e-6c0f-4d2c-8a3e-0f6a1f1d7c11"


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
    {"type": "session", "version": 3, "id": PI, "timestamp": "2026-01-01T09:00:00Z", "cwd": "/home/ann/api"},
    {"type": "message", "id": "a1", "parentId": None, "timestamp": "2026-01-01T09:00:01Z",
     "message": {"role": "user", "content": [{"type": "text", "text": "Rename the table"}]}},
    {"type": "message", "id": "a2", "parentId": "a1", "timestamp": "2026-01-01T09:00:02Z",
     "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "model": "m"}},
]  # fmt: skip


def fill_home(home: Path) -> None:
    """A session of Claude Code with a damaged line, and one of Pi."""
    claude = write(home / f".claude/projects/-home-ann-shop/{CLAUDE}.jsonl", TALK, '{"type": "user", "mess\n')
    pi = write(home / ".pi/agent/sessions/--home-ann-api--/2026-03-01_x.jsonl", PI_TALK)
    for path, at in ((claude, 1_772_400_000), (pi, 1_772_300_000)):
        os.utime(path, (at, at))


async def open_dialog(rig: WindowRig) -> ImportSessionsDialog:
    rig.type_message("/import")
    press(await rig.dialog(ChoiceDialog), "sessions")
    return await rig.dialog(ImportSessionsDialog)


async def search(dialog: ImportSessionsDialog, count: int) -> None:
    press(dialog, "search_computer")
    await until(lambda: len(dialog.list.items()) == count, "the sessions")


def use_home(rig: WindowRig, home: Path) -> None:
    """Let the agents' folders be in a folder of the test."""
    rig.wiring.services.foreign_sessions._folders = lambda: AgentFolders(home, {}, "linux")


async def _check_sessions_of_other_agents(rig: WindowRig) -> None:
    """Found by a search, or in a file that is chosen; again only what is new; taken back."""
    home = rig.folder / "home"
    fill_home(home)
    (rig.folder / "notes.jsonl").write_text("no session\n")
    use_home(rig, rig.folder / "nobody")
    await rig.wiring.workspace_controller.new_session()
    press(rig.chat.empty_state, "empty_link")
    dialog = await rig.dialog(ImportSessionsDialog)
    assert not dialog.list.items(), "nothing is looked for before the user asks"
    press(dialog, "search_computer")
    await until(lambda: "No sessions of other agents" in dialog.empty.sentence.text(), "the end")
    press(dialog, "choose_file")
    await rig.pick(rig.folder / "notes.jsonl")
    await until(dialog.error.isVisible, "the error")
    assert "No sessions found in" in dialog.error.text()
    press(dialog, "choose_file")
    await rig.pick(next(home.glob(".pi/**/*.jsonl")))
    await until(lambda: len(dialog.chosen()) == 1, "the session, checked")
    press(dialog, "import")
    await until(lambda: "1 session imported." in rig.banner_text(), "the notice")
    press(rig.window.notices, "undo")
    await until(lambda: "1 session moved to the trash." in rig.banner_text(), "the end of the undo")

    use_home(rig, home)
    await rig.wiring.workspace_controller.open_folder(rig.folder / "first")
    dialog = await open_dialog(rig)
    await search(dialog, 2)
    titles = ["Which port does it use?", "Rename the table"]
    assert [item.text(0) for item in dialog.list.items()] == titles
    assert [dialog.list.items()[0].text(place) for place in (1, 2)] == ["Claude Code", "shop"]
    assert not find_button(dialog, "import").isEnabled()
    QTest.keyClicks(dialog.filter, "pi api")
    assert [item.isHidden() for item in dialog.list.items()] == [True, False]
    press(dialog, "check_all")
    dialog.filter.clear()
    QTest.keyClick(dialog.list, Qt.Key.Key_Home)
    QTest.keyClick(dialog.list, Qt.Key.Key_Space)
    assert find_button(dialog, "import").text() == "Import 2 sessions"
    press(dialog, "import")
    await until(lambda: "2 sessions imported." in rig.banner_text(), "the notice")
    assert "2 records without a place here are kept as data." in rig.banner_text()
    assert "1 damaged line was skipped." in rig.banner_text()
    press(rig.window.notices, "open_imported")
    await until(lambda: [event.text for event in rig.events(UserSpoke)] == titles[:1], "the session")
    assert rig.events(AssistantSpoke)

    with (home / f".claude/projects/-home-ann-shop/{CLAUDE}.jsonl").open("a") as file:
        file.write("".join(f"{json.dumps(line)}\n" for line in MORE))
    first = rig.workspace.id
    await rig.open_folder("second")
    choose(rig, "import", first)
    press(await rig.dialog(ChoiceDialog), "sessions")
    dialog = await rig.dialog(ImportSessionsDialog)
    assert rig.workspace.id == first, "they come into the workspace whose menu it was"
    await search(dialog, 2)
    assert all(item.text(0).startswith("Imported · ") for item in dialog.list.items())
    press(dialog, "check_all")
    press(dialog, "import")
    await until(lambda: "1 continued with what is new, 1 already here." in rig.banner_text(), "the news")
    await until(lambda: len(rig.events(UserSpoke)) == 2, "the session on screen again")
    assert not find_buttons(rig.window.notices, "undo")


def _claude(steps: int) -> list[dict[str, Any]]:
    """A session of Claude Code that was compacted twice: commands, and what the user asked for."""
    records: list[dict[str, Any]] = []

    def add(role: str, content: object, **more: object) -> None:
        number = len(records) + 1
        message = {"role": role, "content": content, "model": "claude-opus-4-5", "id": f"m{number}"}
        records.append({
            "type": role, "uuid": str(number), "parentUuid": str(number - 1) if number > 1 else None,
            "sessionId": CLAUDE, "cwd": "/home/ann/shop", "version": "2.1.5",
            "timestamp": "2026-02-12T07:51:13Z", "message": message, **more,
        })  # fmt: skip

    add("user", "Never change src/legacy.py. Find what is slow.")
    for number in range(steps):
        command = f"grep -n handler_{number} src/part_{number}.py"
        add(
            "assistant",
            [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}],
        )
        lines = "\n".join(f"{line}: handler_{number} waits for row {line}" for line in range(120))
        add("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": lines}])
        if number in (steps // 2, steps - 2):
            add("system", "", subtype="compact_boundary", compactMetadata={"preTokens": 155_528})
            add("user", f"The agent read src/part_{number}.py.", isCompactSummary=True)
    add("assistant", [{"type": "text", "text": "Part 7 is slow."}])
    return records


async def _import(rig: WindowRig, home: Path) -> ComparisonPage:
    """Import the only session, and go from the notice to what survives."""
    use_home(rig, home)
    dialog = await open_dialog(rig)
    press(dialog, "search_computer")
    await until(lambda: len(dialog.list.items()) == 1, "the session")
    press(dialog, "check_all")
    press(dialog, "import")
    await until(lambda: "1 session imported." in rig.banner_text(), "the notice")
    press(rig.window.notices, "show_comparison")
    page = rig.window.pages.comparison.get()
    await until(page.report.isVisible, "the report")
    return page


async def _replayed(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert await asyncio.to_thread(main, ["replay", str(path), "--json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    return dict(file)


def _counts(file: dict[str, Any], moment: int) -> list[list[str]]:
    compared = [*(one["facts"] for one in file["compactions"]), file["at_end"]][moment]
    fields = ("total", "in_summary", "in_context", "one_call")
    return [[str(kind[field]) for field in fields] for kind in compared]


def _table(page: ComparisonPage) -> list[list[str]]:
    rows = map(page.report.facts.topLevelItem, range(page.report.facts.topLevelItemCount()))
    return [[row.text(column) for column in range(1, 5)] for row in rows if row is not None]


async def test_an_imported_session_shows_what_the_command_line_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rig: WindowRig
) -> None:
    home = tmp_path / "home"
    path = write(home / f".claude/projects/-home-ann-shop/{CLAUDE}.jsonl", _claude(60))
    await rig.open_folder("shop")
    page = await _import(rig, home)
    file = await _replayed(path, capsys)
    (comparison,) = page._results.values()
    figures = comparison.figures
    assert list(figures.managed_sizes) == file["managed_sizes"]
    assert list(figures.unmanaged_sizes) == file["unmanaged_sizes"]
    assert figures.managed.billed == file["managed"]["billed"]
    assert figures.managed.billed * comparison.price / 1_000_000 == pytest.approx(file["cost"])
    assert page.report.stats[1][1].text() == f"≈ ${file['cost']:.2f}"

    moments = find_child(page, QComboBox, "comparison_moments")
    assert [moments.itemText(at) for at in range(moments.count())] == [
        "Compaction 1", "Compaction 2", "End of session",
    ]  # fmt: skip
    for moment in range(3):
        moments.setCurrentIndex(moment)
        moments.activated.emit(moment)
        assert _table(page) == _counts(file, moment)
    total = sum(kind["total"] for kind in file["at_end"])
    assert f"Of {total} details that later steps may need, " in page.report.sentence.text()
    assert "Claude Code compacted before request" in page.report.chart.accessibleName()

    page.report.chart.compaction_clicked.emit(0)
    assert page.report.sentence.text().startswith("Compaction 1: Claude Code’s summary names ")
    rules = page.report.facts.topLevelItem(0)
    assert rules is not None
    rules.setExpanded(True)
    items = [rules.child(at) for at in range(rules.childCount())]
    assert any(item and "Never change src/legacy.py" in item.text(0) for item in items)

    place = tmp_path / "survives.png"
    monkeypatch.setattr(QFileDialog, "selectedFiles", lambda _: [str(place)])
    press(page, "save_picture")
    (await rig.dialog(QFileDialog)).accept()
    await until(lambda: "survives.png saved." in rig.banner_text(), "the picture")
    image = QImage(str(place))
    assert image.width() == 2 * 1_080
    assert image.height() > 2 * 500
    assert image.pixelColor(2, 2).name() == current_theme().canvas

    QTest.keyClick(page, Qt.Key.Key_Escape)
    assert rig.window.page() == "chat"
    assert rig.window.last_page() == "chat"


def _in_window(comparison: Comparison, window: int) -> Comparison:
    return replace(comparison, figures=replace(comparison.figures, window=window))


async def test_an_own_session_counts_what_its_model_reported(rig: WindowRig) -> None:
    """From the first request on; undo by the user, which no replay has, is said."""
    await rig.open_folder("project", part_files())
    async with reads_all() as server:
        await rig.use_server(server, window=24_000)
        await rig.run_turn("Read everything")
        log = rig.conversation.session.log
        answers = [it.event for it in log if isinstance(it.event, AssistantSpoke)]
        rig.window.commands.show_survival.trigger()
        page = rig.window.pages.comparison.get()
        await until(page.report.isVisible, "the report")
        (comparison,) = page._results.values()
        sizes = comparison.figures.managed_sizes
        sent = [answer.usage.input for answer in answers if answer.usage is not None]
        assert list(sizes) == sent
        assert sizes[0] == pytest.approx(comparison.always, rel=0.05)
        assert list(comparison.figures.unmanaged_sizes) == sorted(comparison.figures.unmanaged_sizes)
        assert "with system prompt and tools" in page.report.notes.text()
        assert "changed yourself" not in page.report.notes.text()
        assert "It reports fewer than Helix counts" in replace(comparison, always=9_000).notes
        assert "requests above 9k would fail" in _in_window(comparison, 9_000).notes

        sweep = next(it.seq for it in log if isinstance(it.event, SweepMade))
        rig.perform(Undo((sweep,)))
        await until(lambda: any(isinstance(it.event, Undone) for it in log), "the undo")
        rig.window.commands.show_chat.trigger()
        await rig.run_turn("And now?")
        rig.window.commands.show_survival.trigger()
        await until(lambda: "changed yourself" in page.report.notes.text(), "that the undo isn't replayed")
