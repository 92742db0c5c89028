"""The outputs in the complete window: recalled, out of date, verified, compared with earlier versions."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit, Content
from helix_desktop.tools.cache.index_recall import RecallArguments
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from helix_desktop.ui.chat.items.tool_card import unusual_words
from helix_desktop.ui.chat.rows.row_types import ToolRow, UserRow
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.intents import OpenCacheEntry, Recall
from helix_desktop.ui.outputs.entry_actions import RecallMany, VerifyAllEntries
from helix_desktop.ui.outputs.rows import COLUMN_INDEX
from tests.support.model_servers.chat_server import Call, StreamedReply, replies_in_order, text_reply
from tests.support.window.buttons import find_child, press
from tests.support.window.usage_checks import inspector_rows
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

VERSIONS = b"one\ntwo\n", b"one\n2\n", b"one\n2\n3\n"


LOG = "".join(f"step {number}: {'failed (x)' if number % 20 == 7 else 'ok'}\n" for number in range(1, 61))


async def test_what_is_recalled_goes_along_as_the_agent_gets_it(rig: WindowRig) -> None:
    """Whole, by lines, or those that find has; one that its file has outdated says so on every page."""
    read = StreamedReply(Call("read_file", '{"path": "log.txt"}', id="r"))
    replies = replies_in_order(read, *[text_reply("I see.") for _ in range(4)])
    async with rig.answered_by(replies, "project", {"log.txt": LOG}) as server:
        await rig.run_turn("Read it.")
        digest = rig.events(ToolAnswered)[0].digest
        rig.perform(OpenCacheEntry(digest))
        outputs = rig.views.outputs.get()
        preview = outputs.preview
        await until(lambda: preview.digest == digest and preview.recall_button.isEnabled(), "the preview")
        await _check_the_lines_that_find_has(rig, digest)

        rig.perform(Recall(digest, 2, 4))
        await until(lambda: len(rig.attachment_labels()) == 1, "it goes along")
        assert "File changed" not in rig.attachment_labels()[0]
        await until(rig.composer.editor.hasFocus, "ready to type")
        (rig.folder / "project" / "log.txt").write_text("two\n", encoding="utf-8")
        await rig.run_turn("And now?")
        (attached,) = rig.events(UserSpoke)[-1].attachments
        assert attached.text == "\n".join(LOG.splitlines()[1:4])
        assert attached.text in server.bodies[-1]["messages"][-1]["content"]
        label = rig.rows(UserRow)[-1].attachments[0].label
        assert "lines 2-4" in label
        assert "File changed" in label.split(" · ")
        (card,) = rig.rows(ToolRow)
        assert [word.text for word in unusual_words(card)] == ["File changed"]
        (panel,) = [row for row in inspector_rows(rig) if row.digest == digest]
        assert panel.shown_states[-1] == "File changed"
        rig.perform(Recall(digest))
        await until(lambda: len(rig.attachment_labels()) == 1, "it goes along again")
        assert "File changed" in rig.attachment_labels()[0].split(" · ")
        await rig.run_turn("And whole?")
        assert rig.events(UserSpoke)[-1].attachments[0].text.encode() == await rig.workspace.store.get(digest)
        assert not rig.attachment_labels()

        rig.perform(OpenCacheEntry(digest))
        pills = [pill for pill in preview.findChildren(Pill) if pill.text() == "File changed"]
        await until(lambda: [pill.isVisible() for pill in pills] == [True], "the mark in the preview")
        cell = outputs.table.currentIndex().siblingAtColumn(COLUMN_INDEX["target"])
        spoken = Qt.ItemDataRole.AccessibleTextRole
        await until(lambda: cell.data(spoken) == "log.txt · File changed", "the mark in the list")
        assert "has changed since" in cell.data(Qt.ItemDataRole.ToolTipRole)
        rig.perform(VerifyAllEntries())
        await until(lambda: "1 entry verified." in rig.banner_text(), "the outcome")
        assert preview.verified.text.startswith("Verified: "), "of the one that is shown"

        paste, session_id = rig.workspace.contents.attach_paste, rig.conversation.session.id
        digests = [(await paste(session_id, f"{name}\n{LOG}")).digest for name in "ab"]
        for answer, count in (("cancel", 0), ("recall", 2)):
            rig.perform(RecallMany(tuple(digests)))
            dialog = await rig.dialog(QuestionDialog)
            assert any("≈ " in words.text() for words in dialog.findChildren(QLabel)), "what it costs"
            press(dialog, answer)
            await until(lambda: not rig.window.findChildren(QuestionDialog), "the answer")
            assert len(rig.attachment_labels()) == count
    await _check_versions(rig)


async def _check_the_lines_that_find_has(rig: WindowRig, digest: str) -> None:
    """Their number and cost are known before; other words take the offer away until they are counted."""
    outputs = rig.views.outputs.get()
    bar, offer = outputs.preview.content.find_bar, outputs.preview.matches_button
    QTest.keyClick(outputs.table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
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
    (matches,) = rig.wiring.composer.attachments.current()
    tool = RecallCachedContent(
        rig.workspace.store, rig.wiring.services.counter.count, Ripgrep(find_ripgrep(), {})
    )
    arguments = RecallArguments(hash=digest, pattern=r"(?i)failed \(x\)", context=0)
    answer = await tool.run("c1", arguments)
    assert answer.model_text.partition("\n")[2] == matches.text
    await rig.run_turn("These lines?")
    (sent,) = rig.events(UserSpoke)[-1].attachments
    assert (sent.text, sent.label.endswith(", lines with “FAILED (x)”")) == (matches.text, True)
    assert not sent.is_whole, "all of it that is attached next is sent"


async def _check_versions(rig: WindowRig) -> None:
    """What was removed is no version to compare with, and says so."""
    store = rig.workspace.store
    for data in VERSIONS:
        content = Content(digest_of(data), data, "read_file", "a.txt", "one", 4)
        await store.commit(Commit("s", contents=(content,)))
    first, second, third = map(digest_of, VERSIONS)
    rig.window.show_page("cache")
    outputs = rig.views.outputs.get()
    content_view = outputs.preview.content
    diff_button = find_child(content_view.switch, QPushButton, "view-diff")
    outputs.select(second)
    await until(lambda: outputs.preview.digest == second and diff_button.isEnabled(), "a version before it")
    content_view.choose("diff")
    await until(lambda: content_view.diff.diff is not None, "its diff")
    assert content_view.diff.diff is not None
    assert (content_view.diff.diff.added, content_view.diff.diff.removed) == (1, 1)
    content_view.choose("text")
    outputs.select(third)
    await until(lambda: outputs.preview.digest == third and diff_button.isEnabled(), "a version before it")
    await store.redaction.redact(RedactionRequest(digests=(second,)))
    content_view.choose("diff")
    await until(lambda: "removed" in content_view.diff.words.text().lower(), "why there is none")
    outputs.select(first)
    await until(lambda: outputs.preview.digest == first, "the first one")
    assert content_view.view == "text"
    assert not diff_button.isEnabled()
