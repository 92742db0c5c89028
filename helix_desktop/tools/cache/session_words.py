"""What was said and called in the calling session, which the log has and the store's search does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.digest import CACHE_TOOLS
from helix_desktop.domain.events.session import AssistantSpoke, UserSpoke
from helix_desktop.domain.search_query import normalize
from helix_desktop.domain.text_search import find_matches
from helix_desktop.tools.cache.search_hits import Hit, terms_in

_MAX_HITS = 50


def newest_searchable_seq(transcript: Transcript) -> int:
    """Return the last event before the step that searches, if any: its own words hold what it looks for."""
    for item in reversed(transcript.items if transcript.open_calls else ()):
        if isinstance(item.event, AssistantSpoke):
            return item.seq - 1
    return transcript.last_seq


def find_words(transcript: Transcript, upto: int, terms: Sequence[str], min_terms: int) -> list[Hit]:
    """Return the newest messages up to event `upto` with at least `min_terms` of the normalized words."""
    hits: list[Hit] = []
    for item in reversed(transcript.between(0, upto)):
        if len(hits) >= _MAX_HITS:
            break
        for speaker, text in _texts(item):
            folded = normalize(text)
            present = [term for term in terms if term in folded]
            if len(present) < max(1, min_terms):
                continue
            summary = find_matches(present, text.encode("utf-8", "replace"), "", lambda: True)
            if summary is not None:
                terms_found = terms_in(summary.best, present)
                hits.append(
                    Hit(item.at_ms, summary.best, terms_found, summary.lines, seq=item.seq, speaker=speaker)
                )
    return hits


def _texts(item: LogItem) -> Iterator[tuple[str, str]]:
    """Yield who says what in a message, and its calls with their small arguments, but those of this cache."""
    match item.event:
        case UserSpoke(text=text):
            yield "user", text
        case AssistantSpoke(text=text, calls=calls, short=short):
            yield "agent", text
            arguments = {call.call_id: call.arguments for call in short}
            for call in calls:
                if call.name not in CACHE_TOOLS:
                    yield f"call {call.name}", arguments.get(call.id, call.arguments)
