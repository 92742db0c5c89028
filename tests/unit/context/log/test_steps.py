"""The steps of a session, as the chart and the rows of the next request name them."""

from __future__ import annotations

from hypothesis import given

from helix_desktop.context.log.steps import read_steps
from helix_desktop.domain.events.conversation import AssistantSpoke
from tests.support.histories import SessionSimulator, histories


@given(histories())
def test_a_message_and_its_step_on_the_chart_have_one_number(simulator: SessionSimulator) -> None:
    """Whatever was retried, steered or compacted in between."""
    steps = {step.seq: (step.turn, step.number) for step in read_steps(simulator.log)}
    transcript = simulator.transcript
    for item in transcript.messages.items:
        if isinstance(item.event, AssistantSpoke):
            assert (item.turn, transcript.messages.step_in_turn(item)) == steps[item.seq]
