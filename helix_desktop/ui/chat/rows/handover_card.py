"""The card of the handover that a session starts from: without it a continued session looks empty."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade, Section
from helix_desktop.ui.chat.actions import OpenVersion
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import NoticeRow
from helix_desktop.ui.timeline.card_texts import gist_bullets
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")


def handover_card(recorded: RecordedEvent, handover: HandoverMade, transcript: Transcript) -> NoticeRow:
    """Return the card of a handover from another session: gist, all of it on request, and the way back."""
    messages = translate(handover_counts(transcript, handover).text)
    return NoticeRow(
        RowKey(recorded.seq, part="handover"),
        "handover",
        tr("This session starts from a handover"),  # from which session, the divider above says
        tr("{messages} summarized", messages=messages),  # the inspector has its tokens, as the gauge counts
        "\n".join(f"- {bullet.text}" for bullet in gist_bullets(handover.sections)),
        (OpenVersion(handover.origin, is_source=True),),
        "\n\n".join(_markdown(section) for section in handover.sections if section.bullets),
    )


def _markdown(section: Section) -> str:
    return "\n".join((f"### {section.title}", "", *(f"- {bullet.text}" for bullet in section.bullets)))
