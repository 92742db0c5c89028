"""What an agent can read back from a window: by its text, and by following its handles.

Written without the product's own reader of index entries, so that one can be checked against the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from helix_desktop.context.log.window_layout import LogItem, PinnedCopy
from helix_desktop.context.window.window import NO_OUTPUT, Window
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.messages import Message, ModelRequest
from tests.support.session_simulator import SessionSimulator

_HANDLE_PATTERN = re.compile(r'recall_cached_content\(\\?"([0-9a-f]{8,64})\\?"\)')
_DIGEST_LINE = re.compile(r"([0-9a-f]{64}) ")
_SPEAKER_LINE = re.compile(r"e(\d+) (user:|agent:|call) ")


_EDITED_LABEL = re.compile(r"\[File as it was \(edited since, e\d+\)\]\n")


def without_edited_label(message: Message) -> Message:
    """Return a message without the line that says that a file was edited before its text was brought back."""
    return msgspec.structs.replace(message, text=_EDITED_LABEL.sub("", message.text))


class IndexEntry(msgspec.Struct):
    """The content of an index entry: its digests, and its texts by event and kind."""

    digests: list[str] = []
    texts: dict[tuple[int, str], list[str]] = {}


def parse_index_entry(data: bytes) -> IndexEntry:
    """An index entry, read line by line."""
    entry = IndexEntry()
    parts: list[str] | None = None
    heading, *lines = (data.decode("utf-8", "surrogatepass") + "\n").splitlines(keepends=True)
    assert heading.startswith("Index of cached outputs")
    for line in lines:
        if digest_match := _DIGEST_LINE.match(line):
            entry.digests.append(digest_match.group(1))
            parts = None
        elif speaker_match := _SPEAKER_LINE.match(line):
            parts = [line[speaker_match.end() :]]
            entry.texts.setdefault((int(speaker_match.group(1)), speaker_match.group(2)), []).append("")
        else:
            assert parts is not None, f"a line that belongs to nothing: {line!r}"
            parts.append(line.removeprefix("| "))
            assert line.startswith("| ") or not line.strip("\r\n"), f"neither an entry nor quoted: {line!r}"
        if parts is not None:
            *_, newest = entry.texts.values()
            newest[-1] = "".join(parts).removesuffix("\n")
    return entry


class ReachableContent(msgspec.Struct):
    """Everything reachable: digests by handles, and the texts of index entries."""

    digests: set[str]
    texts: dict[tuple[int, str], list[str]]


def follow_handles(
    request: ModelRequest, contents: Mapping[str, bytes], indexes: Iterable[str], texts: Iterable[str] = ()
) -> ReachableContent:
    """Follow the handles in a request, in index entries that they lead to, and in `texts` of the window."""
    seen_indexes = set(indexes)
    window_texts = set(texts)
    reachable = ReachableContent(set(), {})
    waiting = [_resolve(handle, contents) for handle in _handles(request)]
    while waiting:
        digest = waiting.pop()
        if digest in reachable.digests or digest not in contents:
            continue
        assert digest_of(contents[digest]) == digest
        reachable.digests.add(digest)
        if digest in seen_indexes:
            index = parse_index_entry(contents[digest])
            waiting += index.digests
            reachable.texts |= index.texts
        elif digest in window_texts:
            handles = _HANDLE_PATTERN.findall(contents[digest].decode("utf-8", "replace"))
            waiting += [_resolve(handle, contents) for handle in handles]
    return reachable


def _resolve(handle: str, contents: Mapping[str, bytes]) -> str:
    """Return the one content that a handle names, or the handle itself where it names none."""
    fitting = [digest for digest in contents if digest.startswith(handle)]
    assert len(fitting) < 2, f"{handle} is ambiguous"
    return fitting[0] if fitting else handle


def _handles(request: ModelRequest) -> Iterable[str]:
    for message in request.messages:
        yield from _HANDLE_PATTERN.findall(message.text)
        for call in message.calls:
            yield from _HANDLE_PATTERN.findall(call.arguments)


def index_digests(simulator: SessionSimulator) -> set[str]:
    """The digests of all index entries, as the events name them."""
    kinds = (FoldMade, HandoverMade, ObservationsMade)
    return {entry.event.index for entry in simulator.log if isinstance(entry.event, kinds)}


def unreachable_content(simulator: SessionSimulator, window: Window | None = None) -> list[str]:
    """Return every message, output and argument that cannot be read back from the window."""
    current = window or simulator.window()
    rewrites = simulator.transcript.rewrites
    excluded = [event.digest for event in (*rewrites.excluded.values(), *rewrites.excluded_texts.values())]
    reachable = follow_handles(current.request, simulator.contents, index_digests(simulator), excluded)
    standing = {item.seq for item in current.entries if isinstance(item, LogItem)}
    full_digests = _full_digests(current)
    missing: list[str] = []
    for item in simulator.transcript.messages.items:
        match item.event:
            case ToolAnswered(digest=digest) if digest and digest not in reachable.digests | full_digests:
                missing.append(f"output e{item.seq}")
            case AssistantSpoke() as response:
                missing += _unreachable_texts(item.seq, response, item.seq in standing, reachable)
                hidden = simulator.transcript.window.swept | simulator.transcript.rewrites.excluded.keys()
                swept = item.seq in hidden or item.seq not in standing
                short_digests = (
                    {digest for short in response.short for digest in short.digests} if swept else set()
                )
                missing += [
                    f"argument e{item.seq}" for digest in short_digests if digest not in reachable.digests
                ]
            case UserSpoke(attachments=attachments) if item.seq in standing:
                all_digests = reachable.digests | full_digests
                in_part = {
                    attachment.digest
                    for attachment in attachments
                    if attachment.image or attachment.form == "preview"
                }
                missing += [f"attachment e{item.seq}" for digest in in_part if digest not in all_digests]
            case UserSpoke() as event:
                if reachable.texts.get((item.seq, "user:")) != [event.text]:
                    missing.append(f"words e{item.seq}")
                attached = {attachment.digest for attachment in event.attachments}
                missing += [
                    f"attachment e{item.seq}" for digest in attached if digest not in reachable.digests
                ]
    return missing


def _unreachable_texts(
    seq: int, response: AssistantSpoke, is_in_window: bool, reachable: ReachableContent
) -> list[str]:
    if is_in_window:
        return []
    missing = []
    if response.text.strip() and reachable.texts.get((seq, "agent:")) != [response.text]:
        missing.append(f"words e{seq}")
    short = {call.call_id for call in response.short}
    called = reachable.texts.get((seq, "call"), [])
    left = (call for call in response.calls if call.id not in short)
    missing += [f"call e{seq}" for call in left if f"{call.name} {call.arguments}" not in called]
    return missing


def _full_digests(window: Window) -> set[str]:
    """Return the digests of outputs that are complete in a window, as an answer or pinned."""
    digests = (
        {digest_of(b"")} if any(message.text == NO_OUTPUT for message in window.request.messages) else set()
    )
    digests |= {image.digest for message in window.request.messages for image in message.images}
    answers = {item.seq for item in window.entries if isinstance(item, LogItem)}
    for message in map(without_edited_label, window.request.messages):
        pinned = message.text.partition("\n")[2] if message.text.startswith("[Pinned output") else ""
        for text in {message.text if message.role == "tool" else "", pinned} - {""}:
            digests.add(digest_of(text.encode("utf-8", "surrogatepass")))
    blank = [item.event for item in window.entries if isinstance(item, LogItem) and item.seq in answers]
    blank += [entry.item.event for entry in window.entries if isinstance(entry, PinnedCopy)]
    digests |= {event.digest for event in blank if isinstance(event, ToolAnswered) and not event.text.strip()}
    return digests
