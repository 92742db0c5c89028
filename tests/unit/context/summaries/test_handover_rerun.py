"""A handover that is written again: the cut of the one before counts as any other cut does."""

from __future__ import annotations

from hypothesis import given

from helix_desktop.context.summaries.handover import available_cuts
from helix_desktop.context.summaries.handover_revision import same_cut
from tests.support.histories import SessionSimulator, histories


@given(histories())
def test_the_same_cut_has_the_tokens_that_the_window_shows(simulator: SessionSimulator) -> None:
    """Noted steps count as their note: the messages in it were counted in full."""
    transcript = simulator.transcript
    for cut in available_cuts(transcript, 0, in_newest_turn=True):
        assert same_cut(transcript, cut.upto, cut.kept_seq).tokens == cut.tokens
