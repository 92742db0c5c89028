"""Cache entries: what can be done with one and with several, and the views of an entry's content."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec.structs import replace
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from helix_desktop.context.intake.marker import marker
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.buttons import TabButton
from helix_desktop.ui.kit.intents import Export, Recall
from helix_desktop.ui.outputs.entry_actions import (
    PinEntries,
    RecallMany,
    RestoreEntries,
    ShowEntryInChat,
    ShowEntryInTimeline,
    TrashEntries,
    VerifyEntries,
    is_readable,
)
from helix_desktop.ui.outputs.page import OutputsPage
from helix_desktop.ui.outputs.preview import EntryContent
from helix_desktop.ui.outputs.rows import CacheState, PreviewState
from helix_desktop.words.numbers import format_token_count
from tests.support.galleries.panes_samples import CODE, SampleCache, cache_row
from tests.support.image_bytes import png
from tests.support.intents import intents_of, performed
from tests.support.window.outputs_page import open_outputs_page, sample_cache, wait_until

pytestmark = pytest.mark.qt_loop

ALL = {
    "open", "recall", "find", "verify",
    "export", "copy-content", "copy-hash", "copy-marker",
    "show-chat", "show-timeline", "pin", "trash",
}  # fmt: skip


def in_state(*states: CacheState) -> SampleCache:
    """A source with an entry in each state."""
    return SampleCache([replace(cache_row(at), state=state) for at, state in enumerate(states)])


async def menu_of(pane: OutputsPage, *rows: int) -> dict[str, QAction]:
    await wait_until(lambda: all(pane.model.entry(row) is not None for row in rows))
    pane.table.select_row(rows[0])
    kind = QItemSelectionModel.SelectionFlag
    for row in rows[1:]:
        pane.table.selectionModel().select(pane.model.index(row, 0), kind.Select | kind.Rows)
    for old_menu in pane.findChildren(QMenu):
        old_menu.close()
    pane.table.menu_requested.emit(QPoint(1, 1))
    (menu,) = (menu for menu in pane.findChildren(QMenu) if menu.isVisible())
    return {
        action.objectName().removeprefix("cache-"): action for action in menu.actions() if action.objectName()
    }


async def test_all_actions_are_there_and_apply_to_one_row(qtbot: QtBot, scope: TaskScope) -> None:
    """With the shortcut that does the same."""
    pane = await open_outputs_page(qtbot, scope, in_state("cached"))
    row = replace(cache_row(0), state="cached")
    pane.table.select_row(0)
    pane.show_preview(PreviewState(row, CODE))
    actions = await menu_of(pane, 0)
    assert set(actions) >= ALL
    assert all(actions[name].isEnabled() for name in ALL)
    actions["copy-content"].trigger()
    assert QGuiApplication.clipboard().text() == CODE.decode()
    keys = {name: actions[name].text().partition("\t")[2] for name in ALL}
    assert keys == {
        "open": "Enter", "recall": "Ctrl+Enter",
        "find": "Ctrl+F", "verify": "V", "export": "Ctrl+S",
        "copy-content": "Ctrl+Shift+C", "copy-hash": "Ctrl+C", "pin": "P", "trash": "Del",
        "copy-marker": "", "show-chat": "", "show-timeline": "",
    }  # fmt: skip
    actions["copy-marker"].trigger()
    text = marker(row.digest, row.tool, row.target, row.size, row.first_line)
    assert QGuiApplication.clipboard().text() == text
    with performed(pane) as intents:
        actions["show-chat"].trigger()
        actions["show-timeline"].trigger()
    assert intents == [ShowEntryInChat(row.digest), ShowEntryInTimeline(row.digest)]


@pytest.mark.parametrize(
    ("state", "off"),
    [
        ("in_window", {"show-timeline"}),
        ("elsewhere", {"show-chat", "show-timeline"}),
        ("index", {"show-chat"}),
        (
            "damaged",
            {"show-chat", "show-timeline", "recall", "export", "find", "copy-content"},
        ),
        ("in_trash", {"show-chat", "show-timeline", "recall", "export", "pin"}),
    ],
)
async def test_inapplicable_actions_are_disabled(
    qtbot: QtBot, scope: TaskScope, state: CacheState, off: set[str]
) -> None:
    """An entry in the trash can be restored instead; only what left the context is recalled into it."""
    pane = await open_outputs_page(qtbot, scope, in_state(state))
    actions = await menu_of(pane, 0)
    assert {name for name, action in actions.items() if not action.isEnabled()} == {*off, "send-full"}
    assert ("restore" in actions) is (state == "in_trash")


async def test_it_applies_to_the_complete_selection(qtbot: QtBot, scope: TaskScope) -> None:
    """By menu and by key; actions for one row are disabled."""
    pane = await open_outputs_page(qtbot, scope, in_state("elsewhere", "cached", "in_trash", "elsewhere"))
    digests = tuple(pane.model.digest_at(row) for row in range(4))
    actions = await menu_of(pane, 0, 1, 2)
    off = {name for name, action in actions.items() if not action.isEnabled()}
    assert off == {"open", "find", "copy-content", "show-chat", "show-timeline"}
    recalled = [Recall(digests[0]), Recall(digests[1])]
    with performed(pane) as intents:
        actions["recall"].trigger()
        assert intents == recalled
        actions["copy-hash"].trigger()
        assert QGuiApplication.clipboard().text().split() == [*digests[:3]]
        for name, expected in (
            ("trash", TrashEntries(digests[:2])),
            ("pin", PinEntries(digests[:2], is_pinned=True)),
            ("restore", RestoreEntries(digests[2:3])),
            ("export", Export(digests=digests[:2])),
            ("verify", VerifyEntries(digests[:3])),
        ):
            actions[name].trigger()
            assert intents[-1] == expected, name
    pane.table.setFocus()
    with performed(pane) as intents:
        for key in (Qt.Key.Key_Delete, Qt.Key.Key_V):
            QTest.keyClick(pane.table, key)
        QGuiApplication.clipboard().clear()
        for key in (Qt.Key.Key_C, Qt.Key.Key_Return):
            QTest.keyClick(pane.table, key, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().split() == [*digests[:3]]
    assert intents == [TrashEntries(digests[:2]), VerifyEntries(digests[:3]), *recalled]


async def test_the_buttons_of_the_preview_stand_for_all_selected_entries(
    qtbot: QtBot, scope: TaskScope
) -> None:
    """As the keys do; their words say so, and of one entry they are its own again."""
    pane = await open_outputs_page(qtbot, scope, in_state("elsewhere", "cached", "in_trash"))
    digests = tuple(pane.model.digest_at(row) for row in range(3))
    await menu_of(pane, 0)
    row = pane.model.entry(0)
    assert row is not None
    pane.show_preview(PreviewState(row, CODE))
    pane.resize(1400, 700)
    preview = pane.preview
    assert preview.recall_button.text().startswith("Recall into your message · ≈ ")
    actions = await menu_of(pane, 0, 1, 2)
    cost = sum(known.tokens for known in map(pane.model.entry, range(2)) if known is not None)
    assert preview.recall_button.text() == f"Recall 2 entries into message · ≈ {format_token_count(cost)}"
    assert actions["recall"].text().startswith(preview.recall_button.text())
    assert preview.export_button.text() == "Export…"
    with performed(pane) as intents:
        for button in (preview.recall_button, preview.export_button):
            button.click()
    assert intents == [
        *(Recall(digests[0]), Recall(digests[1]), Export(digests=digests[:2])),
    ]
    pane.table.select_row(0)
    assert preview.recall_button.text().startswith("Recall into your message · ≈ ")


async def test_very_many_are_recalled_after_a_question(qtbot: QtBot, scope: TaskScope) -> None:
    """It begins with all of them, and the button says that something is asked."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(60))
    await menu_of(pane, 0)
    row = pane.model.entry(0)
    assert row is not None
    pane.show_preview(PreviewState(row, CODE))
    pane.resize(1400, 700)
    pane.table.selectAll()
    readable = pane.entry_actions.digests_of(is_readable)
    assert len(readable) == 59, "one is damaged"
    assert pane.preview.recall_button.text().startswith("Recall 59 entries into message… · ≈ ")
    assert intents_of(pane, pane.preview.recall_button.click) == [RecallMany(readable)]


async def test_the_menu_key_opens_it_for_the_selection(qtbot: QtBot, scope: TaskScope) -> None:
    """Neither it nor a right click inside the selection changes the selection."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(6))
    await menu_of(pane, 1, 2)
    for menu in pane.findChildren(QMenu):
        menu.close()
    reasons = QContextMenuEvent.Reason
    for reason in (reasons.Keyboard, reasons.Mouse):
        place = pane.table.visualRect(pane.model.index(2, 0)).center()
        with qtbot.waitSignal(pane.table.menu_requested):
            QGuiApplication.sendEvent(
                pane.table.viewport(), QContextMenuEvent(reason, place, pane.table.mapToGlobal(place))
            )
        assert [row.digest for row in pane.table.selected_rows()] == [
            pane.model.digest_at(1), pane.model.digest_at(2)
        ]  # fmt: skip
        for menu in pane.findChildren(QMenu):
            menu.close()


@pytest_asyncio.fixture
async def content(qtbot: QtBot) -> AsyncIterator[EntryContent]:
    scope = TaskScope()
    view = EntryContent(scope.start)
    qtbot.addWidget(view)
    view.resize(800, 500)
    view.show()
    yield view
    await scope.close()


def buttons(content: EntryContent) -> dict[str, bool]:
    """The views that are offered, and whether they can be chosen."""
    found = content.switch.findChildren(TabButton)
    return {button.objectName()[5:]: button.isEnabled() for button in found if not button.isHidden()}


async def test_a_choice_is_remembered_by_what_a_content_is(content: EntryContent) -> None:
    saved: dict[str, bytes] = {}
    content.remember(lambda key: saved.get(key, b""), saved.__setitem__)
    content.show_entry(PreviewState(cache_row(2), CODE), "", "")
    content.choose("hex")
    assert content.text.content.is_binary
    content.show_entry(PreviewState(cache_row(3), b"\x00\x01"), "", "")
    assert buttons(content) == {"hex": True}
    content.remember(lambda key: saved.get(key, b""), saved.__setitem__)
    content.show_entry(PreviewState(cache_row(4), CODE), "", "")
    assert content.view == "hex"
    assert content.text.selected_lines() == (0, 0)


async def test_long_lines_are_wrapped_on_request_which_is_remembered(content: EntryContent) -> None:
    saved: dict[str, bytes] = {}
    content.remember(lambda key: saved.get(key, b""), saved.__setitem__)
    text = b"first\n" + b"a long line " * 60 + b"\nlast"
    content.show_entry(PreviewState(cache_row(2), text), "", "")
    bar = content.text.horizontalScrollBar()
    assert bar.maximum() > 0
    content.wrap_button.click()
    assert bar.maximum() == 0
    content.choose("hex")
    assert not content.wrap_button.isEnabled()
    assert content.text.lineWrapMode() == content.text.LineWrapMode.NoWrap, "columns stay columns"
    content.wrap_button.setChecked(False)
    content.remember(lambda key: saved.get(key, b""), saved.__setitem__)
    content.choose("text")
    assert bar.maximum() == 0


async def test_json_is_shown_indented_on_request_which_is_remembered(content: EntryContent) -> None:
    data = b'{"a": {"b": [1, "\xc3\x9f"]}, "c": true}'
    content.show_entry(PreviewState(cache_row(2), data), "", "")
    assert buttons(content) == {"text": True, "indented": True, "hex": True}
    content.choose("indented")
    assert content.text.hasFocus()
    indented = json.dumps(json.loads(data), indent=2, ensure_ascii=False)
    assert content.text.toPlainText() == indented
    content.copy_content()
    assert QGuiApplication.clipboard().text() == indented
    content.open_find()
    assert content.view == "indented"
    content.show_entry(PreviewState(cache_row(3), b'{"a": 1,}'), "", "")
    assert buttons(content) == {"text": True, "hex": True}
    assert content.text.toPlainText() == '{"a": 1,}'
    large = b"[" + b'{"a": 1},' * 40_000 + b"1]"
    content.show_entry(PreviewState(cache_row(4), large), "", "")
    await wait_until(lambda: content.view == "indented")
    await wait_until(lambda: content.text.content.last_line == 3 * 40_000 + 3)
    assert content.text.toPlainText().startswith('[\n  {\n    "a": 1\n  },\n')
    content.choose("hex")
    await wait_until(lambda: content.text.content.is_binary)
    content.choose("text")
    await wait_until(lambda: content.text.content.data is large)


async def test_an_image_is_seen_first_and_as_bytes(content: EntryContent) -> None:
    content.show_entry(PreviewState(cache_row(2), png(12, 8)), "", "")
    assert buttons(content) == {"image": True, "hex": True}
    await wait_until(lambda: content.image.picture.heightForWidth(400) > 8)
    assert "12" in content.image.caption.text
    content.choose("hex")
    assert content.text.isVisible()


async def test_the_head_keeps_the_views_and_loses_words_where_it_is_narrow(
    content: EntryContent, qtbot: QtBot
) -> None:
    content.show_entry(PreviewState(cache_row(2), CODE), "stream.py", "63 KB · 16.1k tokens · 3 references")
    views = content.switch
    facts = content.meta

    def gap() -> int:
        return content.position_label.x() - views.geometry().right()

    qtbot.waitUntil(lambda: 0 < gap() < 20 and views.x() - facts.geometry().right() > 100)
    position = content.position_label.text
    content.setMinimumWidth(1)
    content.resize(views.sizeHint().width() + 130, 500)
    qtbot.waitUntil(lambda: views.width() >= views.sizeHint().width())
    assert content.rect().contains(content.copy_button.geometry())
    assert [content.copy_button.text(), content.position_label.text] == ["", ""]
    content.resize(800, 500)
    assert content.position_label.text == position
    assert content.copy_button.text()


async def test_a_row_taken_out_of_the_selection_looks_so(qtbot: QtBot, scope: TaskScope) -> None:
    """Though it stays the current one, whose mark at the edge goes along with it."""
    pane = await open_outputs_page(qtbot, scope, sample_cache(4))
    table = pane.table
    keys = Qt.KeyboardModifier
    await wait_until(lambda: all(pane.model.entry(row) is not None for row in range(4)))
    for row, key in ((0, keys.NoModifier), (3, keys.ShiftModifier), (1, keys.ControlModifier)):
        cell = table.visualRect(pane.model.index(row, 2)).center()
        QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, key, cell)
    QTest.mouseMove(table.viewport(), QPoint(5, table.viewport().height() - 5))
    assert table.selected_count() == 3
    picture = table.viewport().grab().toImage()
    left = table.columnViewportPosition(2) - 3
    grounds = [picture.pixelColor(left, table.rowViewportPosition(row) + 3) for row in range(4)]
    assert grounds[0] == grounds[2] == grounds[3] != grounds[1]
