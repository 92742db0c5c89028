"""Outputs and the rows of a request: recalled, excluded, cached, compared; one figure on every gauge."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import count, cycle
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from helix_desktop.context.summaries.observation import OBSERVE, REFINE
from helix_desktop.context.summaries.summary_task import OPENING
from helix_desktop.context.window.window import output_marker
from helix_desktop.domain.errors import CompactionRefused, OutputFormUnavailable
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import Excluded, FormChosen, SweepMade
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.tools.cache.index_recall import RecallArguments
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from helix_desktop.ui.chat.items.tool_card import unusual_words
from helix_desktop.ui.chat.rows.row_types import ToolRow, UserRow
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.intents import OpenOutput, Recall
from helix_desktop.ui.outputs.entry_actions import RecallMany, VerifyAllEntries
from helix_desktop.ui.outputs.rows import COLUMN_INDEX
from helix_desktop.ui.panel.panel_state import WindowRow
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Text,
    TokenCounts,
    replies_in_order,
    text_reply,
)
from tests.support.part_files import part_files
from tests.support.scripted_model import OBSERVATIONS, SUMMARY
from tests.support.window.buttons import press
from tests.support.window.chat_geometry import press_action
from tests.support.window.usage_checks import (
    check_cache_totals,
    check_gauge_accuracy,
    check_usage_displays,
    count_message_tokens,
    panel_rows,
    sidebar_item,
)
from tests.support.window.window_rig import WindowRig, calls_for_each_message, open_window, until

pytestmark = pytest.mark.qt_loop


LOG = "".join(f"step {number}: {'failed (x)' if number % 20 == 7 else 'ok'}\n" for number in range(1, 61))


async def test_what_is_recalled_goes_along_as_the_agent_gets_it(rig: WindowRig) -> None:
    """Whole, by lines, or those that find has; one that its file has outdated says so on every page."""
    read = StreamedReply(Call("read_file", '{"path": "log.txt"}', id="r"))
    replies = replies_in_order(read, *[text_reply("I see.") for _ in range(4)])
    async with rig.answered_by(replies, "project", {"log.txt": LOG}) as server:
        await rig.run_turn("Read it.")
        digest = rig.events(ToolAnswered)[0].digest
        rig.perform(OpenOutput(digest))
        outputs = rig.views.outputs.get()
        preview = outputs.preview
        await until(lambda: preview.digest == digest and preview.recall_button.isEnabled(), "the preview")
        await _check_the_lines_that_find_has(rig, digest)

        rig.perform(Recall(digest, 2, 4))
        await until(lambda: len(rig.attachment_labels()) == 1, "it goes along")
        assert "Edited since" not in rig.attachment_labels()[0]
        await until(rig.composer.editor.hasFocus, "ready to type")
        (rig.folder / "project" / "log.txt").write_text("two\n", encoding="utf-8")
        await rig.run_turn("And now?")
        (attached,) = rig.events(UserSpoke)[-1].attachments
        assert attached.text == "\n".join(LOG.splitlines()[1:4])
        assert attached.text in server.bodies[-1]["messages"][-1]["content"]
        label = rig.rows(UserRow)[-1].attachments[0].label
        assert "lines 2-4" in label
        assert "Edited since" in label.split(" · ")
        (card,) = rig.rows(ToolRow)
        assert [word.text for word in unusual_words(card)] == ["Edited since"]
        (panel,) = [row for row in panel_rows(rig) if row.digest == digest]
        assert panel.shown_states[-1] == "Edited since"
        rig.perform(Recall(digest))
        await until(lambda: len(rig.attachment_labels()) == 1, "it goes along again")
        assert "Edited since" in rig.attachment_labels()[0].split(" · ")
        await rig.run_turn("And whole?")
        assert rig.events(UserSpoke)[-1].attachments[0].text.encode() == await rig.workspace.store.get(digest)
        assert not rig.attachment_labels()

        rig.perform(OpenOutput(digest))
        pills = [pill for pill in preview.findChildren(Pill) if pill.text() == "Edited since"]
        await until(lambda: [pill.isVisible() for pill in pills] == [True], "the mark in the preview")
        cell = outputs.table.currentIndex().siblingAtColumn(COLUMN_INDEX["target"])
        await until(
            lambda: cell.data(Qt.ItemDataRole.AccessibleTextRole) == "log.txt · Edited since",
            "the mark in the list",
        )
        assert "has changed since" in cell.data(Qt.ItemDataRole.ToolTipRole)
        rig.perform(VerifyAllEntries())
        await until(lambda: "1 entry verified." in rig.banner_text(), "the outcome")
        assert preview.verified.text.startswith("Verified: "), "of the one that is shown"

        paste = rig.workspace.contents.attach_paste
        session_id = rig.conversation.session.id
        digests = [(await paste(session_id, f"{name}\n{LOG}")).digest for name in "ab"]
        for answer, count in (("cancel", 0), ("recall", 2)):
            rig.perform(RecallMany(tuple(digests)))
            dialog = await rig.dialog(QuestionDialog)
            assert any("≈ " in words.text() for words in dialog.findChildren(QLabel)), "what it costs"
            press(dialog, answer)
            await until(lambda: not rig.window.findChildren(QuestionDialog), "the answer")
            assert len(rig.attachment_labels()) == count


async def _check_the_lines_that_find_has(rig: WindowRig, digest: str) -> None:
    """Their number and cost are known before; other words take the offer away until they are counted."""
    outputs = rig.views.outputs.get()
    bar = outputs.preview.content.find_bar
    offer = outputs.preview.matches_button
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


FILES = {"long.txt": "".join(f"line {n} of src/part_{n}.py\n" for n in range(60))}
reader = calls_for_each_message("read_file", '{"path": "long.txt"}')


def row(rig: WindowRig, kind: str) -> WindowRow:
    return next(found for found in reversed(panel_rows(rig)) if found.kind == kind)


def select(rig: WindowRig, kind: str) -> None:
    """Put the keyboard on the newest row of a kind."""
    requests = rig.views.panel.requests
    requests.setFocus()
    requests.setCurrentIndex(requests.index_of_key(requests.key_of(row(rig, kind))))


async def answer(rig: WindowRig, button: str) -> str:
    """Answer the question that stands over the window; return its words."""
    dialog = await rig.dialog(QuestionDialog)
    press(dialog, button)
    return dialog.windowTitle()


async def test_rows_are_read_excluded_cached_and_recalled(rig: WindowRig) -> None:
    """In the panel, the chat and the cache; what a change costs is asked before, and notices take it back."""
    async with rig.answered_by(reader, "project", FILES) as server:
        rig.type_message("Read it", send=False)
        await until(lambda: "Message: ≈" in rig.composer._status.full_text(), "the estimate")
        words = rig.composer._status.full_text()
        await rig.use_server(server, window=1_500)
        await until(lambda: "room for" in rig.composer._status.full_text(), "too small a window")
        await rig.use_server(server)
        await rig.run_turn("")
        assert f"Message: ≈ {row(rig, 'user').tokens} tokens" in words
        await until(lambda: row(rig, "output").cachable > 0, "the row of the output")
        select(rig, "output")
        QTest.keyClick(rig.views.panel.requests, Qt.Key.Key_Return)
        rig.window.show_page("outputs")
        press(rig.views.panel, "show_in_chat")
        assert rig.window.page() == "chat"
        rig.views.panel.go_back()
        await _check_a_marker(rig)
        await _check_a_longer_line(rig)
        await _check_the_request(rig, server)
    await _check_recall_from_the_cache(rig)


async def _check_the_request(rig: WindowRig, server: ChatServer) -> None:
    """Its JSON is what the server gets; a newer one takes its place on request."""
    rig.window.commands.show_request.trigger()
    reader = rig.views.panel.reader
    text = reader.page.text
    await until(lambda: text.isVisible() and text.toPlainText(), "its text")
    assert output_marker(rig.events(ToolAnswered)[0]) in text.toPlainText()
    reader.switch.view_selected.emit("json")
    reader.page.copy_content()
    copied = json.loads(QGuiApplication.clipboard().text())
    shown = text.toPlainText()
    assert not reader.changed_button.isVisible()
    await rig.run_turn("And now?")
    sent = next(body for body in server.bodies if body["messages"][-1]["content"] == "And now?")
    assert copied == sent | {"messages": sent["messages"][: len(copied["messages"])]}
    await until(reader.changed_button.isVisible, "the line that says so")
    assert text.toPlainText() == shown, "nothing moves while it is read"
    reader.changed_button.click()
    await until(lambda: "And now?" in text.toPlainText(), "the next request")
    assert not reader.changed_button.isVisible()
    rig.views.panel.go_back()


async def _check_a_longer_line(rig: WindowRig) -> None:
    """Of what is shorter than the line in its place it says before what that costs; the ring stays."""
    await until(lambda: row(rig, "user").can_exclude, "the row of the message")
    before = row(rig, "user").tokens
    select(rig, "user")
    rig.window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
    QTest.keyClick(rig.views.panel.requests, Qt.Key.Key_X)
    question = await rig.dialog(QuestionDialog)
    words = [label.text() for label in question.findChildren(QLabel)]
    assert "Read it" in await answer(rig, "exclude")
    await until(lambda: row(rig, "user").state == "excluded", "the excluded row")
    assert len(rig.events(Excluded)) == 1
    rig.window.commands.undo_compaction.trigger()
    await until(lambda: row(rig, "user").state != "excluded", "undone")
    rig.window.commands.redo_compaction.trigger()
    await until(lambda: row(rig, "user").state == "excluded", "excluded again")
    added = row(rig, "user").tokens - before
    cost = f"Adds {added} tokens to every later request: the line in its place is longer."
    assert any(text.startswith(cost) for text in words), words
    rig.window.activateWindow()
    await until(rig.views.panel.requests.hasFocus, "the keyboard in the list again")
    is_by_keyboard = Qt.WidgetAttribute.WA_KeyboardFocusChange
    await until(lambda: rig.window.testAttribute(is_by_keyboard), "the ring again")


async def _check_a_marker(rig: WindowRig) -> None:
    """An output becomes a marker at once and is recalled."""
    await until(lambda: row(rig, "output").cachable > 0, "the row of the output")
    full = row(rig, "output").tokens
    select(rig, "output")
    requests = rig.views.panel.requests
    requests.button.click()
    await until(lambda: requests.findChildren(QMenu), "the menu")
    (menu,) = requests.findChildren(QMenu)
    entries = {action.objectName(): action for action in menu.actions()}
    assert {"row_cache", "row_pin", "row_exclude"} <= entries.keys()
    entries["row_cache"].trigger()
    menu.close()
    await answer(rig, "cache")
    await until(lambda: row(rig, "output").state == "cached", "the marker")
    assert "Cached “" in rig.banner_text()
    press(rig.window.notices, "undo")
    await until(lambda: row(rig, "output").tokens == full, "undone by the notice")
    commands = rig.window.commands
    commands.redo_compaction.trigger()
    await until(lambda: row(rig, "output").state == "cached", "the marker again")
    assert [event.reason.value for event in rig.events(SweepMade)] == ["manual"]
    assert row(rig, "output").tokens < full
    select(rig, "output")
    QTest.keyClick(rig.views.panel.requests, Qt.Key.Key_R)
    await until(lambda: row(rig, "output").state == "full", "the output in full")
    press_action(rig.chat.view, rig.rows(ToolRow)[-1], "cache_now")
    await answer(rig, "cache")
    await until(lambda: row(rig, "output").state == "cached", "the marker again")
    press_action(rig.chat.view, rig.rows(ToolRow)[-1], "send_all")
    await until(lambda: row(rig, "output").state == "full", "the output in full")
    assert not rig.events(FormChosen), "the caching is undone: no line claims it any more"
    press(rig.window.notices, "redo")
    await until(lambda: row(rig, "output").state == "cached", "the marker again")


async def _check_recall_from_the_cache(rig: WindowRig) -> None:
    """In the place of its marker, with the cost before; in full, the menu says why not."""
    async with rig.answered_by(reader, "cached", FILES):
        await rig.run_turn("Read it")
        (answer_event,) = rig.events(ToolAnswered)
        seq = next(e.seq for e in rig.conversation.session.log if e.event == answer_event)
        window = rig.conversation.window
        before = rig.conversation.window.measure()[0].estimate
        promised = await window.caching_savings(seq)
        await window.cache_now(seq)
        assert rig.events(SweepMade)[-1].anchors, "the names that are kept cost some of it"
        assert before - window.measure()[0].estimate == promised
        assert await window.caching_savings(seq) == 0
        rig.window.show_page("outputs")
        table = rig.views.outputs.get().table
        await until(lambda: [r for r in table.selected_rows() if r.state == "cached"], "the cached entry")
        item = entry_menu_item(rig)
        assert item.isEnabled()
        item.trigger()
        await answer(rig, "send")
        await until(
            lambda: "line 30 of src/part_30.py" in str(rig.conversation.window.measure()[0].request), "it"
        )
        assert not rig.events(FormChosen), "the caching is undone: no line claims it any more"
        await until(
            lambda: [r for r in table.selected_rows() if r.state == "in_window"], "the entry, in full"
        )
        item = entry_menu_item(rig)
        assert not item.isEnabled()
        assert item.toolTip() == "All of it is in the context."


def entry_menu_item(rig: WindowRig) -> QAction:
    """What the menu of the selected entry has to recall it into the context."""
    menu = rig.views.outputs.get().entry_actions.menu(rig.views.outputs.get().filter_bar)
    return next(item for item in menu.actions() if item.objectName() == "cache-send-full")


PARTS = part_files()
FACTORS = {24_000: 1.25, 200_000: 1.0, 32_000: 1.25}
"""How much more than Helix each model counts, by the size of its window."""
SWEEPING = {"protect_steps": 2, "protect_tokens": 2_500, "sweep": "at once", "handover_at": 0.95}


def _factor(model: str) -> float:
    return FACTORS[int(model.removeprefix("of"))]


class _RandomRun:
    """A seeded run of everything that changes the content of the next request."""

    def __init__(self, rig: WindowRig, seed: int) -> None:
        self.rig = rig
        self._random = Random(seed)
        self._parts = count()
        self._models = cycle(FACTORS)
        self._reported: set[str] = set()  # models that have reported their counts
        self._server: ChatServer | None = None

    async def answer(self, request: dict[str, Any]) -> StreamedReply:
        """Read a file, then end the turn; write requested summaries; report its own count."""
        messages = request["messages"]
        frame = self.rig.conversation.session.frame
        tokens = await count_message_tokens(self.rig, messages) + (
            frame.tools_tokens if request.get("tools") else 0
        )
        usage = TokenCounts(round(_factor(request["model"]) * tokens), 5)
        self._reported.add(request["model"])
        prompt = messages[-1]["content"]
        if messages[-1]["role"] == "user" and prompt.startswith(OPENING):
            return StreamedReply(Text(SUMMARY), usage=usage)
        if messages[-1]["role"] == "user" and prompt.startswith((OBSERVE, REFINE)):
            return StreamedReply(Text(OBSERVATIONS), usage=usage)
        if messages[-1]["role"] == "user":
            part = next(self._parts) % len(PARTS)
            return StreamedReply(
                Call("read_file", f'{{"path": "part{part}.txt"}}', id=f"c{tokens}"), usage=usage
            )
        return StreamedReply(Text("That is read."), usage=usage)

    async def use(self, server: ChatServer) -> None:
        self._server = server
        await self._model()

    async def step(self, what: str) -> None:
        """Do one thing, then compare every place with every other and with an own count."""
        before = self.rig.conversation.window.measure()[1].used
        handover_count = len(self.rig.events(HandoverMade))
        await getattr(self, f"_{what}")()
        await self.rig.wait_for_turn_end()
        model = self.rig.conversation.model.label.partition("/")[2]
        gauge = await check_gauge_accuracy(self.rig, _factor(model) if model in self._reported else 1.0)
        await check_usage_displays(self.rig)
        system = next(item.tokens for item in self.rig.conversation.window.items() if item.kind == "system")
        (value,) = (row.tokens for row in panel_rows(self.rig) if row.kind == "system")
        assert abs(value - system) <= system * 0.05 + 1, "by our count, with its share of a small difference"
        if len(self.rig.events(HandoverMade)) > handover_count:
            handover = self.rig.events(HandoverMade)[-1]
            assert (handover.before, handover.after) == (before, gauge.used), (
                "what the command line's timeline says"
            )

    def steps(self, times: int) -> list[str]:
        must = ["say", "say", "pin", "form", "say", "compact", "undo", "policy", "redo", "model", "say"]
        more = ["say", "undo", "redo", "observe", "pin", "unpin", "form", "policy", "model", "compact"]
        return must + self._random.choices(more, k=times)

    async def _say(self) -> None:
        await self.rig.run_turn("Read the next part, please.")

    async def _compact(self) -> None:
        with suppress(CompactionRefused):
            self.rig.conversation.handovers.start()

    async def _observe(self) -> None:
        with suppress(CompactionRefused):
            self.rig.conversation.observations.start()

    async def _undo(self) -> None:
        transcript = self.rig.conversation.session.transcript
        if undoable := [seq for seq in transcript.rewrites.by_seq if transcript.can_undo(seq)]:
            with suppress(CompactionRefused):  # one may stand inside a later one
                await self.rig.conversation.window.undo(self._random.choice(undoable))

    async def _redo(self) -> None:
        if undone := sorted(self.rig.conversation.session.transcript.rewrites.undone):
            with suppress(CompactionRefused):
                await self.rig.conversation.window.redo(self._random.choice(undone))

    def _output(self) -> int:
        answers = [
            entry.seq for entry in self.rig.conversation.session.log if isinstance(entry.event, ToolAnswered)
        ]
        return self._random.choice(answers)

    async def _pin(self) -> None:
        await self.rig.conversation.window.pin(self._output())

    async def _unpin(self) -> None:
        await self.rig.conversation.window.unpin(
            max(self.rig.conversation.session.transcript.rewrites.pinned, default=0)
        )

    async def _form(self) -> None:
        with suppress(OutputFormUnavailable):
            await self.rig.conversation.window.send_all(self._output())

    async def _policy(self) -> None:
        fields = {"user_text_tokens": self._random.choice((0, 20, 20_000)), "handover_at": 0.9}
        await self.rig.change_policy(**fields, protect_tokens=self._random.choice((100, 50_000)))
        self.rig.wiring.session.schedule_refresh()

    async def _model(self) -> None:
        assert self._server is not None
        window = next(self._models)
        await self.rig.use_server(self._server, f"of{window}", window)


async def test_every_gauge_matches_the_next_request(qapp: QApplication, tmp_path: Path) -> None:
    """After each of many turns, rewrites, undos and changes of policy and model; also after a restart."""
    cli = Cli.create(tmp_path)
    async with open_window(qapp, tmp_path) as rig:
        play = _RandomRun(rig, seed=41)  # its further steps are of six kinds
        async with ChatServer(play.answer) as server:
            identity = await rig.open_folder("ws", PARTS)
            await play.use(server)
            await rig.change_policy(**SWEEPING, handover_least_gain=0.0, fold_after_steps=4, fold_least=0)
            rig.window.show_page("timeline")
            for what in play.steps(6):
                await play.step(what)
            session_id = rig.conversation.session.id
            share = rig.conversation.window.measure()[1].share
            totals = await check_cache_totals(rig)
            await rig.wiring.workspace_controller.new_session()

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_workspace(identity)
        assert rig.workspace.find_open(session_id) is None
        await until(lambda: sidebar_item(rig, session_id).used == share, "the same share after a restart")
        await rig.wiring.workspace_controller.open_session(session_id)
        assert sidebar_item(rig).used == rig.conversation.window.measure()[1].share == share
        events = msgspec.json.decode(msgspec.json.encode(await rig.stored_events()))

    cache_list = await cli("cache", "list", "--workspace", "ws")
    assert cache_list.err.splitlines()[-1] == f"{totals} · tokens by Helix's count"
    timeline = await cli("timeline", "--workspace", "ws", "--json")
    (listing,) = [
        session_timeline for session_timeline in timeline.json if session_timeline["session"] == session_id
    ]
    listed = [(event["seq"], event["event"]["kind"]) for event in listing["events"]]
    assert listed == [pair for event in events if (pair := (event["seq"], event["event"]["kind"])) in listed]
    assert len(listed) > 4
