"""The layers of a request that later requests keep: where they end, and which of them changed."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import takewhile

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy, SummaryBlock, WindowEntry
from helix_desktop.context.window.window import Window
from helix_desktop.domain.events.session import UserSpoke
from helix_desktop.domain.messages import RequestLayers

_HASH_BYTES = 4


def layer_ends(window: Window, transcript: Transcript) -> tuple[int, ...]:
    """Return after how many messages a layer ends that later requests keep, in order; at most two.

    The first is the end of handover, observations and notes (without them that of the user's first messages),
    the second the end of what the request before had and this one still has.
    """
    entries, opening = window.entries, _opening_count(window)
    if opening + len(entries) != len(window.request.messages):
        return ()  # the request was repaired: nothing is known of its layers
    same = sum(1 for _ in takewhile(lambda entry: _upto(entry) < transcript.changed_from, entries))
    ends = (_head_count(entries), same)
    return tuple(sorted({opening + end for end in ends if 0 < end < len(entries)}))


def hash_layers(window: Window) -> RequestLayers:
    """Return short hashes of the layers of a request."""
    request, opening = window.request, _opening_count(window)
    notes = (
        message.text
        for message, entry in zip(request.messages[opening:], window.entries, strict=False)
        if isinstance(entry, SummaryBlock)
    )
    return RequestLayers(
        system=_short_hash(message.text for message in request.messages[:opening]),
        tools=_short_hash(msgspec.json.encode(tool).decode() for tool in request.tools),
        notes=_short_hash(notes),
    )


def _opening_count(window: Window) -> int:
    """Return how many messages stand before those of the log: the system prompt, if there is one."""
    return sum(1 for _ in takewhile(lambda message: message.role == "system", window.request.messages))


def _short_hash(texts: Iterable[str]) -> str:
    digest = blake2b(digest_size=_HASH_BYTES)
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _head_count(entries: tuple[WindowEntry, ...]) -> int:
    """Return how many entries the first layer has."""
    for at in range(len(entries) - 1, -1, -1):
        if isinstance(entries[at], SummaryBlock):
            return at + 1
    return sum(1 for _ in takewhile(_is_users, entries))


def _is_users(entry: WindowEntry) -> bool:
    return isinstance(entry, LogItem) and isinstance(entry.event, UserSpoke)


def _upto(entry: WindowEntry) -> int:
    return entry.item.upto if isinstance(entry, PinnedCopy) else entry.upto
