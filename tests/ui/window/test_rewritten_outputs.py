"""Folds, pins and arguments as markers, seen in the chat of the real window."""

from __future__ import annotations

import pytest

from helix_desktop.context.log.window_layout import PinnedCopy
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.ui.chat.rows.row_types import DividerRow, ToolRow
from helix_desktop.ui.kit.intents import Undo
from tests.support.model_servers.chat_server import Call, StreamedReply
from tests.support.part_files import part_files, reads_all
from tests.support.timeline_pane import find_card
from tests.support.window.chat_geometry import action_names, press_action
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

COUNT = 13
BODY = "line of a long file that the agent writes\n" * 60
FILES = part_files(COUNT)
FOLDS = {
    "fold_after_steps": 2, "fold_least": 100, "protect_tokens": 2_000, "sweep_min": 90_000,
    "sweep_max": 90_000, "observe_at": 0.0, "observe_place_at": 0.0, "handover_at": 0.95,
}  # fmt: skip
NO_FOLDS = FOLDS | {
    "fold_after_steps": 0,
    "protect_steps": 2,
    "protect_argument_steps": 1,
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
        await rig.begin("folds", FILES, server, **FOLDS)
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
    await until(lambda: rig.window.page() == "cache", "the cache")
    digest = card(rig, "part0.txt").digest
    await until(lambda: rig.views.outputs.get().preview.digest == digest, "the preview")
    press_action(rig.chat.view, card(rig, "part1.txt"), "recall")
    await until(rig.attachment_labels, "the chip")
    assert "part1.txt" in rig.attachment_labels()[0]


async def _check_arguments(rig: WindowRig) -> None:
    arguments = '{"path": "new.py", "content": "' + BODY.replace("\n", "\\n") + '"}'
    async with reads_all(5, StreamedReply(Call("write_file", arguments, id="w"))) as server:
        await rig.begin("arguments", FILES, server, **NO_FOLDS)
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

        for sweep_entry in [
            entry for entry in rig.conversation.session.log if isinstance(entry.event, SweepMade)
        ]:
            rig.perform(Undo((sweep_entry.seq,)))
        await until(lambda: not card(rig, "new.py").arguments_cached, "the arguments back")
