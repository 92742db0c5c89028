"""The timeline's cards of large outputs: in which form the agent got them, and by whose choice."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.usage_gauge import output_tokens
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.ui.timeline.card_data import FormCard
from helix_desktop.words.costs import cost_text
from helix_desktop.words.models import slow_model_text
from helix_desktop.words.translation import translate

_NAME_CHARS = 60  # of an output's name


def form_card(recorded: RecordedEvent, transcript: Transcript, is_demo: bool) -> FormCard | None:
    """Return the card of an output whose form was chosen; None for one that simply is whole.

    `is_demo`: the demo model was asked for it, which has no price.
    """
    event = recorded.event
    if not isinstance(event, ToolAnswered) or event.recalled or event.outcome != "ran":
        return None
    if event.form == "full" and event.chosen == "rule" and not event.full_tokens:
        return None
    full = event.full_tokens or (event.tokens if event.form == "full" else 0)
    is_part = event.form == "full" and not event.whole
    return FormCard(
        recorded.seq,
        recorded.at,
        ellipsize(" ".join(f"{display_name(event.name)} {event.target}".split()), _NAME_CHARS),
        "preview" if is_part else event.form,
        event.chosen,
        output_tokens(full) if full else 0,
        output_tokens(event.tokens),
        event.digest,
        event.asked,
        translate(event.intake_note) or slow_model_text(event.intake_slow_model),
        cost_text(
            event.intake_tokens, event.intake_cost, is_demo, event.intake_estimated, event.intake_unpriced
        ),
        recorded.seq in transcript.rewrites.chosen_forms,
        is_unasked=bool(event.intake_slow_model),
    )
