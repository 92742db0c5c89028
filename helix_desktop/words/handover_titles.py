"""What the summaries of a session are called that have sections."""

from __future__ import annotations

from collections import Counter

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.window.window_breakdown import summary_name
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")


def handover_titles(transcript: Transcript) -> dict[int, str]:
    """Return titles by events, oldest first; a number tells those apart that would have the same."""
    titles: dict[int, str] = {}
    times = Counter[str]()
    handovers = transcript.written_handovers
    newest = max(handovers.keys() - transcript.checkpoints.keys(), default=0)
    for seq, handover in handovers.items():
        is_next = seq in transcript.checkpoints and seq > newest
        counts = handover_counts(transcript, handover)
        title = _title(handover, tr("Next summary") if is_next else translate(summary_name(counts)))
        times[title] += 1
        count = times[title]
        titles[seq] = title if count == 1 else tr("{title} ({count})", title=title, count=count)
    return titles


def _title(handover: HandoverMade, name: str) -> str:
    if handover.origin:
        return tr("Summary of “{title}”", title=session_title(handover.origin_title))
    if handover.replaces:
        return tr("{title}, written again", title=name)
    return tr("{title}, edited", title=name) if handover.revises else name
