"""The views of an entry: which make sense, which is remembered, and the diff with the previous version."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.cache.preview import EntryContent
from helix_desktop.ui.cache.rows import PreviewState
from helix_desktop.ui.design.buttons import TabButton
from helix_desktop.ui.design.style.theme import DARK
from tests.support.galleries.panes_gallery import settle
from tests.support.galleries.panes_samples import CODE, NOW_MS, cache_row
from tests.support.image_bytes import png
from tests.support.window.cache_browser import wait_until
from tests.support.window.looks import ShowLook

pytestmark = pytest.mark.qt_loop
PREVIOUS = replace(cache_row(9), created=NOW_MS - 3_600_000)


@pytest_asyncio.fixture
async def content(qtbot: QtBot) -> AsyncIterator[EntryContent]:
    scope = TaskScope()
    view = EntryContent(scope.start, lambda: NOW_MS)
    qtbot.addWidget(view)
    view.resize(800, 500)
    view.show()
    yield view
    await scope.close()


def buttons(content: EntryContent) -> dict[str, bool]:
    """The views that are offered, and whether they can be chosen."""
    found = content.switch.findChildren(TabButton)
    return {button.objectName()[5:]: button.isEnabled() for button in found if not button.isHidden()}


async def test_the_previous_versions_diff_is_asked_for_once(content: EntryContent, qtbot: QtBot) -> None:
    state = PreviewState(cache_row(2), CODE)
    content.show_entry(state, "stream.py", "facts")
    assert buttons(content) == {"text": True, "hex": True}
    content.show_entry(replace(state, previous=PREVIOUS), "stream.py", "facts")
    contents = {PREVIOUS.digest: CODE.replace(b"30 Hz", b"60 Hz"), state.row.digest: CODE}
    asked: list[str] = []

    async def read(digest: str) -> bytes:
        asked.append(digest)
        return contents[digest]

    content.read = read
    content.choose("diff")
    content.show_entry(replace(state, row=cache_row(3)), "stream.py", "facts")
    await settle()
    assert content.view == "text"  # the diff was of another entry
    content.show_entry(replace(state, previous=PREVIOUS), "stream.py", "facts")
    content.choose("diff")
    await settle()
    assert content.diff.diff == diff_contents(contents[PREVIOUS.digest], CODE)
    assert content.diff.text.isVisible()
    assert "previous version" in content.meta.text
    content.show_entry(replace(state, previous=PREVIOUS), "stream.py", "other facts")
    assert not content.text.isVisible(), "the text stays below the diff when the table is read again"
    assert not content.copy_button.isVisible()
    asked.clear()
    content.choose("text")
    content.choose("diff")
    await settle()
    assert not asked


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


async def test_a_previous_version_that_cannot_be_read_says_so(content: EntryContent) -> None:
    async def read(digest: str) -> bytes:
        raise StoreError(verbatim("Removed on 20 November."))

    content.read = read
    content.show_entry(PreviewState(cache_row(2), CODE, previous=PREVIOUS), "", "")
    content.choose("diff")
    await settle()
    assert content.diff.words.text() == "Removed on 20 November."
    content.show_entry(PreviewState(cache_row(3), CODE), "", "")
    assert content.view == "text"  # it has no previous version
    assert content.text.isVisible()


async def test_json_has_a_tree_that_the_keyboard_folds(content: EntryContent) -> None:
    content.show_entry(PreviewState(cache_row(2), b'{"a": {"b": [1, "\xc3\x9f"]}, "c": true}'), "", "")
    assert buttons(content) == {"text": True, "tree": True, "hex": True}
    content.choose("tree")
    tree = content.tree
    assert tree.hasFocus()
    first = tree.currentIndex()
    assert tree.model().data(first) == "a: {…} 1 member"
    assert tree.isExpanded(first)
    QTest.keyClick(tree, Qt.Key.Key_Left)
    assert not tree.isExpanded(first)
    QTest.keyClick(tree, Qt.Key.Key_Asterisk)
    for _ in range(3):
        QTest.keyClick(tree, Qt.Key.Key_Down)
    QTest.keyClick(tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "ß"
    content.show_entry(PreviewState(cache_row(3), b'{"a": 1,}'), "", "")
    assert buttons(content) == {"text": True, "hex": True}
    large = b"[" + b'{"a": 1},' * 4_000 + b"1]"
    content.show_entry(PreviewState(cache_row(4), large), "", "")
    await wait_until(lambda: content.view == "tree")
    assert tree.model().rowCount() == 41
    content.open_find()
    assert content.view == "text"


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
    views, facts = content.switch, content.meta

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


async def test_the_word_of_the_copy_button_goes_before_the_facts_are_cut(content: EntryContent) -> None:
    content.show_entry(PreviewState(cache_row(2), CODE), "", "16 KB · 4.2k tokens · recalled 2 times")
    worded, whole = [], []
    for width in range(800, 200, -10):
        content.resize(width, 500)
        content.body.activate()
        worded.append(bool(content.copy_button.text()))
        whole.append(content.meta.isVisible() and content.meta.width() >= content.meta.sizeHint().width())
    assert worded == sorted(worded, reverse=True)
    assert whole == sorted(whole, reverse=True)
    assert 0 < sum(worded) < sum(whole) < len(whole)


async def test_the_copy_button_keeps_the_room_of_its_word_with_another_theme(
    content: EntryContent, show_look: ShowLook
) -> None:
    content.show_entry(PreviewState(cache_row(2), CODE), "", "16 KB")
    width = content.copy_button.width()
    show_look(DARK)
    assert (bool(content.copy_button.text()), content.copy_button.width()) == (True, width)
