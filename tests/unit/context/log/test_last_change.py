"""Undo and redo of the context are offered whenever there is something for them to do."""

from __future__ import annotations

from hypothesis import given

from helix_desktop.context.log.undo_targets import has_change, has_undone, last_change
from helix_desktop.domain.events.rewrite import Undone, Unpinned
from tests.support.histories import DEFAULT_ACTIONS, SessionSimulator, histories


@given(histories((*DEFAULT_ACTIONS, "exclude", "pin", "undo", "undo")))
def test_what_is_offered_is_what_can_be_done(simulator: SessionSimulator) -> None:
    transcript = simulator.transcript
    assert has_change(transcript) == bool(last_change(transcript) or transcript.rewrites.pinned)
    redoable = [
        entry
        for entry in simulator.log
        if (isinstance(entry.event, Undone) and transcript.can_redo(entry.event.target))
        or (isinstance(entry.event, Unpinned) and entry.event.target not in transcript.rewrites.pinned)
    ]
    assert has_undone(transcript) == bool(redoable)
