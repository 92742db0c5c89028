"""Pages, dialogs and menus of the real window, each opened for a test of accessibility, and closed again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, QPoint, Qt, QUrl, Slot
from PySide6.QtGui import QAction, QContextMenuEvent, QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QPushButton, QWidget

from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.cost import CostEstimate, SpendRequest
from helix_desktop.domain.errors import HelixError, ImagesRejected
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded, TurnRetried
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec
from helix_desktop.domain.todo import TODO, TodoItem
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.foreign.discovery import FoundSession
from helix_desktop.foreign.sources import Source
from helix_desktop.services.mcp_config import ServerDraft
from helix_desktop.ui.chat.rows.row_types import (
    AssistantRow,
    NoticeRow,
    Row,
    UserRow,
)
from helix_desktop.ui.chat.rows.rows_from_events import TurnEnds
from helix_desktop.ui.chat.session_notices import spend_notice
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.viewer.content_viewer import TextsDialog
from helix_desktop.ui.kit.intents import ExportUpTo, ImportSessions
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.settings.view import SettingsPage
from helix_desktop.ui.timeline.page import TimelineState
from helix_desktop.ui.window.main_window import CenterPage
from helix_desktop.ui.window.notifications import Tray
from helix_desktop.ui.window.picker import Picker
from helix_desktop.ui.window.quit import RecoverySummary, report_crash
from helix_desktop.ui.window.status_lines import JobAction, JobRow
from helix_desktop.ui.workspace_dialogs.import_sessions import ImportSessionsDialog
from tests.support.galleries import changes_samples
from tests.support.galleries.chat_gallery import rows_of_all_kinds, rows_of_subagents, server_question_rows
from tests.support.galleries.panes_samples import long_timeline_state, quiet_timeline_state
from tests.support.mcp.authorization_server import serve_guarded
from tests.support.model_servers.chat_server import ChatServer, api_error
from tests.support.window.chat_geometry import action_names, attachment_note, row_key, tool_row
from tests.support.window.chips import sample_chip
from tests.support.window.window_rig import WindowRig, until

_PAGES: tuple[SettingsPage, ...] = (
    "providers", "roles", "appearance", "instructions", "policy", "permissions", "mcp", "data", "about",
)  # fmt: skip

Scene = Callable[[WindowRig], AbstractAsyncContextManager[QWidget]]


@asynccontextmanager
async def _center_page(rig: WindowRig, place: CenterPage) -> AsyncIterator[QWidget]:
    rig.window.places.missing.get().show_workspace("", "project", "/home/user/project")
    rig.window.show_center_page(place)
    yield rig.window
    rig.window.show_center_page("work")


@asynccontextmanager
async def _page(rig: WindowRig, page: str) -> AsyncIterator[QWidget]:
    rig.window.show_page(page)
    await rig.wiring.session.refresh()
    yield rig.window
    rig.window.show_page("chat")


@asynccontextmanager
async def _rows(rig: WindowRig, above: float) -> AsyncIterator[QWidget]:
    """Every kind of row; `above` is the part of the conversation that is scrolled away."""
    async with _chat_rows(rig, [*rows_of_all_kinds(), *rows_of_subagents()], above) as window:
        yield window


@asynccontextmanager
async def _chat_rows(rig: WindowRig, rows: list[Row], above: float = 0.0) -> AsyncIterator[QWidget]:
    rig.chat.model.reset(rows)
    viewport = rig.chat.view.chat_viewport
    viewport.set_following(False)
    viewport.scroll_layout.scroll_to(viewport.scroll_layout.heights.total * above)
    viewport.refresh()
    rig.composer.editor.setFocus()
    yield rig.window
    viewport.go_to_end()


@asynccontextmanager
async def _find(rig: WindowRig, page: str) -> AsyncIterator[QWidget]:
    rig.window.show_page(page)
    rig.window.commands.find.trigger()
    if page == "chat":
        QTest.keyClicks(rig.chat.find_bar.field, "the")
        await until(lambda: " of " in rig.chat.find_bar.count.text, "which hit is shown")
    yield rig.window
    QTest.keyClick(QApplication.focusWidget() or rig.window, Qt.Key.Key_Escape)
    rig.window.show_page("chat")


@asynccontextmanager
async def _completions(rig: WindowRig) -> AsyncIterator[QWidget]:
    """Files offered while a message is typed."""
    rig.window.show_page("chat")
    rig.composer.editor.setFocus()
    rig.type_message("@", send=False)
    completer = rig.composer.completer
    await until(lambda: completer.popup and completer.popup.completions, "the files")
    yield rig.window
    rig.composer.set_text("")


@asynccontextmanager
async def _find_in_content(rig: WindowRig) -> AsyncIterator[QWidget]:
    async with _page(rig, "outputs") as window:
        outputs = rig.views.outputs.get()
        outputs.table.select_row(0)
        content = outputs.preview.content
        await until(content.text.toPlainText, "the content")
        content.open_find()
        QTest.keyClicks(content.find_bar.field, "e")
        await until(lambda: " of " in content.find_bar.count.text, "which hit is shown")
        yield window
        content.find_bar.field.clear()
        content.find_bar.close_bar()


@asynccontextmanager
async def _extras(rig: WindowRig) -> AsyncIterator[QWidget]:
    """Show what may surround a conversation: notices, jobs, attachments."""
    answer = Answer("Try again", lambda: None, "again")
    notices = rig.window.notices
    names = notices.names()
    notices.notify(Notice("b", "It broke.", "Why.", "What to do.", (answer,), "error"))
    estimate = CostEstimate(240_000, 0.72, 3, "box/small")
    request = SpendRequest("observations", estimate)
    notices.notify(spend_notice(request, rig.conversation.answer_spend_request))
    report_crash(rig.window, rig.context.actions, lambda: "", rig.folder, RecoverySummary(1, 2, 1))
    rig.window.jobs.show_jobs((JobRow("j", "Backing up", 0.4, JobAction("cancel", str)),), "extras")
    rig.composer.set_attachments((sample_chip("a.png", "1k tokens"),))
    rig.composer.set_text("words")
    yield rig.window
    for name in set(notices.names()) - {*names, "b"}:
        notices.end(name)
    rig.composer.set_text("")
    rig.composer.set_attachments(())
    rig.window.jobs.show_jobs((), "extras")


@asynccontextmanager
async def _running_turn(rig: WindowRig, stopped: bool = False) -> AsyncIterator[QWidget]:
    """A turn that waits for a busy server: a countdown, the list to do, waiting messages, a missing key."""
    services = rig.wiring.services
    session_id = rig.conversation.session.id
    settings = services.settings
    busy = api_error(503, "Restarting", headers={"retry-after": "600"})
    async with ChatServer(lambda _: busy) as server:
        model = ModelEntry(name="small")
        provider = Provider(name="box", base_url=server.base_url, models=(model,), default_model="small")
        with_key = msgspec.structs.replace(settings.with_provider(provider), run_keys=("box",))
        await services.save_settings(with_key)
        await rig.wiring.workspace_controller.new_session()
        await rig.workspace.choose_model(rig.conversation.session.id, "box/small")
        await rig.wiring.session.show_model()
        await until(rig.chat.key_strip.isVisible, "the notice that the key is missing")
        rig.type_message("Count to three")
        await until(
            lambda: any("try_now" in action_names(row) for row in rig.rows(NoticeRow)), "the countdown"
        )
        for text in ("Then run the tests", "And tell me how it went"):
            rig.type_message(text)
        await until(lambda: len(rig.chat.next_messages.waiting) > 1, "the messages that wait")
        later = (TodoItem(f"Count to {number}") for number in range(4, 14))
        items = (TodoItem("Look", "done"), TodoItem("Count to three", "in_progress"), *later)
        rig.chat.model.append(tool_row("todo", TODO, arguments={"items": msgspec.to_builtins(items)}))
        rig.type_message("And more", send=False)
        if stopped:
            await rig.conversation.stop()
            await rig.wait_for_turn_end()
        yield rig.window
        rig.composer.set_text("")
        await rig.conversation.stop()
        await rig.wait_for_turn_end()
        await rig.wiring.workspace_controller.open_session(session_id)
        await services.save_settings(settings)


class _FakeTray(Tray):
    """A tray that is there, and never used."""

    def is_available(self) -> bool:
        return True

    def hide_window(self) -> None:
        """Do nothing."""


@asynccontextmanager
async def _quit_question(rig: WindowRig) -> AsyncIterator[QWidget]:
    """The question before a turn that runs is stopped."""
    original_tray = rig.wiring.quit_controller.tray
    rig.wiring.quit_controller.tray = _FakeTray(rig.window)
    async with _running_turn(rig):
        rig.window.close()
        dialog = await _wait_for_dialog("the question")
        yield dialog
        dialog.close()
        await until(lambda: _front_dialog() is None, "the end of the question")
    rig.wiring.quit_controller.tray = original_tray


def _turn_ends() -> list[Row]:
    """Two attempts that were retried, and a turn that ended because the server refused an image."""
    ends = TurnEnds()
    rows: list[Row] = [
        UserRow(row_key("u"), "What is on the picture?", attachments=(attachment_note("lamp.png", 120),))
    ]
    for seq in (3, 7):
        response = AssistantSpoke("It shows", "box/small", 2)
        answer = AssistantRow(row_key(f"a{seq}"), response.text, model="small")
        ends.on_answer(RecordedEvent(seq, 0, response), response, answer)
        failed = TurnEnded("failed", "The connection was lost.", "The server closed it.")
        ends.on_turn_event(RecordedEvent(seq + 1, 0, failed), failed)
        retried = TurnRetried(seq + 1, seq - 1)
        rows += ends.on_turn_event(RecordedEvent(seq + 2, 0, retried), retried)
    what = "box refused an image: lamp.png."
    fix = "Send without it, or choose another model."
    image = TurnEnded(
        "failed", what, "image is too large", fix, "image", (1,), "box/small", ImagesRejected.remedies
    )
    return [*rows, *ends.on_turn_event(RecordedEvent(12, 0, image), image)]


@asynccontextmanager
async def _retried_attempts(rig: WindowRig) -> AsyncIterator[QWidget]:
    """How turns end; the second attempt is opened."""
    rows = _turn_ends()
    async with _chat_rows(rig, rows) as window:
        rig.chat.view.chat_viewport.item_cache.toggle(rows[2].key, "details")
        rig.chat.view.chat_viewport.refresh()
        yield window


@asynccontextmanager
async def _timeline(rig: WindowRig, state: Callable[[], TimelineState]) -> AsyncIterator[QWidget]:
    rig.views.timeline.get().set_state(state())
    async with _page(rig, "timeline") as window:
        rig.views.timeline.get().set_state(state())
        yield window


@asynccontextmanager
async def _changes(rig: WindowRig) -> AsyncIterator[QWidget]:
    """Every kind of change, with a diff."""
    page = rig.views.changes.get()
    async with _page(rig, "changes") as window:
        await page.refresh()
        changes_samples.show_sample_diffs(page)
        page.set_state(changes_samples.changes_state())
        page.list.setCurrentIndex(page.list.row_model.index(1))
        yield window


@asynccontextmanager
async def _new_server(rig: WindowRig) -> AsyncIterator[QWidget]:
    async with _settings(rig, "mcp") as dialog:
        rig.settings.mcp.open_add()
        yield dialog


@asynccontextmanager
async def _server_question(rig: WindowRig, number: int) -> AsyncIterator[QWidget]:
    """A form of an MCP server, or its page to open."""
    async with _chat_rows(rig, [server_question_rows()[number]]) as window:
        yield window
        rig.chat.model.reset([])


@asynccontextmanager
async def _offered_servers(rig: WindowRig) -> AsyncIterator[QWidget]:
    """Servers of another program, one with a placeholder, one with a value to ask for; and one refused."""
    servers = {
        "issues": {"command": "npx", "args": ["-y", "issues", "${PROJECT}"], "env": {"API_KEY": "abc"}},
        "files": {"command": "npx", "args": ["-y", "files"]},
        "notes": {"args": []},
    }
    file = Path(rig.wiring.services.registry.get(rig.workspace.id).path) / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    async with _settings(rig, "mcp") as dialog:
        offers = rig.settings.mcp.foreign_servers
        await until(offers.isVisible, "the servers of other programs")
        offers.toggle.setChecked(True)
        yield dialog
        offers.toggle.setChecked(False)
    file.unlink()


class _Browser(QObject):
    """Opens no address, in place of the system's browser."""

    @Slot(QUrl)
    def visit(self, url: QUrl) -> None:
        """Do nothing."""


@asynccontextmanager
async def _sign_in(rig: WindowRig, is_started: bool) -> AsyncIterator[QWidget]:
    """A server that asks for a sign-in; once it `is_started`, the browser is awaited."""
    servers = rig.wiring.services.mcp_servers
    browser = _Browser()
    async with serve_guarded() as server, _settings(rig, "mcp") as dialog:
        config = McpServerConfig(name="tracker", url=f"http://{server.host}/mcp")
        await servers.add(rig.workspace.id, [ServerDraft(config)])
        page = rig.settings.mcp
        await until(lambda: [row for row in page.rows.values() if row.sign_in.isVisible()], "the sign-in")
        box = page.rows["tracker"].sign_in
        if is_started:
            QDesktopServices.setUrlHandler("http", browser, "visit")  # type: ignore[arg-type]  # takes str only
            box.start.click()
            await until(box.open.isVisible, "the address")
            box.open.click()
        yield dialog
        box.stop()
        QDesktopServices.unsetUrlHandler("http")
        await servers.remove(rig.workspace.id, "tracker")


@asynccontextmanager
async def _new_provider(rig: WindowRig) -> AsyncIterator[QWidget]:
    """The form of a provider, with a list of models to choose from."""
    async with _settings(rig, "providers") as dialog:
        page = rig.settings.providers
        count = page.list.count()
        page.findChildren(QMenu)[0].actions()[0].trigger()
        await until(lambda: page.list.count() > count and page.editor.isVisible(), "the provider")
        yield dialog


@asynccontextmanager
async def _offered_models(rig: WindowRig) -> AsyncIterator[QWidget]:
    """Show the form of a provider with the models its server offers."""
    async with _new_provider(rig) as dialog:
        bare = SourcedSpec("server", "its list", ModelSpec())
        priced = SourcedSpec("server", "its list", ModelSpec(window=8_192, price_in=1, price_out=2))
        rig.settings.providers.editor.show_offered({"small": priced, "large": bare, "vision": bare})
        yield dialog


@asynccontextmanager
async def _request(rig: WindowRig) -> AsyncIterator[QWidget]:
    rig.window.commands.show_request.trigger()
    await until(rig.views.panel.reader.page.text.isVisible, "the request")
    yield rig.window
    rig.views.panel.go_back()


@asynccontextmanager
async def _settings(rig: WindowRig, page: SettingsPage) -> AsyncIterator[QWidget]:
    await rig.wiring.settings.show(page)
    yield rig.window
    rig.window.leave_settings()


@asynccontextmanager
async def _command(rig: WindowRig, name: str) -> AsyncIterator[QWidget]:
    """The dialog or panel that a command of the menus opens."""
    action: QAction = getattr(rig.window.commands, name)
    action.trigger()
    dialog = await _wait_for_dialog(f"what {name} opens")
    yield dialog
    dialog.close()
    await until(lambda: _front_dialog() is None, f"the end of {name}")


@asynccontextmanager
async def _comparison(rig: WindowRig) -> AsyncIterator[QWidget]:
    """The session on screen, replayed, with one kind of its facts opened."""
    async with _page(rig, "comparison") as window:
        report = rig.views.comparison.get().report
        await until(report.isVisible, "the report")
        report.facts.expandToDepth(0)
        yield window


@asynccontextmanager
async def _import_sessions(rig: WindowRig) -> AsyncIterator[ImportSessionsDialog]:
    rig.perform(ImportSessions())
    dialog = await rig.dialog(ImportSessionsDialog)
    yield dialog
    dialog.close()
    await until(lambda: _front_dialog() is None, "the end of the dialog")


@asynccontextmanager
async def _found_sessions(rig: WindowRig) -> AsyncIterator[QWidget]:
    """Sessions of two agents to be imported, one of them chosen by its file."""
    async with _import_sessions(rig) as dialog:
        titles: dict[ForeignAgent, str] = {"claude-code": "Which port does it use?", "pi": "Rename the table"}
        for agent, title in titles.items():
            source = Source(agent, rig.folder / f"{agent}.jsonl")
            found = FoundSession(agent, agent, source, title, "/home/ann/shop", 1_760_000_000_000, 9_000)
            dialog.end_search([found], is_checked=agent == "pi")
        yield dialog


@asynccontextmanager
async def _found_messages(rig: WindowRig) -> AsyncIterator[QWidget]:
    """Results of a search over everything, with a filter."""
    async with _command(rig, "search_messages") as panel:
        assert isinstance(panel, Picker)
        QTest.keyClicks(panel.search, "the")
        await until(lambda: len(panel.list_view.rows) > 1, "the results")
        panel.findChildren(QPushButton, "search_kind-message")[0].click()
        await until(lambda: len(panel.list_view.rows) > 1, "the messages")
        yield panel


@asynccontextmanager
async def _exported_session(rig: WindowRig) -> AsyncIterator[QWidget]:
    """The documents of a session, to be read before they are saved."""
    rig.window.perform(ExportUpTo(rig.conversation.session.log[-1].seq))
    dialog = await _wait_for_dialog("the documents")
    yield dialog
    dialog.close()
    await until(lambda: _front_dialog() is None, "the end of the documents")


@asynccontextmanager
async def _handover(rig: WindowRig) -> AsyncIterator[QWidget]:
    await rig.change_policy(handover_least_gain=0.0, handover_keep=0.02)
    async with _command(rig, "compact_now") as dialog:
        yield dialog


@asynccontextmanager
async def _dialog(
    rig: WindowRig, question: Callable[[WindowRig], Coroutine[Any, Any, object]]
) -> AsyncIterator[QWidget]:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(question(rig))
        dialog = await _wait_for_dialog("the dialog")
        yield dialog
        dialog.close()


@asynccontextmanager
async def _model_menu(rig: WindowRig) -> AsyncIterator[QWidget]:
    rig.composer.model_button.click()
    async with _wait_for_menu() as menu:
        yield menu


@asynccontextmanager
async def _entry_menu(rig: WindowRig) -> AsyncIterator[QWidget]:
    async with _page(rig, "outputs"):
        table = rig.views.outputs.get().table
        table.setFocus()
        table.select_row(0)
        await until(table.current_row, "what is known of the entry")
        asks = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), table.mapToGlobal(QPoint()))
        QApplication.sendEvent(table, asks)
        async with _wait_for_menu() as menu:
            yield menu


@asynccontextmanager
async def _wait_for_menu() -> AsyncIterator[QWidget]:
    await until(QApplication.activePopupWidget, "the menu")
    menu = QApplication.activePopupWidget()
    assert menu is not None
    yield menu
    menu.close()


async def _wait_for_dialog(description: str) -> QWidget:
    """Wait for the dialog or panel that is being opened."""
    await until(_front_dialog, description)
    dialog = _front_dialog()
    assert dialog is not None
    return dialog


def _front_dialog() -> QWidget | None:
    return next(
        (
            widget
            for widget in QApplication.topLevelWidgets() + QApplication.allWidgets()
            if widget.isVisible() and isinstance(widget, QDialog | Picker)
        ),
        None,
    )


def _ask_removal(rig: WindowRig) -> Coroutine[Any, Any, str]:
    choices = (dialogs.DialogChoice("yes", "Remove", "danger"), dialogs.DialogChoice("no", "Cancel"))
    return dialogs.ask(rig.window, "Remove it?", "It cannot be brought back.", choices)


def _of(make: Callable[[QWidget], QDialog]) -> Callable[[WindowRig], Coroutine[Any, Any, object]]:
    """Return what opens a dialog of the samples over the window."""

    def opened(rig: WindowRig) -> Coroutine[Any, Any, object]:
        dialog = make(rig.window)
        return dialogs.exec_async(dialog)

    return opened


SCENES: dict[str, Scene] = {
    "chat": partial(_page, page="chat"),
    "rows-first": partial(_rows, above=0.0),
    "rows-middle": partial(_rows, above=0.4),
    "rows-last": partial(_rows, above=0.8),
    "outputs": partial(_page, page="outputs"),
    "timeline": partial(_timeline, state=long_timeline_state),
    "timeline-checkpoints": partial(_timeline, state=quiet_timeline_state),
    "changes": _changes,
    "comparison": _comparison,
    "export": partial(_command, name="export"),
    "import": partial(_command, name="import_any"),
    "import-sessions": _import_sessions,
    "found-sessions": _found_sessions,
    "search-everything": partial(_command, name="search_messages"),
    "found-messages": _found_messages,
    "export-document": _exported_session,
    "revert-plan": partial(_dialog, question=_of(changes_samples.make_plan_dialog)),
    "rewind": partial(_dialog, question=_of(changes_samples.make_rewind_dialog)),
    "completions": _completions,
    "find-in-chat": partial(_find, page="chat"),
    "find-in-outputs": partial(_find, page="outputs"),
    "find-in-content": _find_in_content,
    "extras": _extras,
    "attempts": _retried_attempts,
    "running": _running_turn,
    "stopped": partial(_running_turn, stopped=True),
    "quit": _quit_question,
    "model-menu": _model_menu,
    "entry-menu": _entry_menu,
    "request": _request,
    "welcome": partial(_center_page, place="welcome"),
    "missing": partial(_center_page, place="missing"),
    "empty": partial(_center_page, place="empty"),
    **{f"settings-{page}": partial(_settings, page=page) for page in _PAGES},
    "new-server": _new_server,
    "server-form": partial(_server_question, number=0),
    "server-page": partial(_server_question, number=1),
    "offered-servers": _offered_servers,
    "sign-in-needed": partial(_sign_in, is_started=False),
    "sign-in-awaited": partial(_sign_in, is_started=True),
    "new-provider": _new_provider,
    "offered-models": _offered_models,
    "picker": partial(_command, name="switch_workspace"),
    "commands": partial(_command, name="all_commands"),
    "secret": partial(_command, name="forget"),
    "budget": partial(_command, name="set_budget"),
    "handover": _handover,
    "guide": partial(_command, name="guide"),
    "keys": partial(_command, name="keys"),
    "trust": partial(_dialog, question=lambda rig: rig.wiring.trust.ask(rig.workspace.id)),
    "question": partial(_dialog, question=_ask_removal),
    "text-question": partial(
        _dialog, question=lambda rig: dialogs.get_text(rig.window, "Name of the session")
    ),
    "log": partial(
        _dialog,
        question=lambda rig: dialogs.exec_async(
            TextsDialog(rig.window, "Log of the last run", (), {"log.txt": "A line."})
        ),
    ),
    "notice": partial(
        _dialog,
        question=lambda rig: dialogs.show_error_dialog(
            HelixError(verbatim("It broke."), verbatim("Why.")), rig.context.appearance
        ),
    ),
}
