"""What the session list says of a session besides its title."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import replace
from PySide6.QtGui import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.ui.window.sidebar.session_list import SessionItem, SessionList, row_end
from helix_desktop.ui.window.work_badges import work_state
from helix_desktop.words.times import format_short_time


def test_why_a_session_failed_is_said_as_words(qtbot: QtBot) -> None:
    """A reason wraps in the tooltip and is no markup there; a screen reader says it too."""
    reason = "The server said <b>no</b>. " * 8
    view = SessionList()
    qtbot.addWidget(view)
    failed = SessionItem("a", "Fix the parser", "opus", 0, 0.4, False, "failed", reason)
    view.show_sessions([failed], datetime(2026, 11, 20, 15, 4))
    index = view.index_of("a")
    tooltip = index.data(Qt.ItemDataRole.ToolTipRole)
    label = QLabel(tooltip)
    qtbot.addWidget(label)
    label.setWordWrap(Qt.mightBeRichText(tooltip))  # as Qt's tooltips do
    assert label.sizeHint().width() < 600
    assert "&lt;b&gt;no" in tooltip
    assert reason in index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert "Last turn failed" in tooltip
    assert "Last turn failed" in index.data(Qt.ItemDataRole.AccessibleTextRole)


_ALL = SessionItem(
    "a",
    "Fix the parser",
    "$0.38 · 12 messages · opus",
    0,
    0.42,
    active=False,
    state="waiting",
    began_as="Branch",
)


def test_a_row_ends_with_its_state_or_what_it_began_as_or_its_time() -> None:
    stopped = replace(_ALL, state="stopped")
    items = [replace(_ALL, state=state) for state in ("waiting", "running", "failed", "interrupted", "")]
    items += [stopped, replace(stopped, parent="b"), replace(_ALL, state="", began_as="")]
    assert [row_end(item, "16:20") for item in items] == [
        ("Waiting", "accent"),
        ("Working", "ok"),
        ("Failed", "error"),
        ("Interrupted", "warn"),
        ("Branch", None),
        ("Branch", None),
        ("Stopped", None),
        ("16:20", None),
    ]


@dataclass
class _Work:
    """What a conversation does, as far as its state says it."""

    asks: tuple[str, ...] = ()
    is_running: bool = False
    retry_reason: str = ""

    @property
    def response(self) -> _Work:
        return self


def test_the_most_urgent_of_what_goes_on_is_said() -> None:
    works: Any = [_Work(("Run it?",)), _Work(is_running=True, retry_reason="Busy"), _Work(is_running=True)]
    states = [work_state(works[at:], is_interrupted=True) for at in range(4)]
    assert states == ["waiting", "retrying", "running", "interrupted"]


def test_what_a_row_does_not_show_stands_in_its_tooltip_and_description(qtbot: QtBot) -> None:
    view = SessionList()
    qtbot.addWidget(view)
    now = datetime(2026, 11, 20, 15, 4)
    view.show_sessions([_ALL], now)
    index = view.index_of("a")
    when = format_short_time(_ALL.updated_ms, now)
    facts = ("$0.38 · 12 messages · opus", "42 % of the context used", when)
    for role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole):
        assert all(fact in index.data(role) for fact in facts)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole).startswith(
        "Branch, Fix the parser, Waiting for you"
    )
