"""A message that the user has not sent yet."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.events.session import Attachment


class Draft(msgspec.Struct, frozen=True, omit_defaults=True):
    """An unsent message: its text and attachments."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()

    def __bool__(self) -> bool:
        """Return True if it is not empty."""
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
        """The length of all its texts, in characters."""
        return len(self.text) + sum(len(attachment.text) for attachment in self.attachments)
