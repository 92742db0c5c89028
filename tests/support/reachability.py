"""What can be read back from a window, found as an agent would: by its text, and by following its handles.

Written without the program's own reader of index entries, so that one can be held against the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from helix_desktop.context.log.window_layout import LogItem, PinnedCopy
from helix_desktop.context.window.window import NO_OUTPUT, Window
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.messages import ModelRequest
from tests.support.session_simulator import SessionSimulator

_HANDLE_PATTERN = re.compile(r'recall_cached_content\(\\?"([0-9a-f]{64})\\?"\)')
_DIGEST_LINE = re.compile(r"([0-9a-f]{64}) ")
_SPEAKER_LINE = re.compile(r"e(\d+) (user:|agent:|call) ")


class IndexEntry(msgspec.Struct):
    """What an index entry says: the digests it names, and the words by event and kind."""

    digests: list[str] = []
    texts: dict[tuple[int, str], list[str]] = {}


def parse_index_entry(data: bytes) -> IndexEntry:
    """An index entry, read line by line."""
    found = IndexEntry()
    parts: list[str] | None = None
    heading, *lines = (data.decode("utf-8", "surrogatepass") + "\n").splitlines(keepends=True)
    assert heading.startswith("Index of cached outputs")
    for line in lines:
        if named := _DIGEST_LINE.match(line):
            found.digests.append(named.group(1))
            parts = None
        elif said := _SPEAKER_LINE.match(line):
            parts = [line[said.end() :]]
            found.texts.setdefault((int(said.group(1)), said.group(2)), []).append("")
        else:
            assert parts is not None, f"a line that belongs to nothing: {line!r}"
            parts.append(line.removeprefix("| "))
            assert line.startswith("| ") or not line.strip("\r\n"), f"neither an entry nor quoted: {line!r}"
        if parts is not None:
            *_, newest = found.texts.values()
            newest[-1] = "".join(parts).removesuffix("\n")
    return found


class ReachableContent(msgspec.Struct):
    """Everything reachable: digests by handles, and the words that index entries keep."""

    digests: set[str]
    texts: dict[tuple[int, str], list[str]]


def follow_handles(
    request: ModelRequest, contents: Mapping[str, bytes], indexes: Iterable[str]
) -> ReachableContent:
    """Follow the handles in a request, and those in the index entries that they lead to."""
    known = set(indexes)
    found = ReachableContent(set(), {})
    waiting = list(_handles(request))
    while waiting:
        digest = waiting.pop()
        if digest in found.digests or digest not in contents:
            continue
        assert digest_of(contents[digest]) == digest
        found.digests.add(digest)
        if digest in known:
            index = parse_index_entry(contents[digest])
            waiting += index.digests
            found.texts |= index.texts
    return found


def _handles(request: ModelRequest) -> Iterable[str]:
    for message in request.messages:
        yield from _HANDLE_PATTERN.findall(message.text)
        for call in message.calls:
            yield from _HANDLE_PATTERN.findall(call.arguments)


def index_digests(simulator: SessionSimulator) -> set[str]:
    """The digests of all index entries, as the events name them."""
    kinds = (FoldMade, HandoverMade, ObservationsMade)
    return {one.event.index for one in simulator.log if isinstance(one.event, kinds)}


def unreachable_content(simulator: SessionSimulator, window: Window | None = None) -> list[str]:
    """Whatever was ever said, answered or written and cannot be read back from the window."""
    shown = window or simulator.window()
    found = follow_handles(shown.request, simulator.contents, index_digests(simulator))
    standing = {one.seq for one in shown.entries if isinstance(one, LogItem)}
    whole = _full_digests(shown)
    missing: list[str] = []
    for item in simulator.transcript.items:
        match item.event:
            case ToolAnswered(digest=digest) if digest and digest not in found.digests | whole:
                missing.append(f"output e{item.seq}")
            case AssistantSpoke() as spoke:
                missing += _unreachable_texts(item.seq, spoke, item.seq in standing, found)
                masked = item.seq in simulator.transcript.masked or item.seq not in standing
                wanted = {one for short in spoke.short for one in short.digests} if masked else set()
                missing += [f"argument e{item.seq}" for one in wanted if one not in found.digests]
            case UserSpoke(attachments=attachments) if item.seq in standing:
                shown_or_named = found.digests | whole
                pictures = {one.digest for one in attachments if one.image}
                missing += [f"image e{item.seq}" for one in pictures if one not in shown_or_named]
            case UserSpoke() as said:
                if found.texts.get((item.seq, "user:")) != [said.text]:
                    missing.append(f"words e{item.seq}")
                attached = {one.digest for one in said.attachments}
                missing += [f"attachment e{item.seq}" for one in attached if one not in found.digests]
    return missing


def _unreachable_texts(
    seq: int, spoke: AssistantSpoke, is_in_window: bool, reachable: ReachableContent
) -> list[str]:
    if is_in_window:
        return []
    missing = []
    if spoke.text.strip() and reachable.texts.get((seq, "agent:")) != [spoke.text]:
        missing.append(f"words e{seq}")
    short = {one.call_id for one in spoke.short}
    called = reachable.texts.get((seq, "call"), [])
    left = (call for call in spoke.calls if call.id not in short)
    missing += [f"call e{seq}" for call in left if f"{call.name} {call.arguments}" not in called]
    return missing


def _full_digests(window: Window) -> set[str]:
    """The digests of what stands whole in a window, as an answer or as a pinned one."""
    found = {digest_of(b"")} if any(one.text == NO_OUTPUT for one in window.request.messages) else set()
    found |= {one.digest for message in window.request.messages for one in message.images}
    answers = {item.seq for item in window.entries if isinstance(item, LogItem)}
    for message in window.request.messages:
        pinned = message.text.partition("\n")[2] if message.text.startswith("[Pinned output") else ""
        for text in {message.text if message.role == "tool" else "", pinned} - {""}:
            found.add(digest_of(text.encode("utf-8", "surrogatepass")))
    blank = [one.event for one in window.entries if isinstance(one, LogItem) and one.seq in answers]
    blank += [one.item.event for one in window.entries if isinstance(one, PinnedCopy)]
    found |= {one.digest for one in blank if isinstance(one, ToolAnswered) and not one.text.strip()}
    return found
