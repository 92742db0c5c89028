"""What the session list says of a session besides its title."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace
from PySide6.QtGui import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.ui.window.sidebar.session_list import WHEN_ROLE, SessionItem, SessionModel, row_end


def test_why_a_session_failed_is_said_as_words(qtbot: QtBot) -> None:
    """A reason wraps in the tooltip and is no markup there; a screen reader says it too."""
    reason = "The server said <b>no</b>. " * 8
    model = SessionModel()
    failed = SessionItem("a", "Fix the parser", "opus", 0, 0.4, False, False, failure=reason)
    model.show_sessions([failed], datetime(2026, 11, 20, 15, 4))
    index = model.index_of("a")
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


def test_what_a_row_does_not_show_stands_in_its_tooltip_and_description() -> None:
    model = SessionModel()
    model.show_sessions([_ALL], datetime(2026, 11, 20, 15, 4))
    index = model.index_of("a")
    facts = ("$0.38 · 12 messages · opus", "42 % of the context used", index.data(WHEN_ROLE))
    for role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole):
        assert all(fact in index.data(role) for fact in facts)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole).startswith(
        "Branch, Fix the parser, waiting for you"
    )


def test_a_search_in_facts_shows_them() -> None:
    model = SessionModel()
    model.show_sessions([_ALL, replace(_ALL, id="b", title="Opus")], datetime(2026, 11, 20, 15, 4))
    model.set_filter("opus", {})
    assert {item.id: item.found_line for item in model.sessions()} == {"a": _ALL.subtitle, "b": ""}
    model.set_filter("", {})
    assert {item.found_line for item in model.sessions()} == {""}
