"""Recall of matching lines from the cache browser, in the complete window by keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.tools.cache.index_recall import RecallArguments
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from helix_desktop.ui.cache.entry_actions import RecallMany
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.intents import OpenCacheEntry
from tests.support.window.buttons import press
from tests.support.window.window_rig import open_window, until

pytestmark = pytest.mark.qt_loop

LOG = "".join(f"step {number}: {'failed (x)' if number % 20 == 7 else 'ok'}\n" for number in range(1, 61))


async def test_the_lines_that_find_has_are_recalled_as_the_agent_does(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Their number and cost are known before; other words take the offer away until they are counted."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        digest = (await rig.workspace.contents.attach_paste(rig.conversation.session.id, LOG)).digest
        rig.perform(OpenCacheEntry(digest))
        preview = rig.views.cache.get().preview
        await until(lambda: preview.digest == digest and preview.recall_button.isEnabled(), "the preview")
        bar, offer = preview.content.find_bar, preview.matches_button
        QTest.keyClick(rig.views.cache.get().table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
        await until(bar.field.hasFocus, "find is open")
        QTest.keyClicks(bar.field, "failed")
        await until(lambda: offer.text().startswith("Recall 3 matching lines · ≈ "), "the offer")
        QTest.keyClicks(bar.field, " now")
        await until(lambda: bar.count.text == "No results", "other words")
        assert offer.isHidden()
        bar.field.setText("FAILED (x)")
        await until(offer.isVisible, "words are no pattern, and their case doesn't count")
        offer.click()
        await until(lambda: len(rig.attachment_labels()) == 1, "they go along")
        assert rig.window.page() == "chat"

        store, count = rig.workspace.store, rig.wiring.services.counter.count
        (matches,) = rig.wiring.composer.attachments.current()
        tool = RecallCachedContent(store, count, Ripgrep(find_ripgrep(), {}))
        arguments = RecallArguments(hash=digest, pattern=r"(?i)failed \(x\)", context=0)
        answer = await tool.run("c1", arguments)
        assert answer.model_text.partition("\n")[2] == matches.text


async def test_very_many_are_recalled_after_a_question_that_names_their_cost(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        session_id = rig.conversation.session.id
        digests = [
            (await rig.workspace.contents.attach_paste(session_id, f"{n}\n{LOG}")).digest for n in "ab"
        ]
        for answer, attached in (("cancel", 0), ("recall", 2)):
            rig.perform(RecallMany(tuple(digests)))
            await until(lambda: rig.window.findChildren(QuestionDialog), "the question")
            (dialog,) = rig.window.findChildren(QuestionDialog)
            assert any("≈ " in words.text() for words in dialog.findChildren(QLabel))
            press(dialog, answer)
            await until(lambda: not rig.window.findChildren(QuestionDialog), "the answer")
            assert len(rig.attachment_labels()) == attached
