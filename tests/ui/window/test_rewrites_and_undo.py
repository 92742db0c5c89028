"""Sweeps, handovers, their undo, and recall, on every page at once; Hold after an undo."""

from __future__ import annotations

import json
from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from helix_desktop.context.window.window import output_marker
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger, PlacementReason, Redone, SweepMade, Undone
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.ui.chat.rows.row_types import DividerRow, ToolRow, UserRow
from helix_desktop.ui.inspector.request_list import ActOnRow
from helix_desktop.ui.kit.intents import (
    EditHandover,
    OpenCacheEntry,
    Recall,
    Redo,
    RedoLast,
    ShowEvent,
    Undo,
    UndoLast,
)
from helix_desktop.ui.kit.notices import REFUSED_COMPACTION
from helix_desktop.ui.outputs.entry_actions import VerifyAllEntries
from helix_desktop.ui.outputs.rows import CacheFilter
from helix_desktop.ui.outputs.source import CacheSource
from helix_desktop.words.numbers import format_tokens
from tests.support.model_servers.chat_server import text_reply
from tests.support.part_files import part_files, reads_all
from tests.support.timeline_pane import find_card
from tests.support.window.buttons import find_button, press
from tests.support.window.chat_geometry import action_names, click_area, press_action, row_widget
from tests.support.window.handover_window import opened_handovers
from tests.support.window.usage_checks import inspector_rows
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

FILES, LARGE_FILES = part_files(), part_files(lines=240)
BY_HAND = {"protect_tokens": 100_000, "protect_steps": 50, "handover_least_gain": 0.0}


async def _states(rig: WindowRig) -> dict[str, str]:
    """The state of every cached output, as the Outputs page shows it."""
    source = CacheSource(rig.workspace, lambda: rig.conversation)
    ids = await source.ids(CacheFilter())
    rows = await source.rows([ids[at : at + 32].hex() for at in range(0, len(ids), 32)])
    return {row.target: row.state for row in rows}


def _badges(rig: WindowRig) -> dict[str, str]:
    return {row.target: row.badge for row in rig.rows(ToolRow)}


async def test_rewrites_their_undo_and_their_errors_appear_everywhere(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_a_sweep(rig)
    await _check_a_handover(rig)
    await _check_failed_handovers(rig)


async def _check_a_sweep(rig: WindowRig) -> None:
    """A sweep and its undo appear on every page."""
    sweeps = {"protect_steps": 2, "protect_tokens": 2_500, "sweep": "at once", "handover_at": 0.95}
    async with reads_all() as server:
        await rig.begin("sweep", LARGE_FILES, server, **sweeps)
        await rig.run_turn("Read everything")
        sweep = rig.events(SweepMade)[0]
        sent = rig.conversation.window.measure()[0]
        assert _badges(rig)["part0.txt"] == "cached"
        assert _badges(rig)["part7.txt"] == "in_window"
        assert (await _states(rig))["part0.txt"] == "cached"
        divider = rig.rows(DividerRow)[0]
        assert action_names(divider) == ("timeline", "undo")
        assert divider.text.startswith("Context: ")

        changed: list[int] = []
        rig.chat.model.rows_changed.connect(lambda rows: changed.append(len(rows)))
        press_action(rig.chat.view, divider, "undo")
        await until(lambda: rig.rows(DividerRow)[0].is_undone, "the sweep undone in the chat")
        await rig.wait_for_turn_end()
        assert max(changed) > len(sweep.masked), "its outputs and its divider are laid out in one go"
        assert _badges(rig)["part0.txt"] == "in_window"
        assert (await _states(rig))["part0.txt"] == "in_window"
        assert rig.conversation.window.measure()[0].estimate > sent.estimate

        rig.window.show_page("timeline")
        rig.perform(Redo((divider.key.seq,)))
        await until(lambda: not rig.rows(DividerRow)[0].is_undone, "the sweep holds again")
        await rig.wait_for_turn_end()
        assert _badges(rig)["part0.txt"] == "cached"
        assert rig.conversation.window.measure()[0] == sent
        assert await rig.stored_events() == rig.conversation.session.log
        await _check_a_pin(rig)


async def test_an_undo_of_several_changes_names_them_and_offers_redo(rig: WindowRig) -> None:
    """One line of the chat stands for all that changed before a request: one click undoes all of it."""
    async with reads_all() as server:
        await rig.begin("several", LARGE_FILES, server, protect_tokens=100_000, protect_steps=50)
        await rig.run_turn("Read everything")
        outputs = [row.answer_seq for row in rig.rows(ToolRow)]
        for seq in outputs[:3]:
            await rig.conversation.window.cache_now(seq)
        (divider,) = rig.rows(DividerRow)
        widget = row_widget(rig.chat.view, divider.key)
        place = widget.item.hit_area("action:undo") if widget.item is not None else None
        assert place is not None
        assert place.tip == "Undoes 3 changes that were made together"
        press_action(rig.chat.view, divider, "undo")
        words = "Undone: 3 outputs cached"
        await until(lambda: words in rig.banner_text(), "what was undone")
        assert "What it restored stays until the context reaches 85 %." in rig.banner_text()
        assert not rig.conversation.session.transcript.window.masked
        rig.perform(Redo(tuple(rig.conversation.session.transcript.rewrites.undone)))
        await until(lambda: words not in rig.banner_text(), "it is no longer true")
        press_action(rig.chat.view, divider, "undo")
        await until(lambda: words in rig.banner_text(), "once more")
        find_button(rig.window.notices, "redo").click()
        await until(
            lambda: len(rig.conversation.session.transcript.window.masked) == len(outputs[:3]), "redone"
        )


async def _check_a_pin(rig: WindowRig) -> None:
    """It is the newest change of the context; behind it the sweep is undone, too."""
    commands, session = rig.window.commands, rig.conversation.session
    output = next(row.answer_seq for row in rig.rows(ToolRow) if row.target == "part7.txt")
    assert not commands.redo_compaction.isEnabled()
    await rig.conversation.window.pin(output)
    commands.undo_compaction.trigger()
    await until(lambda: "You unpinned Read part7.txt" in rig.banner_text(), "which one")
    assert not session.transcript.rewrites.pinned
    assert commands.redo_compaction.isEnabled()
    commands.redo_compaction.trigger()
    await until(lambda: "You pinned Read part7.txt" in rig.banner_text(), "which one, again")
    assert session.transcript.rewrites.pinned == {output}
    commands.undo_compaction.trigger()
    await until(lambda: not session.transcript.rewrites.pinned, "unpinned again")
    commands.undo_compaction.trigger()
    await until(lambda: any(row.is_undone for row in rig.rows(DividerRow)), "the sweep undone")
    await rig.wait_for_turn_end()


async def _check_a_handover(rig: WindowRig) -> None:
    async with reads_all() as server:
        await rig.begin("handover", FILES, server, **BY_HAND)
        await rig.run_turn("Read everything")
        await rig.run_turn("And now?")
        before = rig.conversation.window.measure()
        rig.conversation.handovers.start()
        await until(lambda: rig.events(HandoverMade), "the handover")
        await rig.wait_for_turn_end()
        after = rig.conversation.window.measure()
        assert after[1].used < before[1].used
        (divider,) = rig.rows(DividerRow)
        assert divider.text.endswith(
            f" → {format_tokens(after[1].used)} · Summary of part of turn 1 · by you"
        )
        assert _badges(rig)["part0.txt"] == "handed_over"
        assert (await _states(rig))["part0.txt"] == "handed_over"

        question = rig.rows(UserRow)[0]
        assert (question.context_note, question.cover_seq) == ("Compacted", divider.key.seq)
        rig.chat.view.jump_to(question.key)
        click_area(rig.chat.view, question.key, "open:rewrite")
        assert rig.window.page() == "timeline", "its chip leads to what stands for it"
        rig.window.show_page("chat")

        press_action(rig.chat.view, divider, "timeline")
        assert rig.window.page() == "timeline"
        await until(lambda: find_card(rig.views.timeline.get(), divider.key.seq), "the handover's card")
        source = next(
            s for part in rig.events(HandoverMade)[0].sections for b in part.bullets for s in b.sources
        )
        rig.perform(ShowEvent(source))
        assert rig.window.page() == "chat"

        commands = rig.window.commands
        assert (commands.undo_compaction.isEnabled(), commands.redo_compaction.isEnabled()) == (True, False)
        rig.perform(RedoLast())
        assert "Nothing to redo in the context." in rig.banner_text()
        commands.undo_compaction.trigger()
        await until(lambda: any(row.is_undone for row in rig.rows(DividerRow)), "undone")
        await until(lambda: "Undone: Summary of " in rig.banner_text(), "what was undone")
        assert (commands.undo_compaction.isEnabled(), commands.redo_compaction.isEnabled()) == (False, True)
        rig.perform(UndoLast())
        assert "Nothing to undo in the context." in rig.banner_text()
        await rig.wait_for_turn_end()
        assert rig.conversation.window.measure()[0] == before[0]
        assert _badges(rig)["part0.txt"] == "in_window"
        rig.perform(Redo((divider.key.seq,)))
        await until(lambda: not any(row.is_undone for row in rig.rows(DividerRow)), "redone")
        assert rig.conversation.window.measure()[0] == after[0]


async def _check_failed_handovers(rig: WindowRig) -> None:
    """Three failed handovers raise a banner until the next success."""
    async with reads_all() as server:
        await rig.begin("failed", FILES, server, **BY_HAND)
        await rig.run_turn("Read everything")
        await rig.run_turn("And now?")
        for _ in range(3):
            await rig.conversation.session.record(
                HandoverFailed("A handover failed.", "The model said nothing.")
            )
        await until(lambda: "Automatic compaction paused" in rig.banner_text(), "the banner")
        first = rig.workspace.id
        await rig.open_folder("other")
        assert "Automatic compaction paused" not in rig.banner_text()
        await rig.wiring.workspace_controller.open_workspace(first)
        await until(lambda: "Automatic compaction paused" in rig.banner_text(), "the notice again")

        rig.conversation.handovers.start()
        await until(lambda: rig.events(HandoverMade), "a handover")
        await until(lambda: "Automatic compaction paused" not in rig.banner_text(), "the banner gone")


async def test_undo_and_redo_of_the_context_are_off_where_there_is_nothing_to_undo(rig: WindowRig) -> None:
    """They follow the session on screen, and say at the pointer why; keys of the timeline still answer."""
    commands = rig.window.commands
    both = (commands.undo_compaction, commands.redo_compaction)
    needed = (False, "Needs an open session")
    assert [(action.isEnabled(), action.statusTip()) for action in both] == [needed, needed]
    identity = await rig.open_folder("new")
    first = rig.conversation.session.id
    assert [(action.isEnabled(), action.statusTip()) for action in both] == [
        (False, "Nothing to undo in the context"),
        (False, "Nothing to redo in the context"),
    ]
    rig.window.show_page("timeline")
    QTest.keyClick(rig.views.timeline.get(), Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: "Nothing to undo in the context." in rig.banner_text(), "the answer to the key")
    await rig.run_turn("Hello")
    assert not any(action.isEnabled() for action in both)
    message_seq = max(
        entry.seq for entry in rig.conversation.session.log if isinstance(entry.event, UserSpoke)
    )
    await rig.conversation.window.exclude(message_seq)
    assert [action.isEnabled() for action in both] == [True, False]
    assert not both[0].statusTip()
    await rig.open_folder("other")
    assert not any(action.isEnabled() for action in both)
    await rig.wiring.workspace_controller.open_workspace(identity)
    await until(lambda: rig.app_window.shown_session.session_id == first, "the first session")
    assert [action.isEnabled() for action in both] == [True, False]


async def test_what_a_later_compaction_covers_is_not_redone_by_the_key(rig: WindowRig) -> None:
    """It would change no request: what has to be undone first is said, and nothing is recorded."""
    await rig.open_folder("covered")
    await rig.run_turn("Hello")
    session = rig.conversation.session
    upto = session.log[-1].seq
    facts = ObservationsMade(0, upto, (), (), "", "", 0, 50, 500, 2, "m")
    (made,) = await session.record(facts)
    (placed,) = await session.record(ObservationsPlaced(made.seq, PlacementReason.MANUAL, 450))
    await rig.conversation.window.undo(placed.seq)
    summary = HandoverMade(upto, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL)
    (later,) = await session.record(summary)

    def says(words: str) -> bool:
        return words in rig.banner_text()

    for intent, what in ((RedoLast(), "Nothing to redo here."), (Redo((placed.seq,)), "Undo the later one")):
        rig.perform(intent)
        await until(partial(says, what), "what to do first")
    assert not rig.events(Redone)
    await rig.conversation.window.undo(later.seq)
    rig.perform(Redo((placed.seq,)))
    await until(lambda: placed.seq in session.transcript.rewrites.placed_observations, "redone")


async def test_the_undo_of_what_a_later_one_covers_is_refused_everywhere_in_the_same_words(
    rig: WindowRig,
) -> None:
    """From a row of the inspector and a version of a summary that were shown before the later one, too."""
    await rig.open_folder("covered")
    await rig.run_turn("Hello")
    session = rig.conversation.session
    upto = session.log[-1].seq
    (earlier,) = await session.record(
        HandoverMade(upto, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL)
    )
    await rig.conversation.window.undo(earlier.seq)
    (made,) = await session.record(ObservationsMade(0, upto, (), (), "", "", 0, 50, 500, 2, "m"))
    (placed,) = await session.record(ObservationsPlaced(made.seq, PlacementReason.MANUAL, 450))
    await rig.conversation.window.exclude(placed.seq)
    await until(lambda: [r for r in inspector_rows(rig) if r.excluded], "the excluded row")
    (excluded,) = (row for row in inspector_rows(rig) if row.excluded)
    assert "include" in excluded.actions
    rig.perform(EditHandover(earlier.seq))
    window = await opened_handovers(rig)
    await rig.run_turn("Go on")
    upto = session.log[-1].seq
    await session.record(HandoverMade(upto, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL))

    why = "A later compaction covers this part of the conversation. Undo the later one first."
    press(window, "edit-action")
    await until(lambda: why in window.problem, "the version's refusal")
    press(window, "close")
    await until(lambda: rig.wiring.rewrites.handover_window is None, "closed")
    before = session.log[-1].seq
    for intent in (Undo((placed.seq,)), ActOnRow("include", excluded)):
        rig.window.notices.end(REFUSED_COMPACTION)
        await until(lambda: why not in rig.banner_text(), "no notice")
        rig.perform(intent)
        await until(lambda: why in rig.banner_text(), "the refusal")
    assert session.log[-1].seq == before


async def test_outputs_are_recalled_verified_and_shown_in_the_next_request(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_recall(rig)
    await _check_the_request(rig)


async def _check_recall(rig: WindowRig) -> None:
    """A recall is attached to the message, complete or by lines."""
    async with reads_all() as server:
        await rig.begin("recall", FILES, server)
        await rig.run_turn("Read everything")
        digest = rig.last_output("read_file").digest
        rig.perform(OpenCacheEntry(digest))
        await until(lambda: rig.window.page() == "cache", "the cache")
        await until(lambda: rig.views.cache.get().preview.digest == digest, "the preview")
        rig.perform(Recall(digest, 2, 4))
        await until(lambda: rig.window.page() == "chat", "back in the chat")
        await until(rig.composer.editor.hasFocus, "ready to type")
        await rig.run_turn("These lines?")
        event = rig.events(UserSpoke)[-1]
        assert len(event.attachments) == 1
        assert event.attachments[0].text == "\n".join(["line of part 7 with some words"] * 3)
        assert "lines 2-4" in rig.rows(UserRow)[-1].attachments[0].label
        assert event.attachments[0].text in server.bodies[-1]["messages"][-1]["content"]

        rig.perform(Recall(digest))
        await until(rig.attachment_labels, "the chip")
        await rig.run_turn("And whole?")
        assert rig.events(UserSpoke)[-1].attachments[0].text.encode() == await rig.workspace.store.get(digest)
        assert not rig.attachment_labels()

        entries = (await rig.workspace.store.totals()).entries
        rig.perform(VerifyAllEntries())
        await until(lambda: f"{entries} entries verified." in rig.banner_text(), "the outcome")
        preview = rig.views.cache.get().preview
        verified = preview.verified.text
        assert verified, "the verdict on the one that is shown"
        other = rig.events(ToolAnswered)[0].digest
        for shown in (other, digest):
            rig.perform(OpenCacheEntry(shown))
            await until(lambda: preview.digest == shown, "the preview")  # noqa: B023 - awaited in its round
            await until(lambda: preview.verified.text.startswith("Verified: "), "what was found before")
        assert preview.verified.text == verified


async def _check_the_request(rig: WindowRig) -> None:
    """Word for word, in the panel; its JSON is what the server gets; it goes with its session."""
    sweeps = {"protect_steps": 2, "protect_tokens": 2_500, "sweep": "at once"}
    async with reads_all() as server:
        await rig.begin("request", FILES, server, **sweeps)
        await rig.run_turn("Read everything")
        await rig.change_policy(**BY_HAND, fold_after_steps=0)  # no rewrite comes before the next request
        assert (
            rig.views.inspector.breakdown.cost.isHidden()
        )  # nothing cached so far, no price: the total says it
        rig.window.commands.show_request.trigger()
        inspector = rig.views.inspector
        text = inspector.reader.page.text
        await until(lambda: text.isVisible() and text.toPlainText(), "its text")
        masked = rig.conversation.session.transcript.messages.item(rig.events(SweepMade)[0].masked[0])
        assert masked is not None
        assert isinstance(masked.event, ToolAnswered)
        assert output_marker(masked.event) in text.toPlainText()
        inspector.reader.switch.view_selected.emit("json")
        inspector.reader.page.copy_content()
        copied = json.loads(QGuiApplication.clipboard().text())
        reader, shown = inspector.reader, text.toPlainText()
        curl = find_button(reader, "copy-curl")
        assert not reader.changed_button.isVisible()
        await rig.run_turn("And now?")
        sent = server.bodies[-1]
        assert copied == sent | {"messages": sent["messages"][: len(copied["messages"])]}
        await until(reader.changed_button.isVisible, "the line that says so")
        assert not curl.isVisible(), "it would be of the old one"
        assert text.toPlainText() == shown, "nothing moves while it is read"
        reader.changed_button.click()
        await until(lambda: "And now?" in text.toPlainText(), "the next request")
        assert not reader.changed_button.isVisible()
        assert curl.isVisible()
        await rig.open_folder("other")
        assert not text.isVisible()


async def test_an_undo_above_the_threshold_offers_hold(rig: WindowRig) -> None:
    """Offered only where it comes again; gauge, menu, chat and banner say it, until it is let go."""
    async with rig.answered_by(lambda _: text_reply("Noted. " * 300), "project") as server:
        await rig.change_policy(handover_least_gain=0.0, observe_at=0.0)
        for turn in range(3):
            await rig.conversation.run(f"Message {turn} " + "with many words " * 900)
        rig.conversation.handovers.start()
        await until(lambda: rig.events(HandoverMade), "the handover")
        await rig.conversation.wait_for_background_work()
        banners, commands, gauge = rig.window.notices, rig.window.commands, rig.composer.gauge
        transcript = rig.conversation.session.transcript
        commands.undo_compaction.trigger()
        await until(lambda: not transcript.window.handover, "undone")
        assert "hold" not in banners.names(), "there is room"

        commands.redo_compaction.trigger()
        await until(lambda: transcript.window.handover, "redone")
        await rig.change_policy(handover_at=0.3)
        await rig.conversation.session.record(Undone(max(transcript.rewrites.by_seq), refused=True))
        assert not transcript.window.handover
        assert "hold" not in banners.names(), "the user undid nothing"
        commands.redo_compaction.trigger()
        await until(lambda: transcript.window.handover, "redone by the user")
        commands.undo_compaction.trigger()
        await until(lambda: "hold" in banners.names(), "the word")
        await until(lambda: "Undone: " in rig.banner_text(), "what was undone")
        assert banners.names() == ("hold",), "one notice says both"
        find_button(banners, "hold").click()
        await until(commands.hold_compaction.isChecked, "held")
        await until(lambda: "paused" in gauge.accessibleName(), "the sign")
        await until(lambda: "hold" in banners.names(), "the banner")

        (release,) = (action for action in gauge.actions() if action is commands.hold_compaction)
        release.trigger()
        await until(lambda: rig.events(HoldSet) == [HoldSet(), HoldSet(on=False)], "let go")
        await until(lambda: "hold" not in banners.names(), "the banner gone")
        await until(lambda: not commands.hold_compaction.isChecked(), "no longer checked")
        texts = [row.text for row in rig.rows(DividerRow)]
        assert texts[-2:] == ["Compaction paused", "Compaction resumed"]

        commands.redo_compaction.trigger()
        await until(lambda: transcript.window.handover, "redone again")
        commands.undo_compaction.trigger()
        await until(lambda: "hold" in banners.names(), "the word again")
        rig.conversation.handovers.start()
        await until(lambda: len(rig.events(HandoverMade)) > 1, "another handover")
        await until(lambda: "hold" not in banners.names(), "what was announced has happened")

        await rig.use_server(server, window=8_000)
        commands.undo_compaction.trigger()
        await until(lambda: "hold" in banners.names(), "the word that it doesn't fit")
        words = (
            "The request is now larger than the model's context window. Sending compacts older parts again"
        )
        await until(lambda: words in rig.banner_text(), "what follows, and what to do")
