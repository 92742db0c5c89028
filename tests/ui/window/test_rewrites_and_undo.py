"""Sweeps, handovers and their undo on every page at once; a hold after an undo."""

from __future__ import annotations

from functools import partial

import pytest

from helix_desktop.domain.events.rewrite import HandoverTrigger, PlacementReason, Redone, SweepMade, Undone
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.ui.chat.rows.row_types import DividerRow, ToolRow, UserRow
from helix_desktop.ui.inspector.request_groups import WindowRow
from helix_desktop.ui.inspector.request_list import ActOnRow
from helix_desktop.ui.kit.intents import Redo, RedoLast, ShowEvent, UndoLast, perform
from helix_desktop.ui.outputs.rows import CacheFilter
from helix_desktop.ui.outputs.source import CacheSource
from helix_desktop.words.numbers import format_tokens
from tests.support.model_servers.chat_server import text_reply
from tests.support.part_files import part_files, reads_all
from tests.support.timeline_pane import find_card
from tests.support.window.buttons import find_button
from tests.support.window.chat_geometry import action_names, click_area, press_action, row_widget
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


async def test_rewrites_and_their_undo_appear_everywhere(rig: WindowRig) -> None:
    """Each step has a session of its own."""
    await _check_a_handover(rig)
    await _check_what_a_later_one_covers(rig)
    await _check_a_sweep(rig)
    await _check_a_hold(rig)


async def _check_a_sweep(rig: WindowRig) -> None:
    """It is undone and redone, as are changes by the user.

    In chat, Outputs, request and store; one click undoes all that one line of the chat stands for.
    """
    sweeps = {"protect_steps": 2, "protect_tokens": 2_500, "sweep": "at once", "handover_at": 0.95}
    async with reads_all() as server:
        await rig.begin("sweep", LARGE_FILES, server, **sweeps)
        await rig.run_turn("Read everything")
        sweep, sent = rig.events(SweepMade)[0], rig.conversation.window.measure()[0]
        assert (_badges(rig)["part0.txt"], _badges(rig)["part7.txt"]) == ("cached", "in_window")
        assert (await _states(rig))["part0.txt"] == "cached"
        divider = rig.rows(DividerRow)[0]
        assert action_names(divider) == ("timeline", "undo")
        changed: list[int] = []
        rig.chat.model.rows_changed.connect(lambda rows: changed.append(len(rows)))
        press_action(rig.chat.view, divider, "undo")
        await until(lambda: rig.rows(DividerRow)[0].is_undone, "the sweep undone in the chat")
        await rig.wait_for_turn_end()
        assert max(changed) > len(sweep.masked), "its outputs and its divider are laid out in one go"
        assert _badges(rig)["part0.txt"] == "in_window"
        assert (await _states(rig))["part0.txt"] == "in_window"
        assert rig.conversation.window.measure()[0].estimate > sent.estimate
        rig.perform(Redo((divider.key.seq,)))
        await until(lambda: not rig.rows(DividerRow)[0].is_undone, "the sweep holds again")
        await rig.wait_for_turn_end()
        assert _badges(rig)["part0.txt"] == "cached"
        assert rig.conversation.window.measure()[0] == sent
        assert await rig.stored_events() == rig.conversation.session.log

        commands, session = rig.window.commands, rig.conversation.session
        outputs = {row.target: row.answer_seq for row in rig.rows(ToolRow)}
        await rig.conversation.window.pin(outputs["part7.txt"])
        commands.undo_compaction.trigger()
        await until(lambda: "You unpinned Read part7.txt" in rig.banner_text(), "which one")
        assert not session.transcript.rewrites.pinned
        commands.redo_compaction.trigger()
        await until(lambda: "You pinned Read part7.txt" in rig.banner_text(), "which one, again")
        assert session.transcript.rewrites.pinned == {outputs["part7.txt"]}
        commands.undo_compaction.trigger()
        await until(lambda: not session.transcript.rewrites.pinned, "unpinned again")
        commands.undo_compaction.trigger()
        await until(lambda: any(row.is_undone for row in rig.rows(DividerRow)), "a sweep undone")
        await rig.wait_for_turn_end()

        three = {outputs[f"part{number}.txt"] for number in (5, 6, 7)}
        before = set(session.transcript.window.masked)
        for seq in sorted(three):
            await rig.conversation.window.cache_now(seq)
        divider = rig.rows(DividerRow)[-1]
        rig.chat.view.jump_to(divider.key)
        widget = row_widget(rig.chat.view, divider.key)
        place = widget.item.hit_area("action:undo") if widget.item is not None else None
        assert place is not None
        assert place.tip == "Undoes 3 changes that were made together"
        press_action(rig.chat.view, divider, "undo")
        words = "Undone: Cached 3 outputs"
        await until(lambda: words in rig.banner_text(), "what was undone")
        assert "What you restored stays until 95 %, and leaves last." in rig.banner_text()
        assert set(session.transcript.window.masked) == before
        find_button(rig.window.notices, "redo").click()
        await until(lambda: set(session.transcript.window.masked) == before | three, "redone")
        await until(lambda: words not in rig.banner_text(), "it is no longer true")


async def _check_a_handover(rig: WindowRig) -> None:
    """Three that fail raise a banner until the next success."""
    commands = rig.window.commands
    both = (commands.undo_compaction, commands.redo_compaction)

    def enabled() -> tuple[bool, bool]:
        return commands.undo_compaction.isEnabled(), commands.redo_compaction.isEnabled()

    async with reads_all() as server:
        await rig.begin("project", FILES, server, **BY_HAND)
        assert [(action.isEnabled(), action.statusTip()) for action in both] == [
            (False, "Nothing to undo in the context"),
            (False, "Nothing to redo in the context"),
        ]
        of_messages = (commands.compact_now, commands.branch_session, commands.rewind)
        assert [(action.isEnabled(), action.statusTip()) for action in of_messages] == [
            (False, "Needs a message in this session")
        ] * 3
        await rig.run_turn("Read everything")
        assert all(action.isEnabled() for action in of_messages)
        await rig.run_turn("And now?")
        session, first = rig.conversation.session, rig.workspace.id
        before = rig.conversation.window.measure()
        for _ in range(3):
            await session.record(HandoverFailed("A handover failed.", "The model said nothing."))
        await until(lambda: "Automatic compaction paused" in rig.banner_text(), "the banner")
        await rig.open_folder("other")
        assert "Automatic compaction paused" not in rig.banner_text()
        assert enabled() == (False, False), "they follow the session on screen"
        await rig.wiring.workspace_controller.open_workspace(first)
        await until(lambda: "Automatic compaction paused" in rig.banner_text(), "the notice again")

        rig.conversation.handovers.start()
        await until(lambda: rig.events(HandoverMade), "the handover")
        await until(lambda: "Automatic compaction paused" not in rig.banner_text(), "the banner gone")
        await rig.wait_for_turn_end()
        after = rig.conversation.window.measure()
        assert after[1].used < before[1].used
        divider = rig.rows(DividerRow)[-1]
        size = format_tokens(after[1].used)
        assert divider.text.endswith(f" → {size} · Compacted start of turn 1 · by you")
        assert _badges(rig)["part0.txt"] == "handed_over"
        assert (await _states(rig))["part0.txt"] == "handed_over"
        question = rig.rows(UserRow)[0]
        assert (question.context_note, question.cover_seq) == ("Compacted", divider.key.seq)
        rig.chat.view.jump_to(question.key)
        click_area(rig.chat.view, question.key, "open:rewrite")
        assert rig.window.page() == "timeline", "its chip leads to what stands for it"
        await until(lambda: find_card(rig.views.timeline.get(), divider.key.seq), "the handover's card")
        sections = rig.events(HandoverMade)[0].sections
        rig.perform(ShowEvent(next(s for part in sections for b in part.bullets for s in b.sources)))
        assert rig.window.page() == "chat"

        assert enabled() == (True, False)
        rig.perform(RedoLast())
        assert "Nothing to redo in the context." in rig.banner_text()
        commands.undo_compaction.trigger()
        await until(lambda: rig.rows(DividerRow)[-1].is_undone, "undone")
        await until(lambda: "Undone: Compacted " in rig.banner_text(), "what was undone")
        await rig.wait_for_turn_end()
        assert rig.conversation.window.measure()[0] == before[0]
        assert _badges(rig)["part0.txt"] == "in_window"
        rig.perform(UndoLast())
        assert "Nothing to undo in the context." in rig.banner_text()
        rig.perform(Redo((divider.key.seq,)))
        await until(lambda: not rig.rows(DividerRow)[-1].is_undone, "redone")
        assert rig.conversation.window.measure()[0] == after[0]
        await _undo_in_the_panel(rig)
        assert rig.conversation.window.measure()[0] == before[0]


async def _undo_in_the_panel(rig: WindowRig) -> None:
    """The row that stands for older messages brings them back."""

    def compacted() -> list[WindowRow]:
        return [row for row in inspector_rows(rig) if row.is_summary]

    await until(compacted, "the row of what is compacted")
    (row,) = compacted()
    assert "undo" in row.actions
    perform(rig.views.inspector, ActOnRow("undo", row))
    await until(lambda: not compacted(), "its messages")


async def _check_what_a_later_one_covers(rig: WindowRig) -> None:
    """To redo it would change no request: what to undo first is said, and nothing is recorded."""
    await rig.open_folder("covered")
    await rig.run_turn("Hello")
    session = rig.conversation.session
    upto = session.log[-1].seq
    (made,) = await session.record(ObservationsMade(0, upto, (), (), "", "", 0, 50, 500, 2, "m"))
    (placed,) = await session.record(ObservationsPlaced(made.seq, PlacementReason.MANUAL, 450))
    await _undo_in_the_panel(rig)
    later = HandoverMade(upto, 0, (), "", "", 0, 50, 521, 554, 2, "m", HandoverTrigger.MANUAL)
    await session.record(later)
    rig.perform(RedoLast())
    await until(lambda: "Nothing to redo here." in rig.banner_text(), "that nothing is left to redo")
    rig.perform(Redo((placed.seq,)))
    await until(lambda: "Undo the later one" in rig.banner_text(), "what to do first")
    assert not rig.events(Redone)


async def _check_a_hold(rig: WindowRig) -> None:
    """An undo above the threshold offers it.

    Offered only where it comes again; gauge, menu, chat and banner say it, until it is let go.
    """
    async with rig.answered_by(lambda _: text_reply("Noted. " * 300), "hold") as server:
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
        assert texts[-2:] == ["Context changes paused", "Context changes resumed"]

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
        words = "The context no longer fits: "
        await until(lambda: words in rig.banner_text(), "what follows, and what to do")


def _has_handovers(rig: WindowRig, count: int) -> bool:
    return len(rig.events(HandoverMade)) == count


async def test_an_undo_says_that_an_earlier_summary_is_back(rig: WindowRig) -> None:
    """What was undone brought back no message, but the summary that had replaced them before."""
    async with rig.answered_by(lambda _: text_reply("Noted. " * 300), "undo"):
        await rig.change_policy(handover_least_gain=0.0, observe_at=0.0)
        for turn in range(2):
            for part in range(3):
                await rig.conversation.run(f"Message {turn}.{part} " + "with many words " * 900)
            rig.conversation.handovers.start()
            await until(partial(_has_handovers, rig, turn + 1), "the handover")
            await rig.conversation.wait_for_background_work()
        rig.window.commands.undo_compaction.trigger()
        words = "1 earlier summary is in its place again."
        await until(lambda: words in rig.banner_text(), "what is back")
