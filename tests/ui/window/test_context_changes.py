"""Rewrites of the context and their undo on every page at once; forms of outputs; a look at earlier steps."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from helix_desktop.context.intake.output_forms import FORMS_OPENING as QUESTION
from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.log.window_layout import PinnedCopy
from helix_desktop.domain.events.conversation import OutputHeld
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen, SweepMade, SweepReason, Undone
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
)
from helix_desktop.ui.chat.actions import ReadContent
from helix_desktop.ui.chat.items.tool_card import form_choice_text
from helix_desktop.ui.chat.rows.row_types import DividerRow, ToolRow, UserRow
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.kit.intents import Redo, RedoLast, ShowEvent, Undo, UndoLast, perform
from helix_desktop.ui.outputs.rows import CacheFilter
from helix_desktop.ui.outputs.source import OutputSource
from helix_desktop.ui.panel.panel_state import WindowRow
from helix_desktop.ui.panel.request_list import ShowRowText
from helix_desktop.ui.timeline.cards import FormCard, ManualActionCard
from helix_desktop.ui.timeline.cards_from_events import build_cards
from helix_desktop.ui.timeline.usage_chart import Scrubber
from helix_desktop.words.numbers import format_tokens
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.part_files import part_files, read_part, reads_all
from tests.support.timeline_pane import find_card
from tests.support.window.buttons import find_button
from tests.support.window.chat_geometry import action_names, click_area, press_action, row_widget
from tests.support.window.handover_window import with_summaries
from tests.support.window.usage_checks import panel_rows
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

FILES = part_files()
LARGE_FILES = part_files(lines=240)
BY_HAND = {"protect_tokens": 100_000, "protect_steps": 50, "handover_least_gain": 0.0}


async def _states(rig: WindowRig) -> dict[str, str]:
    """The state of every cached output, as the Outputs page shows it."""
    source = OutputSource(rig.workspace, lambda: rig.conversation)
    ids = await source.ids(CacheFilter())
    rows = await source.rows([ids[at : at + 32].hex() for at in range(0, len(ids), 32)])
    return {row.target: row.state for row in rows}


def _badges(rig: WindowRig) -> dict[str, str]:
    return {row.target: row.badge for row in rig.rows(ToolRow)}


async def test_rewrites_and_their_undo_appear_everywhere(rig: WindowRig) -> None:
    """Each step has a session of its own."""
    await _check_a_handover(rig)
    await _check_a_sweep(rig)
    await _check_a_hold(rig)


async def _check_a_sweep(rig: WindowRig) -> None:
    """It is undone and redone, as are changes by the user.

    In chat, Outputs, request and store; one click undoes all that one line of the chat stands for.
    """
    sweeps = {
        "protect_steps": 2, "protect_tokens": 2_500, "sweep": "at once", "handover_at": 0.95,
        "checkpoint_tokens": 0,
    }  # fmt: skip
    async with reads_all() as server:
        await rig.begin("sweep", LARGE_FILES, server, **sweeps)
        await rig.run_turn("Read everything")
        sweep = rig.events(SweepMade)[0]
        sent = rig.conversation.window.measure()[0]
        assert (_badges(rig)["part0.txt"], _badges(rig)["part7.txt"]) == ("cached", "in_window")
        assert (await _states(rig))["part0.txt"] == "cached"
        divider = rig.rows(DividerRow)[0]
        assert action_names(divider) == ("timeline", "undo")
        changed: list[int] = []
        rig.chat.model.rows_changed.connect(lambda rows: changed.append(len(rows)))
        press_action(rig.chat.view, divider, "undo")
        await until(lambda: rig.rows(DividerRow)[0].is_undone, "the sweep undone in the chat")
        await rig.wait_for_turn_end()
        assert max(changed) > len(sweep.swept), "its outputs and its divider are laid out in one go"
        assert _badges(rig)["part0.txt"] == "in_window"
        assert (await _states(rig))["part0.txt"] == "in_window"
        assert rig.conversation.window.measure()[0].estimate > sent.estimate
        press_action(rig.chat.view, rig.rows(DividerRow)[0], "redo")
        await until(lambda: not rig.rows(DividerRow)[0].is_undone, "the sweep holds again")
        await rig.wait_for_turn_end()
        assert _badges(rig)["part0.txt"] == "cached"
        assert rig.conversation.window.measure()[0] == sent
        assert await rig.stored_events() == rig.conversation.session.log

        commands = rig.window.commands
        session = rig.conversation.session
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
        before = set(session.transcript.window.swept)
        for seq in sorted(three):
            await rig.conversation.window.cache_now(seq)
        divider = rig.rows(DividerRow)[-1]
        rig.chat.view.jump_to(divider.key)
        widget = row_widget(rig.chat.view, divider.key)
        place = widget.item.hit_area("action:undo") if widget.item is not None else None
        assert place is not None
        assert place.tip == "Undoes 3 changes that were made together"
        press_action(rig.chat.view, divider, "undo")
        await until(lambda: set(session.transcript.window.swept) == before, "all three undone")
        words = "Undone: Cached 3 outputs"
        await until(lambda: words in rig.banner_text(), "what was undone")
        reaches = "What came back stays until the context reaches 82 %, "
        assert reaches in rig.banner_text(), "two usual steps before the request is full"
        find_button(rig.window.notices, "redo").click()
        await until(lambda: set(session.transcript.window.swept) == before | three, "redone")
        await until(lambda: words not in rig.banner_text(), "it is no longer true")

        await rig.conversation.window.exclude(outputs["part4.txt"])
        press_action(rig.chat.view, rig.rows(DividerRow)[-1], "undo")
        words = "Undone: Cached 3 outputs · You left out Read part4.txt"
        await until(lambda: words in " ".join(rig.banner_text().split()), "each change once")
        press_action(rig.chat.view, rig.rows(DividerRow)[-1], "redo")
        redone = "Redone: Cached 3 outputs · You left out Read part4.txt"
        await until(lambda: redone in " ".join(rig.banner_text().split()), "each change once")

        target = "part1.txt"
        both = (outputs["part1.txt"], outputs["part2.txt"])
        await rig.conversation.window.undo(*session.transcript.rewrites.sweeps)
        await session.record(SweepMade(both, 100, SweepReason.BATCH))
        await until(lambda: card(rig, target).badge == "cached", "two cached together")
        press_action(rig.chat.view, card(rig, target), "send_all")
        await until(lambda: f"Restored: Read {target}" in rig.banner_text(), "which one")
        find_button(rig.window.notices, "undo").click()
        await until(lambda: f"Cached again: Read {target}" in rig.banner_text(), "what became of it")
        find_button(rig.window.notices, "redo").click()
        await until(lambda: f"Restored: Read {target}" in rig.banner_text(), "what became of it")
        find_button(rig.window.notices, "undo").click()
        await until(lambda: f"Cached again: Read {target}" in rig.banner_text(), "what became of it")
        await rig.use_server(server, window=rig.conversation.window.measure()[1].used + 2_100)
        press_action(rig.chat.view, card(rig, target), "send_all")
        await until(lambda: f"Restored: Read {target}" in rig.banner_text(), "which one")
        assert "The context no longer fits: " in rig.banner_text(), "as after the undo of a whole step"
        assert rig.window.notices.names() == ("hold",), "one notice says both"


async def _check_a_handover(rig: WindowRig) -> None:
    """Three that fail raise a banner until the next success."""
    commands = rig.window.commands
    both = (commands.undo_compaction, commands.redo_compaction)

    def enabled() -> tuple[bool, bool]:
        return commands.undo_compaction.isEnabled(), commands.redo_compaction.isEnabled()

    reads = [StreamedReply(read_part(number)) for number in range(len(FILES))]
    model = with_summaries(replies_in_order(*reads, text_reply("All read.")))
    async with ChatServer(model) as server:
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
        session = rig.conversation.session
        first = rig.workspace.id
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
        assert divider.text.endswith(f" → {size} · Handover summary of 6 tool calls of turn 1 · by you")
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
        await until(lambda: "Undone: Handover summary of " in rig.banner_text(), "what was undone")
        await rig.wait_for_turn_end()
        assert rig.conversation.window.measure()[0] == before[0]
        assert _badges(rig)["part0.txt"] == "in_window"
        rig.perform(UndoLast())
        assert "Nothing to undo in the context." in rig.banner_text()
        rig.perform(Redo((divider.key.seq,)))
        await until(lambda: not rig.rows(DividerRow)[-1].is_undone, "redone")
        assert rig.conversation.window.measure()[0] == after[0]
        await _undo_in_the_panel(rig, before[1].used - after[1].used)
        assert rig.conversation.window.measure()[0] == before[0]


async def _undo_in_the_panel(rig: WindowRig, added: int) -> None:
    """The page of what stands for older messages brings them back, and says what that adds."""

    def compacted() -> list[WindowRow]:
        return [row for row in panel_rows(rig) if row.is_summary]

    await until(compacted, "the row of what is compacted")
    (row,) = compacted()
    panel = rig.views.panel
    perform(panel, ShowRowText(row))
    button = find_button(panel, "way_back")
    assert button.text() == f"Undo · adds ≈ {format_tokens(added)} tokens"
    notes = [note.text() for note in panel.findChildren(QLabel, "request-note")]
    assert any("tool calls of turn 1." in note for note in notes if "Undo restores " in note)
    button.click()
    await until(lambda: not compacted(), "its messages")


async def _check_a_hold(rig: WindowRig) -> None:
    """An undo above the threshold offers it.

    Offered only where it comes again; gauge, menu, chat and banner say it, until it is let go.
    """
    async with rig.answered_by(with_summaries(lambda _: text_reply("Noted. " * 300)), "hold") as server:
        await rig.change_policy(handover_least_gain=0.0, observe_at=0.0)
        for turn in range(3):
            await rig.conversation.run(f"Message {turn} " + "with many words " * 900)
        rig.conversation.handovers.start()
        await until(lambda: rig.events(HandoverMade), "the handover")
        await rig.conversation.wait_for_background_work()
        banners = rig.window.notices
        commands = rig.window.commands
        gauge = rig.composer.gauge
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
        await rig.use_server(server, window=8_000)
        commands.undo_compaction.trigger()
        await until(lambda: "hold" in banners.names(), "the word that it doesn't fit")
        words = "The context no longer fits: "
        await until(lambda: words in rig.banner_text(), "what follows, and what to do")


COUNT = 13
BODY = "line of a long file that the agent writes\n" * 60
READ_FILES = part_files(COUNT)
FOLDS = {
    "fold_after_steps": 2, "fold_least": 100, "protect_tokens": 2_000, "sweep_min": 90_000,
    "sweep_max": 90_000, "observe_at": 0.0, "observe_place_at": 0.0, "handover_at": 0.95,
}  # fmt: skip
NO_FOLDS = FOLDS | {
    "fold_after_steps": 0,
    "protect_steps": 2,
    "protect_argument_steps": 1,
    "previous_turn_share": 0.0,
    "sweep": "at once",
}


def card(rig: WindowRig, target: str) -> ToolRow:
    return next(row for row in rig.rows(ToolRow) if row.target == target)


async def test_folds_and_cached_arguments_are_undone_pinned_and_recalled_in_the_chat(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_a_fold(rig)
    await _check_arguments(rig)


async def _check_a_fold(rig: WindowRig) -> None:
    async with reads_all(COUNT) as server:
        await rig.begin("folds", READ_FILES, server, **FOLDS)
        await rig.run_turn("Read everything")
        folds = rig.events(FoldMade)
        assert folds
        (divider, *_) = rig.rows(DividerRow)
        assert divider.kind == "context"
        assert action_names(divider) == ("timeline", "undo")
        assert card(rig, "part0.txt").badge == "folded"
        folded = rig.conversation.window.measure()[0]

        press_action(rig.chat.view, divider, "undo")
        await until(lambda: card(rig, "part0.txt").badge != "folded", "the steps back in the window")
        assert rig.conversation.window.measure()[0].estimate > folded.estimate
        press_action(rig.chat.view, divider, "redo")
        await until(lambda: card(rig, "part0.txt").badge == "folded", "the fold again")
        assert rig.conversation.window.measure()[0] == folded
        await _check_a_pin(rig)
        await _check_links(rig)


async def _check_a_pin(rig: WindowRig) -> None:
    """A pin restores a folded output, and unpinning releases it."""
    before = rig.conversation.window.measure()[0]
    press_action(rig.chat.view, card(rig, "part0.txt"), "pin")
    await until(lambda: card(rig, "part0.txt").badge == "pinned", "the pin on the card")
    copies = [
        entry
        for entry in rig.conversation.session.transcript.window.entries()
        if isinstance(entry, PinnedCopy)
    ]
    assert [copy.item.seq for copy in copies] == [card(rig, "part0.txt").answer_seq]
    press_action(rig.chat.view, card(rig, "part0.txt"), "unpin")
    await until(lambda: card(rig, "part0.txt").badge == "folded", "the pin gone")
    assert rig.conversation.window.measure()[0] == before


async def _check_links(rig: WindowRig) -> None:
    """A card links to its rewrite, to its entry in the cache, and recalls its output."""
    press_action(rig.chat.view, card(rig, "part0.txt"), "timeline")
    await until(lambda: rig.window.page() == "timeline", "the timeline")
    seq = next(entry.seq for entry in rig.conversation.session.log if isinstance(entry.event, FoldMade))
    await until(lambda: find_card(rig.views.timeline.get(), seq), "the fold's card")

    press_action(rig.chat.view, card(rig, "part0.txt"), "cache")
    await until(lambda: rig.window.page() == "outputs", "the outputs")
    digest = card(rig, "part0.txt").digest
    await until(lambda: rig.views.outputs.get().preview.digest == digest, "the preview")
    press_action(rig.chat.view, card(rig, "part1.txt"), "recall")
    await until(rig.attachment_labels, "the chip")
    assert "part1.txt" in rig.attachment_labels()[0]


async def _check_arguments(rig: WindowRig) -> None:
    arguments = '{"path": "new.py", "content": "' + BODY.replace("\n", "\\n") + '"}'
    async with reads_all(5, StreamedReply(Call("write_file", arguments, id="w"))) as server:
        await rig.begin("arguments", READ_FILES, server, **NO_FOLDS)
        rig.type_message("Write, then read everything")
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        row = card(rig, "new.py")
        assert row.arguments_cached
        press_action(rig.chat.view, row, f"argument:{row.argument_digests[0]}")
        await until(
            lambda: rig.views.outputs.get().preview.digest == row.argument_digests[0],
            "the argument in the cache",
        )
        assert (await rig.workspace.store.get(row.argument_digests[0])).decode() == BODY

        panel = rig.views.panel
        window = rig.conversation.window

        def cached_rows() -> list[WindowRow]:
            return [row for row in panel_rows(rig) if row.state == "arguments_cached"]

        await until(cached_rows, "the row of the arguments")
        (cached,) = cached_rows()
        perform(panel, ShowRowText(cached))
        button = find_button(panel, "way_back")
        before = window.measure()[0].estimate
        words = button.text()
        button.click()
        await until(lambda: not card(rig, "new.py").arguments_cached, "the arguments back")
        added = format_tokens(window.measure()[0].estimate - before)
        assert words == f"Undo caching · adds ≈ {added} tokens"


LONG_FILE = {"long.txt": "".join(f"line {n} of a long file\n" for n in range(600))}
ROUNDING = 2  # tokens, which the panel adds to its largest row
LARGE = {"intake_above": 500, "preview_tokens": 120, "protect_steps": 50, "protect_tokens": 100_000}


class Reader:
    """A model that reads one file, and chooses its form on request; `usage` is what it reports."""

    def __init__(self, choice: str = "1: preview", usage: TokenCounts | None = None) -> None:
        self.choice = choice
        self.usage = usage
        self.go = asyncio.Event()
        self.go.set()
        self.prompts: list[str] = []

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Answer a request by its last message."""
        last = str(request["messages"][-1]["content"])
        if last.startswith(QUESTION):
            return StreamedReply(Wait(self.go), Text(self.choice))
        if last.startswith("[Extract]"):
            self.prompts.append(last)
            return text_reply("The gist of it.")
        if request["messages"][-1]["role"] == "user":
            call = Call("read_file", '{"path": "long.txt"}', id=f"c{len(request['messages'])}")
            return StreamedReply(call, usage=self.usage)
        return StreamedReply(Text("Read."), usage=self.usage)


async def _read(rig: WindowRig, server: ChatServer, **policy: object) -> None:
    await rig.begin("project", LONG_FILE, server, **(LARGE | policy))
    await rig.run_turn("Read it")


def read_card(rig: WindowRig) -> ToolRow:
    """The card of the newest reading."""
    return [row for row in rig.rows(ToolRow) if row.call.name == "read_file"][-1]


async def test_the_form_of_an_output_is_chosen_displayed_changed_and_refused(rig: WindowRig) -> None:
    """By the agent while it runs, then by the user; each step has a workspace of its own."""
    await _check_the_choice_of_the_agent(rig)
    await _check_choices_of_the_user(rig)


async def _check_the_choice_of_the_agent(rig: WindowRig) -> None:
    """The choice of the agent is displayed while it runs and stays on the card."""
    reader = Reader("1: compact: the number of lines")
    reader.go.clear()
    async with ChatServer(reader) as server:
        await rig.begin("choice", LONG_FILE, server, **LARGE)
        rig.type_message("Read it")
        await until(lambda: rig.events(OutputHeld) and read_card(rig).answer.size, "the output held")
        await until(lambda: rig.composer.work_text() == "Shortening 1 large output…", "the work")
        assert read_card(rig).digest
        assert read_card(rig).state == "ok"  # it runs no longer: nothing is left to stop
        await rig.wiring.chat.load()
        assert (read_card(rig).state, read_card(rig).answer_seq) == ("ok", 0)
        reader.go.set()
        await rig.wait_for_turn_end()
        row = read_card(rig)
        assert (row.form, row.chosen_by) == ("compact", "agent")
        assert row.shown.asked == "the number of lines"
        assert "Cost of choosing: " in form_choice_text(row)
        assert "The gist of it." in row.shown.text
        assert not rig.composer.work_text()


async def _check_choices_of_the_user(rig: WindowRig) -> None:
    """The user displays all of it and undoes that; its tokens are those of a model that counts fewer."""
    reader = Reader(usage=TokenCounts(1, 5))
    async with ChatServer(reader) as server:
        await _read(rig, server)
        before = rig.conversation.window.measure()[0]
        assert read_card(rig).form == "preview"
        rig.perform(ReadContent(read_card(rig).key, in_full=True))
        read = await until(lambda: read_card(rig).original, "all lines of the original")
        assert read.head_and_tail.head == LONG_FILE["long.txt"].removesuffix("\n")
        await _check_one_number(rig)
        press_action(rig.chat.view, read_card(rig), "send_all")
        await until(lambda: read_card(rig).form == "full", "all of it")
        await _check_one_number(rig)
        await _check_another_model(rig, server)
        assert read_card(rig).shown_lines.lines == 600
        assert read_card(rig).chosen_by == "user"
        assert rig.conversation.window.measure()[0].estimate > before.estimate + 3_000
        rig.window.commands.undo_compaction.trigger()
        await until(lambda: read_card(rig).form == "preview", "the preview again")
        assert rig.conversation.window.measure()[0] == before
        assert [event.form for event in rig.events(FormChosen)] == ["full"]


async def _check_another_model(rig: WindowRig, server: ChatServer) -> None:
    """An output keeps its number when another model answers next, whatever the former one reported."""
    former = read_card(rig).tokens
    await rig.use_server(server, "other", window=64_000)
    await _check_one_number(rig)
    assert read_card(rig).tokens == former
    (row,) = await OutputSource(rig.workspace, lambda: rig.conversation).rows([read_card(rig).digest])
    assert row.tokens == read_card(rig).tokens
    await rig.use_server(server)


async def _check_one_number(rig: WindowRig) -> None:
    """The output has the same tokens in the chat, the panel and the timeline."""
    row = read_card(rig)
    transcript = rig.conversation.session.transcript

    def inspected() -> int:
        (tokens,) = [item.tokens for item in panel_rows(rig) if item.seq == row.answer_seq]
        return tokens

    await until(lambda: abs(inspected() - row.tokens) <= ROUNDING, "the panel's row")
    newest, *_ = (
        found
        for found in build_cards(rig.conversation.session.log, transcript)
        if isinstance(found, FormCard | ManualActionCard)
    )
    if isinstance(newest, FormCard):
        assert newest.after == row.tokens
        rig.perform(ReadContent(row.key))
        original = await until(lambda: read_card(rig).original, "the original")
        assert newest.before == original.tokens
    else:
        assert newest.text.endswith(f"{format_tokens(row.tokens)} tokens")


def _scrubber(rig: WindowRig) -> Scrubber:
    return rig.views.timeline.get().chart.scrubber


async def _look_at(rig: WindowRig, seq: int) -> None:
    """Choose a step, and wait until the panel shows its request."""
    past = rig.wiring.past
    _scrubber(rig).choose(seq)
    await until(lambda: past.window is not None and past.window.answer_seq == seq, f"the request of e{seq}")


async def test_a_look_at_the_past_leaves_the_session_alone(rig: WindowRig) -> None:
    """A button of the past only ends the look; so do Esc on the handle, a message, and another session."""
    replies = replies_in_order(*map(text_reply, ("One.", "Two.", "Three.")))
    async with rig.answered_by(replies, "back"):
        await rig.run_turn("First")
        await rig.run_turn("Second")
        log = list(rig.conversation.session.log)
        past = rig.wiring.past
        first = read_steps(log)[0].seq
        panel = rig.views.panel
        rig.window.show_page("timeline")
        await until(lambda: len(_scrubber(rig).steps) == 2, "the steps on the chart")
        await _look_at(rig, first)
        assert rig.views.timeline.get().now_button.isVisible()
        header = [line.accessibleName() for line in rig.views.timeline.get().findChildren(TextLine)]
        assert "tokens in the request" in header
        assert any(words.startswith("You're looking at turn") for words in header)
        await rig.wiring.session.refresh()
        assert panel.requests.is_read_only, "what goes on meanwhile does not end the look"
        QTest.keyClick(_scrubber(rig), Qt.Key.Key_Escape)
        assert past.step is None
        assert not rig.views.timeline.get().now_button.isVisible()

        await _look_at(rig, first)
        QTest.keyClick(_scrubber(rig), Qt.Key.Key_Return)
        await until(lambda: len(rig.rows(UserRow)) == 1, "the chat of the first step")
        assert rig.window.page() == "chat"
        assert "turn 1, request 1" in rig.chat.past_strip.accessibleName().lower()
        rig.chat.view.perform(Undo((first,)))
        await until(lambda: len(rig.rows(UserRow)) == 2, "the chat of now")
        assert past.step is None
        assert await rig.stored_events() == rig.conversation.session.log == log

        rig.window.show_page("timeline")
        await _look_at(rig, first)
        await rig.run_turn("And now?")
        assert len(rig.rows(UserRow)) == 3
        assert not rig.chat.past_strip.isVisible()
        assert not panel.requests.is_read_only

        await _look_at(rig, first)
        await rig.wiring.workspace_controller.new_session()
        assert past.step is None
        assert not rig.chat.past_strip.isVisible()
