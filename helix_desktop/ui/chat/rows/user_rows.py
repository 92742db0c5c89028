"""Rows of the user's messages, and of what went along with them."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtGui import QImage

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.message_states import MessageStates
from helix_desktop.domain.events.conversation import Attachment, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.slash_command import SLASH
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_texts import context_note
from helix_desktop.ui.chat.rows.row_types import AttachmentNote, UserRow
from helix_desktop.words.attachments import IMAGE_ICON, attachment_facts, attachment_icon, attachment_name


class UserRows:
    """Makes the rows of the user's messages, and again those whose files or state in the context changed."""

    def __init__(self) -> None:
        self._rows: dict[RowKey, UserRow] = {}

    def on_message(self, recorded: RecordedEvent, event: UserSpoke, transcript: Transcript) -> UserRow:
        """Return the row of a message."""
        prompt = f"{SLASH}{event.prompt.command} · {event.prompt.path}" if event.prompt else ""
        row = UserRow(
            RowKey(recorded.seq),
            event.text,
            recorded.at,
            transcript.messages.turns,
            tuple(_note(attachment, transcript) for attachment in event.attachments),
            event.steered,
            prompt,
            is_editable=not transcript.parent,
        )
        self._rows[row.key] = row
        return row

    def updated_states(self, transcript: Transcript) -> list[UserRow]:
        """Return the rows of messages that rewrites took out of the context, or put back."""
        states = MessageStates(transcript)
        changed = []
        for key, row in self._rows.items():
            note = context_note(states.state_of(key.seq))
            if note != row.context_note:
                changed.append(replace(row, context_note=note))
        self._rows |= {row.key: row for row in changed}
        return changed

    def updated_images(self, transcript: Transcript, *, are_sent: bool) -> list[UserRow]:
        """Return the rows whose images are left out now, or no longer; `are_sent`: the model sees images."""
        changed = []
        for row in self._rows.values():
            is_left_out = not are_sent or row.key.seq in transcript.window.masked
            notes = tuple(
                replace(note, is_left_out=is_left_out and note.icon == IMAGE_ICON) for note in row.attachments
            )
            if notes != row.attachments:
                changed.append(replace(row, attachments=notes))
        self._rows |= {row.key: row for row in changed}
        return changed

    def with_thumbnail(self, key: RowKey, digest: str, thumbnail: QImage) -> UserRow | None:
        """Return a message with the thumbnail of an attached image; None if there is no such message."""
        row = self._rows.get(key)
        if row is None:
            return None
        notes = (
            replace(note, thumbnail=thumbnail) if note.image_size and note.digest == digest else note
            for note in row.attachments
        )
        self._rows[key] = replace(row, attachments=tuple(notes))
        return self._rows[key]

    def updated_staleness(self, transcript: Transcript) -> list[UserRow]:
        """Return the rows whose attached files changed, or are again as they were."""
        changed = []
        for row in self._rows.values():
            stale = transcript.stale_digests
            notes = tuple(replace(note, changed_since=stale.get(note.digest, 0)) for note in row.attachments)
            if notes != row.attachments:
                changed.append(replace(row, attachments=notes))
        self._rows |= {row.key: row for row in changed}
        return changed


def _note(attachment: Attachment, transcript: Transcript) -> AttachmentNote:
    image = attachment.image
    return AttachmentNote(
        attachment_name(attachment),
        attachment_facts(attachment),
        attachment.digest,
        attachment_icon(attachment),
        transcript.stale_digests.get(attachment.digest, 0),
        image_size=(image.width, image.height) if image is not None else None,
    )
