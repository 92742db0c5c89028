"""What a user wrote and has not sent."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.events.session import Attachment


class Draft(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message that was not sent: its text, and what goes along with it."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is something in it."""
        return bool(self.text or self.attachments)

    @property
    def digests(self) -> frozenset[str]:
        """The stored contents that it names; no clean-up may take them."""
        image_digests = {
            attachment.image.digest for attachment in self.attachments if attachment.image is not None
        }
        return frozenset(image_digests | {attachment.digest for attachment in self.attachments})

    @property
    def size(self) -> int:
        """Length of all its texts, in characters."""
        return len(self.text) + sum(len(attachment.text) for attachment in self.attachments)
