"""The cache in the complete window: diffs with earlier versions, recall of lines, removed outputs."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit, Content
from helix_desktop.tools.cache.index_recall import RecallArguments
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from helix_desktop.ui.chat.actions import ToggleSection
from helix_desktop.ui.chat.items.tool_card import unusual_words
from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import ToolRow, UserRow
from helix_desktop.ui.chat.viewport.interactions import menu_groups
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.intents import OpenCacheEntry, Recall, RemoveSecret
from helix_desktop.ui.outputs.entry_actions import RecallMany
from helix_desktop.ui.outputs.rows import COLUMN_INDEX
from helix_desktop.ui.window.redaction import confirmation_word
from helix_desktop.words.times import format_date
from tests.support.model_servers.chat_server import (
    Call,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_child, press
from tests.support.window.chat_geometry import click_area
from tests.support.window.redact_dialog import forget_dialog
from tests.support.window.usage_checks import inspector_rows
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

VERSIONS = b"one\ntwo\n", b"one\n2\n", b"one\n2\n3\n"


async def test_versions_are_compared_and_a_removed_one_says_so(rig: WindowRig) -> None:
    await rig.open_folder("project", {"a.txt": "words"})
    store = rig.workspace.store
    for data in VERSIONS:
        content = Content(digest_of(data), data, "read_file", "a.txt", "one", 4)
        await store.commit(Commit("s", contents=(content,)))
    first, second, third = map(digest_of, VERSIONS)
    rig.window.show_page("cache")
    cache = rig.views.cache.get()
    content_view = cache.preview.content
    diff_button = find_child(content_view.switch, QPushButton, "view-diff")
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


async def test_an_outdated_output_has_one_mark_everywhere(rig: WindowRig) -> None:
    """In chat, panel, outputs and their preview, and on the chip of what the user recalls of it."""
    read = StreamedReply(Call("read_file", '{"path": "a.txt"}', id="r"))
    replies = replies_in_order(read, text_reply("Read."), text_reply("I see."))
    async with rig.answered_by(replies, "project", {"a.txt": "one\n"}):
        await rig.run_turn("Read it.")
        digest = rig.events(ToolAnswered)[0].digest
        rig.perform(Recall(digest))
        await until(lambda: len(rig.attachment_labels()) == 1, "it goes along")
        assert "Outdated" not in rig.attachment_labels()[0]
        (rig.folder / "project" / "a.txt").write_text("two\n", encoding="utf-8")
        await rig.run_turn("And now?")
        (card,) = rig.rows(ToolRow)
        assert [word.text for word in unusual_words(card)] == ["Outdated"]
        assert "Outdated" in rig.rows(UserRow)[-1].attachments[0].label.split(" · ")
        (panel,) = [row for row in inspector_rows(rig) if row.digest == digest]
        assert panel.shown_states[-1] == "Outdated"
        rig.perform(Recall(digest))
        await until(lambda: len(rig.attachment_labels()) == 1, "it goes along again")
        assert "Outdated" in rig.attachment_labels()[0].split(" · ")
        rig.perform(OpenCacheEntry(digest))
        cache = rig.views.cache.get()
        await until(lambda: cache.preview.digest == digest, "the preview")
        (mark,) = [pill for pill in cache.preview.findChildren(Pill) if pill.text() == "Outdated"]
        assert mark.isVisible()
        cell = cache.table.currentIndex().siblingAtColumn(COLUMN_INDEX["target"])
        assert cell.data(Qt.ItemDataRole.AccessibleTextRole) == "a.txt · Outdated"
        assert "has changed since" in cell.data(Qt.ItemDataRole.ToolTipRole)


LOG = "".join(f"step {number}: {'failed (x)' if number % 20 == 7 else 'ok'}\n" for number in range(1, 61))


async def test_the_lines_that_find_has_are_recalled_as_the_agent_does(rig: WindowRig) -> None:
    """Their number and cost are known before; other words take the offer away until they are counted."""
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


async def test_very_many_are_recalled_after_a_question_that_names_their_cost(rig: WindowRig) -> None:
    await rig.open_folder("project")
    session_id = rig.conversation.session.id
    digests = [(await rig.workspace.contents.attach_paste(session_id, f"{n}\n{LOG}")).digest for n in "ab"]
    for answer, attached in (("cancel", 0), ("recall", 2)):
        rig.perform(RecallMany(tuple(digests)))
        dialog = await rig.dialog(QuestionDialog)
        assert any("≈ " in words.text() for words in dialog.findChildren(QLabel))
        press(dialog, answer)
        await until(lambda: not rig.window.findChildren(QuestionDialog), "the answer")
        assert len(rig.attachment_labels()) == attached


SECRET = "sk-live-Zq83hd02jfQ"


async def test_the_card_of_a_removed_output_says_when_and_leads_nowhere(rig: WindowRig) -> None:
    """Found by its text, and named in the cache."""
    read = StreamedReply(Call("read_file", '{"path": "env.txt"}', id="r"))
    for folder in ("by-text", "by-entry"):
        async with rig.answered_by(
            replies_in_order(read, text_reply("Read.")), folder, {"env.txt": f"KEY={SECRET}\n"}
        ):
            await rig.run_turn("Look into env.txt.")
            digest = rig.events(ToolAnswered)[0].digest
            await _remove(rig, digest if folder == "by-entry" else "")
            await _check_the_card(rig)
            await _check_the_way_to_it(rig, digest)


async def _remove(rig: WindowRig, digest: str) -> None:
    if digest:
        rig.perform(RemoveSecret(digest))
    else:
        rig.window.commands.forget.trigger()
    dialog = await forget_dialog(rig)
    if not digest:
        dialog.text_input.setPlainText(SECRET)
    press(dialog, "search")
    await until(lambda: dialog.step == "found", "what was found")
    QTest.keyClicks(dialog.confirm_input, confirmation_word())
    press(dialog, "redact")
    await until(lambda: dialog.step == "done", "the end")
    press(dialog, "cancel")
    await until(lambda: rig.wiring.session.has_conversation and rig.rows(ToolRow), "the session again")


async def _check_the_card(rig: WindowRig) -> None:
    await until(lambda: rig.rows(ToolRow)[0].removed_at_ms, "the card")
    row = rig.rows(ToolRow)[0]
    assert "removed as a secret" in accessible_name(row)
    assert "in context" not in accessible_name(row)
    assert [entry.name for group in menu_groups(row) for entry in group] == []
    click_area(rig.chat.view, row.key, "open:card")
    viewport = rig.chat.view.chat_viewport
    index = viewport.model.index_of(row.key)
    assert index is not None
    await until(lambda: viewport.item(index).hit_area_for(ToggleSection), "the open card")
    item = viewport.item(index)
    words = "\n".join(text.document.toPlainText() for text in item.texts)
    assert f"You removed this output as a secret on {format_date(row.removed_at_ms)}." in words
    assert item.hit_area("cache:open") is None


async def _check_the_way_to_it(rig: WindowRig, digest: str) -> None:
    """A link of a card in the timeline still has the digest."""
    rig.perform(OpenCacheEntry(digest))
    await until(lambda: "You removed this output as a secret on" in rig.banner_text(), "the notice")
    assert rig.views.chat.isVisible(), "not a page without the entry"
