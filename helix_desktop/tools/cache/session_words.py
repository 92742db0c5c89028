"""What was said and called: in the calling session, whose log has it all, and in others, by their indexes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.index_entry import IndexLine
from helix_desktop.domain.digest import CACHE_TOOLS
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.text_search import find_matches, normalize
from helix_desktop.tools.cache.search_hits import Hit, terms_in

_MAX_HITS = 50


def newest_searchable_seq(transcript: Transcript) -> int:
    """Return the last event before the step that searches, if any: its own words hold what it looks for."""
    for item in reversed(transcript.messages.items if transcript.open_calls else ()):
        if isinstance(item.event, AssistantSpoke):
            return item.seq - 1
    return transcript.last_seq


def find_words(transcript: Transcript, upto: int, terms: Sequence[str], min_terms: int) -> list[Hit]:
    """Return the newest messages up to event `upto` with at least `min_terms` of the normalized words."""
    hits: list[Hit] = []
    for item in reversed(transcript.messages.between(0, upto)):
        if len(hits) >= _MAX_HITS:
            break
        for speaker, text in _texts(item):
            hit = _hit_of_text(text, terms, min_terms)
            if hit is not None:
                hits.append(replace(hit, at_ms=item.at_ms, seq=item.seq, speaker=speaker))
    return hits


def find_indexed_words(index: CacheEntry, lines: Sequence[IndexLine], terms: Sequence[str]) -> list[Hit]:
    """Return the newest messages with all of the normalized words in an index of another session."""
    hits: list[Hit] = []
    for line in reversed(lines):
        if line.digest or len(hits) >= _MAX_HITS or line.text.startswith(CACHE_TOOLS):
            continue
        hit = _hit_of_text(line.text, terms, len(terms))
        if hit is not None:
            hits.append(replace(hit, at_ms=index.created, seq=line.seq, speaker=line.label, index=index))
    return hits


def _hit_of_text(text: str, terms: Sequence[str], min_terms: int) -> Hit | None:
    """Return a hit if a text has at least `min_terms` of the words; who said it and when is not in it yet."""
    folded = normalize(text)
    present = [term for term in terms if term in folded]
    if len(present) < max(1, min_terms):
        return None
    matches = find_matches(present, text.encode("utf-8", "replace"), "", lambda: True)
    if matches is None:
        return None
    return Hit(0, matches.best, terms_in(matches.best, present), matches.lines, text=text)


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
