"""The inspector's row of what goes along with a request beside its messages."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.context.window.window_breakdown import WindowItem, break_down_window
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.request_extras import NO_EXTRAS, RequestExtras

EXTRAS = RequestExtras({"X-Title": "Helix"}, ("X-Gateway",), {"service_tier": "flex"})


def rows(extras: RequestExtras, effort: SentEffort) -> list[WindowItem]:
    """Return the rows about fields of the request of an empty session."""
    transcript, frame = Transcript(), PromptFrame(ModelInfo("box", "small", extras=extras), "Help.", (), 2, 0)
    window = project(transcript, PROFILES["balanced"], frame)
    items = break_down_window(window, transcript, frame, effort)
    return [item for item in items if item.kind == "fields"]


def test_everything_that_is_sent_has_a_name_and_no_secret_has_a_value() -> None:
    assert rows(NO_EXTRAS, "") == []
    (effort,) = rows(NO_EXTRAS, "high")
    assert (effort.name, effort.why, effort.tokens) == ("Also sent", "Effort high", 0)
    (all_of_it,) = rows(EXTRAS, "low")
    assert all_of_it.why == "Effort low, X-Title, X-Gateway, service_tier"
    assert all_of_it.text == 'effort: low\nX-Title: Helix\nX-Gateway: •••\n{\n  "service_tier": "flex"\n}'
