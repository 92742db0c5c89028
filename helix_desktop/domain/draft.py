"""What of a session is not recorded yet."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent


class PartialOutput(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of what a running call has printed so far.

    `duration_ms` is for how many milliseconds it had run when this was saved; 0: an older version saved it.
    """

    call_id: str
    text: str
    duration_ms: int = 0


class Draft(msgspec.Struct, frozen=True, omit_defaults=True):
    """An unsent message: its text and attachments.

    With it is stored what came so far of an answer: as it would be recorded, with the seq of the event that
    it follows; and what running calls printed.
    """

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    partial_answer: RecordedEvent | None = None
    partial_outputs: tuple[PartialOutput, ...] = ()

    def __bool__(self) -> bool:
        """Return True if the message is not empty."""
        return bool(self.text or self.attachments)

    @property
    def digests(self) -> frozenset[str]:
        """The digests of the stored contents it refers to; clean-ups must keep them."""
        image_digests = {
            attachment.image.digest for attachment in self.attachments if attachment.image is not None
        }
        return frozenset(image_digests | {attachment.digest for attachment in self.attachments})

    @property
    def size(self) -> int:
        """The length of the message's texts, in characters."""
        return len(self.text) + sum(len(attachment.text) for attachment in self.attachments)


def without_partial_answer(draft: Draft) -> Draft:
    """Return it without what came so far of an answer."""
    return msgspec.structs.replace(draft, partial_answer=None)
