"""Handovers and observations by hand: written, compared, edited, used, undone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFrame, QLabel

from helix_desktop.context.log.undo_targets import last_change
from helix_desktop.context.summaries.sections import TITLES, ordered_sections
from helix_desktop.domain.cost import Spending, spending_of
from helix_desktop.domain.events.rewrite import HandoverTrigger, PlacementReason, SummaryProblem
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    Bullet,
    HandoverDiscarded,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.ui.chat.actions import CompactUpTo
from helix_desktop.ui.chat.rows.row_types import DividerRow, NoticeRow
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.handover.versions import NOW
from helix_desktop.ui.handover.window import HandoverWindow
from helix_desktop.ui.kit.intents import (
    Compact,
    ExportHandover,
    Undo,
)
from helix_desktop.ui.kit.notices import REFUSED_COMPACTION
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.page import Timeline
from helix_desktop.ui.window.import_export import DocumentDialog
from helix_desktop.words.numbers import format_token_count
from tests.support.model_servers.chat_server import ChatServer, Reply, StreamedReply, Text, Wait, text_reply
from tests.support.part_files import part_files, read_part
from tests.support.timeline_pane import find_card, has, pills, top
from tests.support.timeline_pane import press as press_card
from tests.support.window.buttons import press
from tests.support.window.chat_geometry import action_names, press_action
from tests.support.window.handover_window import (
    BY_HAND,
    has_draft,
    notes,
    open_after_two_turns,
    open_handovers,
    opened_handovers,
    section,
    shown_text,
)
from tests.support.window.window_rig import WindowRig, act, until

pytestmark = pytest.mark.qt_loop

FILES = part_files(7, 200)

READ = [f"{name} was read from the first line to the last; each line holds some words" for name in FILES]

SUMMARY = "\n".join(
    [*(f"## {title}\n- Words about it. [e4]" for title in TITLES), *(f"- {line}" for line in READ * 2)]
)

OBSERVED = f"- (1) The files have parts. [e4]\n- (3) {'; '.join(READ)}"


class Summarizer:
    """A model that reads some files, then answers briefly, and summarizes on request."""

    def __init__(self, summary: Reply | None = None) -> None:
        self.summary: Reply = summary or text_reply(SUMMARY)
        self.observed = OBSERVED
        self.prompts: list[str] = []
        self.go = asyncio.Event()
        self.go.set()

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Answer a request by its last message."""
        messages = request["messages"]
        last = str(messages[-1]["content"])
        if last.startswith(("[Write a handover]", "[Write observations]")):
            self.prompts.append(last)
            return text_reply(self.observed) if last.startswith("[Write obs") else self.summary
        done = sum(message["role"] == "assistant" for message in messages)
        if done < len(FILES):
            return StreamedReply(read_part(done))
        return text_reply("All read.")


async def _closed(rig: WindowRig) -> None:
    await until(lambda: rig.wiring.rewrites.handover_window is None, "the window closed")


async def _undo(rig: WindowRig) -> None:
    """Undo the newest handover: all of the history is in the context again."""
    rig.window.commands.undo_compaction.trigger()
    await until(lambda: rig.conversation.session.transcript.window.handover is None, "undone")


async def test_a_draft_is_written_kept_changed_and_handed_over(rig: WindowRig) -> None:
    """Nothing is compacted before "Hand over"; a handover is undone, and a new draft begins anew."""
    model = Summarizer()
    async with ChatServer(model) as server:
        await rig.begin("project", FILES, server, **BY_HAND)
        await _check_an_empty_history(rig)
        await rig.run_turn("And now?")
        await _check_stopping(rig, model)
        await _check_own_words(rig, model)
        await _check_shorter_range(rig, model)


async def _check_an_empty_history(rig: WindowRig) -> None:
    """Without anything to compact no dialog opens: a banner says so until there is something."""
    rig.wiring.session.perform(Compact())
    await until(lambda: "Nothing to compact yet" in rig.banner_text(), "the reason")
    frames = rig.window.notices.findChildren(QFrame)
    assert [frame.property("level") for frame in frames if frame.property("role") == "notice"] == ["info"]
    assert not [dialog for dialog in rig.window.findChildren(HandoverWindow) if dialog.isVisible()]
    await rig.run_turn("Read everything")
    await until(lambda: rig.banner_text() == "", "no banner: what it asked for has been done")
    await _closed(rig)


async def _check_stopping(rig: WindowRig, model: Summarizer) -> None:
    """Writing can be stopped and started again; a draft counts in the session's usage, and stays as left."""
    model.summary = StreamedReply(Text("## Project Background\n- Wor"), Wait(asyncio.Event()))
    window = await open_handovers(rig)
    assert (window.windowTitle(), window.write_button.text()) == (
        "Compact conversation",
        "Have the model write it",
    )
    assert window.session_button.isHidden()
    press(window, "write_draft")
    await until(lambda: "- Wor" in window.model_output.toPlainText(), "what has arrived")
    unstopped = rig.conversation.budget.spent.tokens
    press(window, "stop")
    await until(lambda: window.seq == NOW, "the choice again")
    assert window.problem == ""
    (stopped,) = rig.events(HandoverDiscarded)
    assert stopped.estimated
    assert stopped.spent == rig.conversation.budget.spent.tokens - unstopped > 0
    model.summary = text_reply(SUMMARY)
    window.ranges.focus.setText("the parts")
    before = rig.conversation.budget.spent.tokens
    press(window, "write_draft")
    await until(lambda: has_draft(window), "the draft")
    paid = rig.conversation.budget.spent.tokens
    written = (await rig.stored_events())[-1].event
    assert isinstance(written, HandoverDiscarded)
    assert written.draft is not None, "a kill would not lose it"
    assert written.spent == paid - before > 0
    window.fields[0].editor.appendPlainText("- Another.")
    left = _shown_draft(window)
    press(window, "close")
    await _closed(rig)
    window = await open_handovers(rig)
    await until(lambda: has_draft(window), "the draft as it was left, without a request")
    assert _shown_draft(window) == left
    QTest.keyClick(window.fields[0].editor, Qt.Key.Key_Escape)
    await _closed(rig)
    assert rig.conversation.budget.spent.tokens == paid, "it is paid for once"
    assert rig.events(HandoverMade) == []
    assert rig.window.jobs.isHidden()


def _shown_draft(window: HandoverWindow) -> list[object]:
    pills = [pill.text() for pill in window.findChildren(Pill) if pill.isVisible()]
    figures = [words for words in pills if words != "Source"]
    return [shown_text(window), figures, window.ranges.box.currentText(), window.ranges.focus.text()]


def _shown_labels(window: HandoverWindow) -> list[str]:
    return [words.text() for words in window.findChildren(QLabel) if words.isVisible()]


async def _check_own_words(rig: WindowRig, model: Summarizer) -> None:
    """The user names a focus, changes the draft and hands over; undo brings everything back."""
    model.summary = text_reply(SUMMARY)
    model.prompts.clear()
    dialog = await open_handovers(rig)
    before = rig.conversation.window.measure()[0]
    dialog.ranges.focus.setText("the fourth file")
    press(dialog, "write_draft")
    await until(lambda: has_draft(dialog) and model.prompts, "the draft")
    counts = dialog.ranges.box.currentText().partition(" · ")[2]
    assert notes(dialog)[0].startswith(f"Replaces {counts}. Context: ")
    assert "tool call" in counts
    assert "the fourth file" in model.prompts[0]
    assert rig.events(HandoverMade) == []
    assert rig.conversation.window.measure()[0] == before
    assert {field.title for field in dialog.fields} == {*TITLES}
    section(dialog, TITLES[0]).editor.setPlainText("- My own words. [e4]")
    press(dialog, "hand_over")
    await _closed(rig)
    handover = rig.events(HandoverMade)[-1]
    assert (handover.trigger, handover.edited) == (HandoverTrigger.MANUAL, True)
    assert spending_of(handover) == Spending(), "its draft counts what it took"
    assert handover.focus == "the fourth file"
    assert handover.sections[0].bullets[0].text == "My own words."
    assert rig.conversation.window.measure()[0].estimate < before.estimate
    await until(lambda: any(row.kind == "context" for row in rig.rows(DividerRow)), "the divider")

    rig.window.commands.undo_compaction.trigger()
    await until(lambda: any(row.is_undone for row in rig.rows(DividerRow)), "undone")
    assert rig.conversation.window.measure()[0] == before


async def _check_shorter_range(rig: WindowRig, model: Summarizer) -> None:
    """What is chosen in the chat ends there; what a handover covers already is run again."""
    model.summary = text_reply(SUMMARY)
    dialog = await open_handovers(rig)
    assert dialog.ranges.box.count() > 1
    end = dialog.ranges.box.itemData(dialog.ranges.box.count() - 2)  # the last one is for a new session
    dialog.reject()
    await _closed(rig)
    rig.perform(CompactUpTo(end))
    dialog = await opened_handovers(rig)
    assert dialog.ranges.box.currentData() == end
    press(dialog, "write_draft")
    await until(lambda: has_draft(dialog), "the draft")
    press(dialog, "hand_over")
    await _closed(rig)
    assert rig.events(HandoverMade)[-1].upto == end
    first = rig.conversation.session.transcript.messages.items[0].seq
    rig.perform(CompactUpTo(first))  # covered already: that one again
    dialog = await opened_handovers(rig)
    active = rig.conversation.session.transcript.window.handover
    assert active is not None
    assert dialog.seq == active[0]
    assert dialog.write_button.text() == "Write again"
    dialog.reject()
    await _closed(rig)


async def test_compact_uses_what_is_shown_at_once_and_undo_brings_the_messages_back(rig: WindowRig) -> None:
    """No model is asked; a further turn is answered behind the summary that was on screen."""
    async with ChatServer(Summarizer()) as server:
        window = await open_after_two_turns(rig, server, FILES)
        await until(window.use_button.hasFocus, "the text")
        sent = len(server.requests)
        before = rig.conversation.window.measure()[0]
        shown = [bullet.accessibleName() for bullet in window.findChildren(BulletView) if bullet.isVisible()]
        used = notes(window)[0].partition("→ ")[2]
        assert shown
        assert not window.versions.isVisible(), "there is no other version"
        assert "Nothing recorded" not in _shown_labels(window)
        QTest.keyClick(window.use_button, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        await _closed(rig)
        (made,) = rig.events(HandoverMade)
        assert (made.model, made.trigger, made.spent) == (NO_MODEL, HandoverTrigger.MANUAL, 0)
        texts = [bullet.text for section in ordered_sections(made.sections) for bullet in section.bullets]
        assert all(words.startswith(text) for words, text in zip(shown, texts, strict=True))
        assert used.startswith(format_token_count(made.after))
        assert rig.conversation.window.measure()[1].used == made.after < made.before
        assert len(server.requests) == sent
        await until(lambda: any(row.kind == "context" for row in rig.rows(DividerRow)), "the divider")
        await rig.run_turn("Go on")
        assert "[Conversation History Summary]" in str(server.bodies[-1]["messages"])
        await _undo(rig)
        assert rig.conversation.window.measure()[0].estimate > before.estimate, "with the turn since"


def _is_in_sight(timeline: Timeline, seq: int) -> bool:
    return find_card(timeline, seq) is not None and top(timeline, seq) is not None


async def test_handovers_and_observations_are_compared_written_again_edited_and_undone(
    rig: WindowRig,
) -> None:
    """Run again, it is compared with the first one; edited, it is checked; an undone one is read only."""
    model = Summarizer()
    async with ChatServer(model) as server:
        (await open_after_two_turns(rig, server, FILES)).reject()
        await _closed(rig)
        handovers = rig.conversation.handovers
        await handovers.writer.commit(await handovers.writer.draft())
        (first,) = rig.conversation.session.transcript.rewrites.handovers
        await _check_exporting(rig, first)
        await _check_running_again(rig, model, first)
        await _check_editing(rig, first)
        await _check_observations(rig, model, server)


async def _check_exporting(rig: WindowRig, first: int) -> None:
    """What is exported is called as its card is, and is on screen before it is saved."""
    rig.perform(ExportHandover(first))
    dialog = await rig.dialog(DocumentDialog)
    assert dialog.windowTitle() == "Export “Handover summary of 6 tool calls of turn 1”"
    names = [f"Handover-summary-of-6-tool-calls-of-turn-1.{end}" for end in ("md", "html", "jsonl")]
    assert list(dialog.texts) == names
    assert "## Technical Details" in str(dialog.texts["Handover-summary-of-6-tool-calls-of-turn-1.md"])
    dialog.reject()
    await until(lambda: not rig.window.findChildren(DocumentDialog), "the dialog gone")


async def _check_running_again(rig: WindowRig, model: Summarizer, first: int) -> None:
    """What differs is shown before it takes the place of the first one; undo brings that one back."""
    rig.type_message("/compact the fourth file")  # nothing new to summarize
    window = await opened_handovers(rig)
    assert (window.seq, window.ranges.focus.text()) == (first, "the fourth file")
    await until(lambda: window.ranges.price.text().startswith("box/small would read"), "price and model")
    window.resize(860, 700)
    places = list[QPoint]()
    for price in ("", window.ranges.price.text()):
        window.ranges.price.setText(price)
        await asyncio.sleep(0.05)
        places.append(window.write_button.mapTo(window, QPoint()))
    assert places[0] == places[1], "no click misses it when the price comes"
    model.summary = text_reply(SUMMARY.replace("Words about it.", "All new!", 1))
    press(window, "write_draft")
    await until(lambda: has_draft(window), "the draft")
    assert window.title.text() == "Draft of “Handover summary of 6 tool calls of turn 1”"
    await until(lambda: {"Dropped (1)", "Added (1)"} <= {*_shown_labels(window)}, "what differs")
    press(window, "hand_over")
    await _closed(rig)
    again = rig.events(HandoverMade)[-1]
    assert (again.replaces, again.focus) == ((first,), "the fourth file")
    rows = {row.key.seq: row for row in rig.rows(DividerRow) if row.kind == "context"}
    assert not rows[first].is_undone
    handover = rig.conversation.session.transcript.window.handover
    assert handover is not None
    assert Undo((handover[0],)) in rows[first].actions, "of the one that replaced it before the same request"
    rig.window.commands.undo_compaction.trigger()
    active = rig.conversation.session.transcript
    await until(lambda: active.window.handover and active.window.handover[0] == first, "the former one again")
    words = "1 earlier handover summary is in its place again."
    await until(lambda: words in rig.banner_text(), "that no message is back, but the summary before it")


async def _check_editing(rig: WindowRig, count: int) -> None:
    """Six fields are checked while typing, compared with the original, and saved."""
    transcript = rig.conversation.session.transcript
    rig.window.show_page("timeline")
    await until(lambda: find_card(rig.views.timeline.get(), count), "the card")
    press_card(rig.views.timeline.get(), count, "edit")
    window = await opened_handovers(rig)
    assert {field.title for field in window.fields} == {*TITLES}
    assert window.fields[0].editor.hasFocus()
    assert window.save_button.isHidden()
    before = window.tokens.text()
    for field in window.fields:
        field.editor.setPlainText("- Words about it. [e4]")
    section(window, TITLES[1]).editor.setPlainText("My own words [e4]")
    await until(lambda: window.tokens.text() != before and not window.problem, "checked again")
    bar = rig.views.timeline.get().cards.verticalScrollBar()
    bar.setValue(bar.maximum())
    press(window, "save")
    await until(lambda: window.seq != count, "saved")
    window.reject()
    await _closed(rig)
    active = transcript.window.handover
    assert active is not None
    assert (active[1].revises, active[1].sections[1].bullets) == (count, (Bullet("My own words", (4,)),))
    assert transcript.rewrites.handovers[count].sections[1].bullets[0].text == "Words about it."
    await act(lambda: rig.perform(Undo((count,))))
    assert REFUSED_COMPACTION in rig.window.notices.names(), "the edited one stands in its place"
    assert last_change(transcript) == active[0]
    timeline = rig.views.timeline.get()
    await until(lambda: _is_in_sight(timeline, active[0]), "the new card comes into sight")
    pill = "Replaced by “Handover summary of 6 tool calls of turn 1, edited”"
    await until(lambda: pill in pills(timeline, count), "the card says it too")


async def approve_notes(rig: WindowRig) -> None:
    """Answer the question that shows the price of notes that the user asked for."""
    await until(lambda: "Summarize older messages?" in rig.banner_text(), "the price")
    assert "tokens · price unknown" in rig.banner_text()
    press(rig.window.notices, "spend-observations:allow")


async def _check_observations(rig: WindowRig, model: Summarizer, server: ChatServer) -> None:
    """Observations that say nothing: the notice and the card say so, and both offer another try."""
    model.observed = "- (1) Things were done."
    await rig.begin("observed", FILES, server, **BY_HAND)
    rig.window.commands.observe_now.trigger()
    await until(lambda: "All older messages are compacted already" in rig.banner_text(), "the reason")
    for text in ("Read everything", "And now?", "And again?"):
        await rig.run_turn(text)
    rig.window.commands.observe_now.trigger()
    await approve_notes(rig)
    await until(lambda: rig.events(ObservationsFailed), "the refusal")
    (failed,) = rig.events(ObservationsFailed)
    assert (failed.problem, failed.refused) == (SummaryProblem.SHORT, model.observed)
    assert rig.events(ObservationsMade) == []
    notice = next(row for row in rig.rows(NoticeRow) if action_names(row) == ("observe_again",))
    rig.window.show_page("timeline")
    again = f"timeline-try-again-{notice.key.seq}"
    await until(
        lambda: (
            find_card(rig.views.timeline.get(), notice.key.seq)
            and has(rig.views.timeline.get(), notice.key.seq, again)
        ),
        "the button",
    )
    before = rig.conversation.window.measure()[0]
    model.observed = OBSERVED
    press_action(rig.chat.view, notice, "observe_again")
    await approve_notes(rig)
    await until(lambda: rig.events(ObservationsPlaced), "the observations in place")
    await until(lambda: not has(rig.views.timeline.get(), notice.key.seq, again), "no button any more")

    (event,) = rig.events(ObservationsMade)
    assert [observation.priority for observation in event.observations] == [1, 3]
    assert rig.events(ObservationsPlaced)[0].reason is PlacementReason.MANUAL
    assert rig.conversation.window.measure()[0].estimate < before.estimate
