"""The handover as it would be now: without a model, from the log alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries.present_handover import PresentHandoverWriter, present_handover
from helix_desktop.domain.events.summary import SECTIONS
from tests.support.histories import DEFAULT_ACTIONS, Dice, SessionSimulator, apply_action, histories


@given(histories(), st.data())
def test_written_again_as_the_log_grows_it_is_what_it_would_be_from_scratch(
    simulator: SessionSimulator, data: st.DataObject
) -> None:
    """Whatever happened in between, a repeated step too; nothing is recorded."""
    writer, dice = PresentHandoverWriter(), Dice(data.draw)
    for action in ("turn", dice.pick(DEFAULT_ACTIONS), "fail_and_retry", "turn"):
        log = list(simulator.log)
        present = writer.write(simulator.transcript, 300)
        assert present == present_handover(simulator.transcript, 300)
        assert simulator.log == log
        assert [section.title for section in present.sections] == [*SECTIONS]
        apply_action(simulator, action, dice)
    assert writer.write(simulator.transcript, 300) == present_handover(simulator.transcript, 300)
