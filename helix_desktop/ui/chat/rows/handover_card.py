"""The card of the handover that a session starts from: without it a continued session looks empty."""

from __future__ import annotations

from msgspec.structs import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade, Section
from helix_desktop.ui.chat.actions import OpenVersion
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import NoticeRow
from helix_desktop.words.rewrites import gist_bullets
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")


class FirstHandover:
    """The handover that a session starts from: gist, all of it on request, and the way back."""

    def __init__(self) -> None:
        self._seq, self._row = 0, NoticeRow(RowKey(0), "handover", "", "")

    def on_event(self, recorded: RecordedEvent, handover: HandoverMade, transcript: Transcript) -> NoticeRow:
        """Return the card that the event adds."""
        messages = translate(handover_counts(transcript, handover).text)
        self._seq = recorded.seq
        self._row = NoticeRow(
            RowKey(recorded.seq, part="handover"),
            "handover",
            _title(is_undone=False),
            tr(
                "{messages} summarized", messages=messages
            ),  # the inspector has its tokens, as the gauge counts
            "\n".join(f"- {bullet.text}" for bullet in gist_bullets(handover.sections)),
            (OpenVersion(handover.origin, is_source=True),),
            "\n\n".join(_markdown(section) for section in handover.sections if section.bullets),
        )
        return self._row

    def updated_states(self, transcript: Transcript) -> list[NoticeRow]:
        """Return the card if the handover was undone since, or redone."""
        updated = replace(self._row, what=_title(is_undone=transcript.can_redo(self._seq)))
        if not self._seq or updated == self._row:
            return []
        self._row = updated
        return [updated]


def _title(*, is_undone: bool) -> str:
    """Return what the card says; from which session, the divider above it says."""
    if is_undone:
        return tr("Not in the context: the handover that this session starts from was undone")
    return tr("This session starts from a handover")


def _markdown(section: Section) -> str:
    return "\n".join((f"### {section.title}", "", *(f"- {bullet.text}" for bullet in section.bullets)))
