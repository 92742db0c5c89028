"""Recall of lines and of matches from the cache browser, in the complete window by keyboard."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication

from helix_desktop.tools.cache.index_recall import RecallArguments
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from helix_desktop.ui.cache.recall.dialog import RecallDialog
from tests.support.window.keyboard_focus import focused_widget
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

LOG = "".join(f"step {number}: {'failed' if number % 20 == 7 else 'ok'}\n" for number in range(1, 61))


async def open_dialog(rig: WindowRig, digest: str, *, by_key: bool) -> RecallDialog:
    """Select an entry, and press the key or the button of its preview."""
    rig.wiring.navigation.show_cache_entry(digest)
    table = rig.views.cache.table
    await until(lambda: table.current_digest() == digest and table.current_row(), "the entry is selected")
    preview = rig.views.cache.preview
    await until(lambda: preview.digest == digest and preview.part_button.isEnabled(), "it is in the preview")
    if by_key:
        QTest.keyClicks(table, "r")
    else:
        preview.part_button.click()
    await until(lambda: rig.wiring.recalls.dialog is not None, "the dialog is made")
    dialog = rig.wiring.recalls.dialog
    assert dialog is not None
    await until(dialog.isActiveWindow, "the dialog has the keyboard")
    return dialog


def says_so(dialog: RecallDialog, words: str) -> bool:
    """Return True if it says these words of what was typed."""
    return words in dialog.summary.text()


async def attach_log(rig: WindowRig) -> str:
    """Open a workspace with one output, and return its digest."""
    await rig.open_folder("project")
    return (await rig.workspace.contents.attach_paste(rig.conversation.session.id, LOG)).digest


async def test_matching_lines_are_recalled_as_the_agent_does(qapp: QApplication, tmp_path: Path) -> None:
    """Hits and cost are known before; what is wrong with a pattern is said; Enter waits for the answer."""
    async with open_window(qapp, tmp_path) as rig:
        digest = await attach_log(rig)
        dialog = await open_dialog(rig, digest, by_key=True)
        summary = dialog.summary
        assert not dialog.recall_button.isEnabled()
        await until(dialog.pattern.hasFocus, "the user can type at once")
        QTest.keyClick(dialog.pattern, Qt.Key.Key_Backtab)
        checked = focused_widget()
        assert checked.objectName() == "view-pattern", "the checked one of the three"
        dialog.pattern.setFocus()
        QTest.keyClicks(dialog.pattern, "(fail")
        await until(lambda: "Unclosed group" in summary.text(), "it says what is wrong")
        assert dialog.pattern.property("invalid")
        assert not dialog.recall_button.isEnabled()
        QTest.keyClicks(dialog.pattern, "ed)")
        await until(lambda: "3 matching lines" in summary.text(), "the hits are counted")
        assert "≈" in dialog.summary.text()
        dialog.pattern.clear()
        QTest.keyClicks(dialog.pattern, "(?i)FAILED")
        QTest.keyClick(dialog.pattern, Qt.Key.Key_Return)  # before it was looked for
        await until(lambda: len(rig.attachment_labels()) == 1, "it goes along")
        assert rig.window.page() == "chat"

        store, count = rig.workspace.store, rig.wiring.services.counter.count
        (matches,) = rig.wiring.session_controller.composer.attachments.current()
        tool = RecallCachedContent(store, count, Ripgrep(find_ripgrep(), {}))
        answer = await tool.run("c1", RecallArguments(hash=digest, pattern="(?i)FAILED", context=2))
        assert answer.model_text.partition("\n")[2] == matches.text
        assert "lines that match" in rig.attachment_labels()[0]


async def test_lines_are_recalled_and_what_there_is_not_is_said(qapp: QApplication, tmp_path: Path) -> None:
    """Lines that can't be read, or that the output does not have, are named before anything is recalled."""
    async with open_window(qapp, tmp_path) as rig:
        digest = await attach_log(rig)
        dialog = await open_dialog(rig, digest, by_key=False)
        button = dialog.switch.findChild(QAbstractButton, "view-lines")
        assert button is not None
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        assert says_so(dialog, "Write lines such as 10-40."), "nothing is wrong yet"
        assert not dialog.lines.property("invalid")
        for typed, says in (
            ("9-3", "These lines can't be read."),
            ("900-", "It has 60 lines."),
            ("61", "It has 60 lines."),
        ):
            dialog.lines.clear()
            QTest.keyClicks(dialog.lines, typed)
            await until(partial(says_so, dialog, says), "it says so")
        for typed, says in (
            ("50-100", "It has 60 lines; lines 50–60 are recalled · ≈ "),
            ("60-100", "It has 60 lines; line 60 is recalled · ≈ "),
        ):
            dialog.lines.clear()
            QTest.keyClicks(dialog.lines, typed)
            await until(partial(says_so, dialog, says), "it says what there is")
        assert dialog.recall_button.isEnabled()
        dialog.lines.clear()
        QTest.keyClicks(dialog.lines, "7-8")
        await until(dialog.recall_button.isEnabled, "there are such lines")
        dialog.recall_button.click()
        await until(lambda: len(rig.attachment_labels()) == 1, "they go along")
        (lines,) = rig.wiring.session_controller.composer.attachments.current()
        assert lines.text == "step 7: failed\nstep 8: ok"
