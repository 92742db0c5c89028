"""A step of the past in words."""

from __future__ import annotations

import pytest

from helix_desktop.context.log.steps import read_steps
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import Usage
from helix_desktop.words.steps import looking_at_text, sent_at_text, step_text


@pytest.mark.parametrize(
    ("usage", "figure"),
    [(Usage(1_300, 4), "1.3k tokens"), (Usage(0, 4), "≈ 1.2k tokens"), (None, "≈ 1.2k tokens")],
)
def test_a_request_that_no_provider_counted_is_marked_as_estimated(usage: Usage | None, figure: str) -> None:
    answer = AssistantSpoke("Hello.", "lab/m", 2, usage=usage, estimate=1_200)
    (step,) = read_steps([RecordedEvent(1, 0, UserSpoke("Hello", 2)), RecordedEvent(2, 0, answer)])
    assert sent_at_text(step).endswith(f" · {figure}")
    assert all(text(step).endswith(f" · {figure} in the request") for text in (step_text, looking_at_text))
