"""What assistive technology finds in the conversation."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleActionInterface, QAccessibleInterface
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

from helix_desktop.domain.todo import TODO, TodoItem
from helix_desktop.ui.chat.composer.strips import TodoPanel
from helix_desktop.ui.chat.rows.row_types import AssistantRow, ChatModel, UserRow
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.rows.row_widget import RowButton
from tests.support.galleries.chat_gallery import DIGEST, rows_of_all_kinds, rows_of_subagents
from tests.support.intents import take_intents
from tests.support.window.buttons import find_child
from tests.support.window.chat_geometry import attachment_note, row_key, tool_row


def _children(node: QAccessibleInterface) -> list[QAccessibleInterface]:
    return [node.child(at) for at in range(node.childCount())]


@pytest.fixture
def screen_reader() -> Iterator[None]:
    """Let the app believe that a screen reader runs."""
    accessibility.install()
    QAccessible.setActive(True)
    yield
    QAccessible.setActive(False)


def _texts(view: ChatView) -> list[str]:
    """Return the text read aloud for each row, without its name and its buttons."""
    area = QAccessible.queryAccessibleInterface(view.viewport())
    return [
        child.text(QAccessible.Text.Name)
        for row in _children(area)
        for child in _children(row)
        if child.object().objectName() == "row_text" and not child.state().invisible
    ]


@pytest.mark.usefixtures("screen_reader")
def test_attachments_are_read(view: ChatView) -> None:
    view.chat_viewport.model.reset(
        [
            UserRow(row_key("u"), "What is this?", attachments=(attachment_note("lamp.png", 120),)),
            UserRow(row_key("v"), "", attachments=(attachment_note("chair.png", 90),), steered=True),
            UserRow(row_key("w"), "Review it", prompt="/review · .agents/commands/review.md"),
        ]
    )
    assert _texts(view) == [
        "What is this?\nAttached: lamp.png · 120 tokens",
        "Attached: chair.png · 90 tokens\nSent during the turn",
        "Review it\nFrom /review · .agents/commands/review.md",
    ]


@pytest.mark.usefixtures("screen_reader")
@pytest.mark.parametrize(("count", "policy"), [(2, Qt.FocusPolicy.NoFocus), (12, Qt.FocusPolicy.StrongFocus)])
def test_the_list_to_do_can_be_read_and_scrolled_with_keys(
    qtbot: QtBot, count: int, policy: Qt.FocusPolicy
) -> None:
    model = ChatModel()
    panel = TodoPanel(model)
    qtbot.addWidget(panel)
    panel.set_running(True)
    items = (TodoItem("Look", "in_progress"), *(TodoItem(f"Step {number}") for number in range(1, count)))
    model.reset([tool_row("t", TODO, arguments={"items": msgspec.to_builtins(items)})])
    scroll_area = find_child(panel, QScrollArea, "todo")
    assert scroll_area.focusPolicy() is policy, "only what overflows takes the keyboard"
    lines = [line.accessibleName() for line in scroll_area.findChildren(TextLine)]
    assert lines == ["In progress: Look", *(f"To do: Step {number}" for number in range(1, count))]
    node = QAccessible.queryAccessibleInterface(scroll_area)
    assert (node.role(), node.text(QAccessible.Text.Name)) == (QAccessible.Role.Grouping, "To-do list")


@pytest.mark.usefixtures("screen_reader")
def test_rows_are_a_list_with_text_and_buttons(qtbot: QtBot, view: ChatView) -> None:
    row = tool_row("t", "bash", "ls", "ok", "x", digest=DIGEST, badge="cached")
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), "Some **words**.", model="Opus"), row])
    area = QAccessible.queryAccessibleInterface(view.viewport())
    assert area.role() == QAccessible.Role.List
    answer, tool = _children(area)
    assert [area.indexOfChild(row) for row in (answer, tool)] == [0, 1]
    name = QAccessible.Text.Name
    item = QAccessible.Role.ListItem
    assert (answer.role(), answer.text(name)) == (item, "Opus")
    assert (tool.role(), tool.text(name)) == (item, "Tool bash ls: done and Cached")
    assert [child.text(name) for child in _children(answer)] == ["Some words."]
    button = next(child for child in _children(tool) if child.object().objectName() == "open:card")
    assert (button.role(), button.text(name)) == (QAccessible.Role.Button, "Show output of bash ls")
    button.actionInterface().doAction(QAccessibleActionInterface.pressAction())
    qtbot.waitUntil(lambda: view.chat_viewport.item_cache.is_open(row_key("t"), "card"))
    view.chat_viewport.model.reset([AssistantRow(row_key("b"), "Other words.", model="Opus")])
    assert [child.object() for child in _children(area)] == [
        view.chat_viewport.widget_pool.visible[row_key("b")]
    ]
    view.announce("Reply finished")


@pytest.mark.usefixtures("screen_reader")
def test_tab_reaches_every_button_of_every_kind_of_row(view: ChatView) -> None:
    viewport = view.chat_viewport
    take_intents(view, lambda _: None)  # a row may ask for its content
    view.resize(800, 1500)  # many rows in sight at once
    QPushButton(view).show()  # what comes after the conversation
    for row in (*rows_of_all_kinds(), *rows_of_subagents()):
        viewport.model.append(row)  # each with a key of its own
    viewport.show_row(0)
    view.setFocus()
    passed: list[tuple[int, str]] = []
    QTest.keyClick(view, Qt.Key.Key_Tab)
    while (widget := viewport.widget_pool.focused_widget()) is not None:
        focused = view.window().focusWidget()
        card = widget.item.widget if widget.item is not None else None
        is_in_card = card is not None and focused is not None and card.isAncestorOf(focused)
        assert isinstance(focused, RowButton) or is_in_card, f"{widget.accessibleName()} shows no ring"
        assert focused is not None
        place = (widget.index, focused.objectName())
        assert place not in passed, f"Tab comes back to {widget.accessibleName()}"
        passed.append(place)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    buttons = [(at, area.name) for at in range(len(viewport.model)) for area in viewport.item(at).hit_areas]
    assert passed == buttons
