"""Which outputs of a log were removed from the cache as a secret, and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from helix_desktop.agent.session import Session
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.redaction.redaction import has_redaction_mark


async def removed_outputs(session: Session, log: Iterable[RecordedEvent]) -> Mapping[str, int]:
    """Return when each was removed, in milliseconds since 1970, by digest.

    Only those with a mark in place of the secret are looked up: an output may also quote such a mark.
    """
    marked = {
        recorded.event.digest
        for recorded in log
        if isinstance(recorded.event, ToolAnswered)
        and recorded.event.digest
        and has_redaction_mark(recorded.event.text)
    }
    times = {digest: await session.redacted_at(digest) for digest in marked}
    return {digest: at_ms for digest, at_ms in times.items() if at_ms}
