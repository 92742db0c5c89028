"""Quick look over the list, by keyboard."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.cache.rows import PreviewState
from tests.support.galleries.panes_samples import CODE, cache_row
from tests.support.window.cache_browser import open_cache_browser, sample_cache, wait_until

pytestmark = pytest.mark.qt_loop


async def test_space_opens_it_and_arrows_go_on(qtbot: QtBot) -> None:
    scope = TaskScope()
    pane = await open_cache_browser(qtbot, scope, sample_cache(5))
    rows = {row.digest: row for row in map(cache_row, range(5))}
    pane.selection_changed.connect(lambda digest: pane.show_preview(PreviewState(rows[digest], CODE)))
    pane.table.focus_table()
    sizes, tall = pane.splitter.sizes(), pane.preview.height()
    QTest.keyClick(pane.table, Qt.Key.Key_Space)
    await wait_until(lambda: pane.preview.height() > tall and not pane.filter_bar.isVisible())
    QTest.keyClick(pane.preview, Qt.Key.Key_Down)
    assert pane.preview.digest == cache_row(1).digest
    text = pane.preview.content.text
    text.setFocus()
    QTest.keyClick(text, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert pane.preview.digest == cache_row(2).digest
    assert pane.preview.hasFocus()
    pane.refresh()
    await wait_until(lambda: not pane._is_refreshing)
    assert not pane.table.isVisible()
    QTest.keyClick(text, Qt.Key.Key_Space)
    assert pane.table.isVisible()
    assert pane.table.hasFocus()
    await wait_until(lambda: pane.splitter.sizes() == sizes)
    QTest.keyClick(pane.table, Qt.Key.Key_Space)
    QTest.keyClick(pane.preview, Qt.Key.Key_Escape)
    assert not pane.quick_look.is_open
    await scope.close()
