"""What the session list says of a session besides its title."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace
from PySide6.QtGui import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.ui.window.sidebar.session_list import SessionItem, SessionList, row_end
from helix_desktop.words.times import format_short_time


def test_why_a_session_failed_is_said_as_words(qtbot: QtBot) -> None:
    """A reason wraps in the tooltip and is no markup there; a screen reader says it too."""
    reason = "The server said <b>no</b>. " * 8
    view = SessionList()
    qtbot.addWidget(view)
    failed = SessionItem("a", "Fix the parser", "opus", 0, 0.4, False, False, failure=reason)
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
    running=True,
    active=False,
    waiting=True,
    failure="The server said no.",
    interrupted=True,
    began_as="Branch",
)


def test_a_row_ends_with_what_is_most_urgent() -> None:
    item, ends = _ALL, [row_end(_ALL, "16:20")]
    for less in (
        {"waiting": False},
        {"running": False},
        {"failure": ""},
        {"interrupted": False},
        {"began_as": ""},
    ):
        item = replace(item, **less)
        ends.append(row_end(item, "16:20"))
    assert ends == [
        ("Waiting", "accent"),
        ("Working", "ok"),
        ("Failed", "error"),
        ("Interrupted", "warn"),
        ("Branch", None),
        ("16:20", None),
    ]


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
        "Branch, Fix the parser, waiting for you"
    )


def test_a_search_in_facts_shows_them(qtbot: QtBot) -> None:
    view = SessionList()
    qtbot.addWidget(view)
    view.show_sessions([_ALL, replace(_ALL, id="b", title="Opus")], datetime(2026, 11, 20, 15, 4))
    view.set_filter("opus", {})
    assert {item.id: item.found_line for item in view.sessions()} == {"a": _ALL.subtitle, "b": ""}
    view.set_filter("", {})
    assert {item.found_line for item in view.sessions()} == {""}
