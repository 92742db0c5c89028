"""Chips of attachments as the composer shows them."""

from __future__ import annotations

from typing import Any

from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.ui.chat.composer.attachment_chips import Chip


def sample_chip(label: str, note: str, **facts: Any) -> Chip:
    """Return the chip of a file, or of what `facts` say: only text of the cache can be put into messages."""
    return Chip(Attachment("0" * 64, label, "", 1, 1, **{"kind": "file"} | facts), note)
