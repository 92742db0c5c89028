"""What every event is: an immutable fact, in the past tense, whose field names are a stored format.

Token counts are made once, when the event is recorded, and kept.
"""

from __future__ import annotations

import msgspec


class EventBase(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """The root of all events."""
