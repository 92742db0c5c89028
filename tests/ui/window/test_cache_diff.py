"""The diff of an entry with the previous version of the same file, on the workspace's own store."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit, Content
from tests.support.window.window_rig import open_window, until

pytestmark = pytest.mark.qt_loop
VERSIONS = b"one\ntwo\n", b"one\n2\n", b"one\n2\n3\n"


async def test_versions_are_compared_and_a_removed_one_says_so(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"a.txt": "words"})
        store = rig.workspace.store
        for data in VERSIONS:
            content = Content(digest_of(data), data, "read_file", "a.txt", "one", 4)
            await store.commit(Commit("s", contents=(content,)))
        first, second, third = map(digest_of, VERSIONS)
        rig.window.show_page("cache")
        cache = rig.views.cache.get()
        content_view = cache.preview.content
        diff_button = content_view.switch.findChild(QPushButton, "view-diff")
        assert diff_button is not None
        cache.select(second)
        await until(lambda: cache.preview.digest == second and diff_button.isEnabled(), "a version before it")
        content_view.choose("diff")
        await until(lambda: content_view.diff.diff is not None, "its diff")
        assert content_view.diff.diff is not None
        assert (content_view.diff.diff.added, content_view.diff.diff.removed) == (1, 1)
        content_view.choose("text")
        cache.select(third)
        await until(lambda: cache.preview.digest == third and diff_button.isEnabled(), "a version before it")
        await store.redaction.redact(RedactionRequest(digests=(second,)))
        content_view.choose("diff")
        await until(lambda: "removed" in content_view.diff.words.text().lower(), "why there is none")
        cache.select(first)
        await until(lambda: cache.preview.digest == first, "the first one")
        assert content_view.view == "text"
        assert not diff_button.isEnabled()
