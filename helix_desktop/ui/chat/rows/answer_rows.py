"""Rows of the model's answers, and where they stand in the context."""

from __future__ import annotations

from msgspec.structs import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.message_states import MessageStates
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_texts import context_note
from helix_desktop.ui.chat.rows.row_types import AssistantRow
from helix_desktop.words.efforts import with_effort
from helix_desktop.words.models import model_name


class AnswerRows:
    """Makes the rows of answers, and again those that rewrites took out of the context or put back."""

    def __init__(self) -> None:
        self._rows: dict[RowKey, AssistantRow] = {}
        self._speaker: str | None = None  # whose name stands above the answers of a message

    def end(self) -> None:
        """Note that what comes next is another answer: its model's name stands above it."""
        self._speaker = None

    def on_answer(self, recorded: RecordedEvent, event: AssistantSpoke) -> AssistantRow | None:
        """Return the row of an answer; without words it is a name above calls, or None below that name."""
        name = with_effort(model_name(event.model, event.demo), event.effort)
        words = event.text if event.text.strip() else ""
        if not words and (not event.calls or name == self._speaker):
            return None
        self._speaker = name
        reasoning = event.reasoning if words else ""
        row = AssistantRow(RowKey(recorded.seq), words, recorded.at, name, reasoning=reasoning)
        self._rows[row.key] = row
        return row

    def updated_states(self, transcript: Transcript) -> list[AssistantRow]:
        """Return the rows of answers that left the context, or came back; not of those tried again."""
        states = MessageStates(transcript)
        changed = []
        for key, row in self._rows.items():
            note = context_note(states.state_of(key.seq))
            if note != row.context_note and transcript.messages.item(key.seq) is not None:
                changed.append(replace(row, context_note=note))
        self._rows |= {row.key: row for row in changed}
        return changed
