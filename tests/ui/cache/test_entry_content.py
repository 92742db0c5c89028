"""The views of an entry: which make sense, which is remembered, and the diff with the former version."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from pytestqt.qtbot import QtBot

from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.cache.entry_content import EntryContent
from helix_desktop.ui.cache.rows import PreviewState
from helix_desktop.ui.design.buttons import TabButton
from tests.support.galleries.panes_samples import CODE, NOW_MS, cache_row

pytestmark = pytest.mark.qt_loop
FORMER = replace(cache_row(9), created_at_ms=NOW_MS - 3_600_000)


@pytest_asyncio.fixture
async def content(qtbot: QtBot) -> AsyncIterator[EntryContent]:
    """A view without an entry."""
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


async def test_the_former_versions_diff_is_asked_for_once(content: EntryContent, qtbot: QtBot) -> None:
    state = PreviewState(cache_row(2), CODE)
    content.show_entry(state, "stream.py", "facts")
    assert buttons(content) == {"text": True, "hex": True, "diff": False}
    content.show_entry(replace(state, former=FORMER), "stream.py", "facts")
    with qtbot.waitSignal(content.diff_requested) as request:
        content.choose("diff")
    assert request.args == [FORMER.digest, state.row.digest]
    content.show_diff(FORMER.digest, cache_row(3).digest, diff_contents(b"late", CODE))
    assert content.diff.diff is None  # of another entry
    content.show_diff(FORMER.digest, state.row.digest, diff_contents(CODE.replace(b"30 Hz", b"60 Hz"), CODE))
    assert content.diff.text.isVisible()
    assert "previous version" in content.meta.text
    with qtbot.assertNotEmitted(content.diff_requested):
        content.choose("text")
        content.choose("diff")


async def test_a_choice_is_remembered_by_what_a_content_is(content: EntryContent) -> None:
    saved: dict[str, bytes] = {}
    content.remember(lambda key: saved.get(key, b""), saved.__setitem__)
    content.show_entry(PreviewState(cache_row(2), CODE), "", "")
    content.choose("hex")
    assert content.text.content.is_binary
    content.show_entry(PreviewState(cache_row(3), b"\x00\x01"), "", "")
    assert buttons(content) == {"hex": True, "diff": False}
    content.remember(lambda key: saved.get(key, b""), saved.__setitem__)
    content.show_entry(PreviewState(cache_row(4), CODE), "", "")
    assert content.view == "hex"
    assert content.text.selected_lines() == (0, 0)


async def test_a_former_version_that_cannot_be_read_says_so(content: EntryContent) -> None:
    content.show_entry(PreviewState(cache_row(2), CODE, former=FORMER), "", "")
    content.choose("diff")
    content.show_diff_error(FORMER.digest, cache_row(2).digest, "Removed on 20 November.")
    assert content.diff.words.text() == "Removed on 20 November."
    content.show_entry(PreviewState(cache_row(3), CODE), "", "")
    assert content.view == "text"  # it has no former version
    assert content.text.isVisible()
