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
        pictured = {one.image.digest for one in self.attachments if one.image is not None}
        return frozenset(pictured | {one.digest for one in self.attachments})

    @property
    def size(self) -> int:
        """Length of all its texts, in characters."""
        return len(self.text) + sum(len(one.text) for one in self.attachments)
