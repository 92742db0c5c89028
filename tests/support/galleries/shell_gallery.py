"""The window's frame in every state."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.domain.git import GitStatus
from helix_desktop.domain.store import ListPlace
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import card, column
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.window.main_window import LayoutStore, MainWindow, WindowPages
from helix_desktop.ui.window.sidebar.session_list import SessionItem
from helix_desktop.ui.window.status_lines import JobAction, JobRow
from helix_desktop.ui.window.top_bar import TopBarState
from helix_desktop.ui.window.workspace_badges import WorkspaceRow, WorkState
from helix_desktop.words.git import NO_GIT, git_text
from tests.support.galleries import settings_gallery

NOW = datetime(2026, 11, 20, 15, 4)


def workspaces() -> tuple[WorkspaceRow, ...]:
    changed = git_text(GitStatus("feature/streaming-cache-for-handovers", upstream="origin/main", changed=3))
    worktree = git_text(
        GitStatus(
            "main", conflicts=2, changed=2, worktree="weather-bot", main_folder="/home/mara/code/weather"
        )
    )
    rows = (
        WorkspaceRow(
            "1", "helix-desktop", "/home/mara/code/helix-desktop", "#5753d8", "HX", True, "running", "2.1 MB"
        ),
        WorkspaceRow(
            "2", "Weather bot", "/home/mara/code/weather-bot", "#0f766e", "", False, "waiting", "640 KB"
        ),
        WorkspaceRow(
            "3", "data-science", "/home/mara/notebooks/data-science", "#b4451f", "", False, "", "18.4 MB"
        ),
        WorkspaceRow(
            "4", "Invoices", "/home/mara/Documents/invoices", "#1f62c4", "", False, "missing", "96 KB"
        ),
        WorkspaceRow("5", "kernel", "/home/mara/src/linux", "", "", False, "", "204 MB"),
    )
    slow = git_text(GitStatus("master", is_known=False, problem="slow"))
    states = {"1": changed, "2": worktree, "5": slow}
    return tuple(row._replace(git=states.get(row.id, NO_GIT)) for row in rows)


def sessions() -> list[SessionItem]:
    """Nine sessions over five groups."""
    places = {2: ListPlace(pinned=True), 8: ListPlace(archived=True)}
    states: dict[int, WorkState] = {0: "running", 8: "interrupted"}
    rows = (
        ("Streaming cache for handovers", "opus · 412 messages", 0, 0, 0.64),
        ("Fix flaky lease renewal test", "sonnet · 86 messages", 0, 62, 0.31),
        ("Release notes 0.9", "haiku · 23 messages", 0, 197, 0.12),
        ("Index 1M blobs without stalls", "opus · 1,204 messages", 1, 60, 0.88),
        ("Review: token budget gauge", "sonnet · 57 messages", 1, 130, 0.22),
        ("MCP server auth spike with a rather long title", "sonnet · 140 messages", 1, 220, 0.47),
        ("Design the timeline view", "opus · 318 messages", 8, 0, 0.71),
        ("Port importer to asyncio", "sonnet · 265 messages", 11, 0, 0.55),
        ("Benchmarks on slow disks", "haiku · 44 messages", 13, 0, 0.18),
    )
    return [
        SessionItem(
            f"s{number}",
            title,
            second,
            _to_ms(NOW - timedelta(days=days, minutes=minutes)),
            used,
            number == 0,
            states.get(number, ""),
            place=places.get(number, ListPlace()),
        )
        for number, (title, second, days, minutes, used) in enumerate(rows)
    ]


def _to_ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def placeholder(text: str) -> QWidget:
    page = QWidget()
    page.setLayout(
        column(card(column(label(text, "muted"), None, margins=(16, 14, 16, 14))), margins=(18, 14, 18, 14))
    )
    return page


def make_window() -> MainWindow:
    """A window with placeholders for the pages that others build."""
    states: dict[str, bytes] = {}
    memory = LayoutStore(lambda key: states.get(key, b""), states.__setitem__)
    window = MainWindow(memory)
    lazy_pages: Any = (
        partial(placeholder, name) for name in ("Outputs", "Timeline", "Changes", "With and without Helix")
    )
    here: Any = map(placeholder, ("Chat", "Context"))
    window.add_pages(WindowPages(*here, *lazy_pages))
    window.show_center_page("welcome")
    return window


def show_running_session(window: MainWindow) -> None:
    window.show_workspaces(workspaces())
    window.sidebar.show_sessions(sessions(), NOW)
    window.top_bar.show_session(
        TopBarState("s0", "Streaming cache for handovers", "opus", demo=True, messages=412, state="running")
    )
    window.show_center_page("work")


NOTICE = Notice(
    "b1", "The model server didn't answer.", "Nothing listens on localhost:11434.",
    "Start Ollama, or choose another provider. Your message is kept.",
    (Answer("Try again", lambda: None, "retry"), Answer("Open settings", lambda: None, "settings")), "error",
)  # fmt: skip
JOBS = (
    JobRow("j1", "Compacting: Read → Summarize → Check → Save", 0.4, JobAction("cancel", str)),
    JobRow("j2", "Verifying 312 entries", None, JobAction("cancel", str)),
)


def _show_problems(window: MainWindow) -> None:
    show_running_session(window)
    window.notices.notify(NOTICE)
    window.notices.notify(
        Notice(
            "b2", "Automatic compaction paused.", "Three summaries in a row freed too little.",
            level="warning",
        )
    )  # fmt: skip
    window.notices.notify(Notice("b3", "This session was interrupted; its last turn is marked."))
    window.jobs.show_jobs(JOBS)


def _show_picker(window: MainWindow) -> None:
    show_running_session(window)
    window.picker.open()


def _show_missing_folder(window: MainWindow) -> None:
    show_running_session(window)
    window.places.missing.get().show_workspace("w3", "Invoices", "/home/mara/Documents/invoices")
    window.top_bar.show_session(None)
    window.show_center_page("missing")


def _show_empty_workspace(window: MainWindow) -> None:
    window.show_workspaces(workspaces())
    window.places.empty.get().show_workspace("helix-desktop")
    window.show_center_page("empty")


def _show_found_servers(window: MainWindow) -> None:
    window.show_workspaces(())
    window.places.welcome.get().found_servers.show_servers(
        settings_gallery.DETECTED_SERVERS, (settings_gallery.DETECTED_SERVERS[0].base_url,)
    )


def _show_no_server(window: MainWindow) -> None:
    window.show_workspaces(())
    window.places.welcome.get().found_servers.show_servers((), ())


def _lay_out(window: MainWindow) -> None:
    """Give the parts their places, which a drop's words cover."""
    show_running_session(window)
    window.resize(1400, 900)
    window.show()
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)


def _show_folder_drop(window: MainWindow) -> None:
    _lay_out(window)
    window.drops.hint.show_text("Drop to open “weather-bot” as a workspace")


def _show_wrong_drop(window: MainWindow) -> None:
    _lay_out(window)
    words = "Only a folder can be opened here. Drop files, text and outputs on the chat."
    window.drops.hint.show_text(words, is_refusal=True)


STATES: dict[str, Callable[[MainWindow], None]] = {
    "work": show_running_session,
    "trouble": _show_problems,
    "picker": _show_picker,
    "welcome": lambda window: window.show_workspaces(()),
    "servers found": _show_found_servers,
    "no server": _show_no_server,
    "empty": _show_empty_workspace,
    "missing": _show_missing_folder,
}


DRAGS: dict[str, Callable[[MainWindow], None]] = {
    "folder dropped": _show_folder_drop,
    "wrong drop": _show_wrong_drop,
}
"""What covers the window while something is dragged over it: for pictures only."""
