"""The layers of a request that later requests keep: where they end, and which of them changed."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import takewhile

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, WindowEntry
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.window import Window
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.messages import Message, RequestLayers

_HASH_BYTES = 4
_LOOK_BACK = 18
"""Blocks before a breakpoint in which a provider finds what it stored.

Anthropic looks at 20 ("Prompt caching", November 2026).
"""


def layer_ends(window: Window, transcript: Transcript, policy: ContextPolicy) -> tuple[int, ...]:
    """Return after how many messages a layer ends that later requests keep, in order; at most two.

    The ends of handover, observations and notes (without them of the user's first messages), and of what the
    next sweep leaves as it is. Where a provider would not find what the request before had from these or from
    the end, the end of that takes the place of the first.
    """
    entries, messages, opening = window.entries, window.request.messages, _opening_count(window)
    if opening + len(entries) != len(messages):
        return ()  # the request was repaired: nothing is known of its layers
    same = opening + sum(1 for _ in takewhile(lambda entry: entry.upto < transcript.changed_from, entries))
    settled = opening + sum(
        1 for _ in takewhile(lambda entry: not _is_changeable(entry, transcript, policy), entries)
    )
    ends = {opening + _head_count(entries), settled}
    if not any(_is_found(same, end, messages) for end in (*ends, len(messages))):
        ends = {same, settled}
    return tuple(sorted(end for end in ends if opening < end < len(messages)))


def _is_found(start: int, end: int, messages: tuple[Message, ...]) -> bool:
    """Return True if a provider that looks back from `end` comes as far as `start`."""
    is_near = 0 <= end - start <= _LOOK_BACK  # no message has less than one block
    return is_near and sum(map(_block_count, messages[start:end])) <= _LOOK_BACK


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


def _is_changeable(entry: WindowEntry, transcript: Transcript, policy: ContextPolicy) -> bool:
    """Return True if a sweep may change how a message is sent."""
    if not isinstance(entry, LogItem) or entry.saving < max(1, policy.least_saving) or _is_users(entry):
        return False
    rewrites = transcript.rewrites
    return not any(entry.seq in seqs for seqs in (rewrites.masked, rewrites.sweep_exempt, rewrites.pinned))


def _block_count(message: Message) -> int:
    return max(1, bool(message.text) + len(message.calls) + len(message.images))
