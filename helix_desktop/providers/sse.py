"""Parse server-sent events from byte chunks of any size, and join surrogate pairs that a server split."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_Path = tuple[str | int, ...]


class SurrogateDecoder:
    """Decodes the chunks of one stream; a high surrogate at the end of a text waits for its continuation."""

    def __init__(self) -> None:
        self._waiting: dict[_Path, str] = {}

    def decode(self, text: str) -> Any:
        """Decode one chunk of JSON. Raises ValueError if it is invalid."""
        try:
            return self._decode(text)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error

    def _decode(self, text: str) -> Any:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            # json.loads accepts lone surrogates, which msgspec refuses, and NaN, which servers write.
            return self._join_halves(json.loads(text, parse_constant=lambda _: None), ())
        return self._join_halves(value, ()) if self._waiting else value

    def _join_halves(self, value: Any, path: _Path) -> Any:
        if isinstance(value, dict):
            return {key: self._join_halves(part, (*path, key)) for key, part in value.items()}
        if isinstance(value, list):
            return [self._join_halves(part, (*path, index)) for index, part in enumerate(value)]
        return self._join_text(value, path) if isinstance(value, str) else value

    def _join_text(self, text: str, path: _Path) -> str:
        text = self._waiting.pop(path, "") + text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._waiting[path] = text[-1]
            text = text[:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


MAX_EVENT_BYTES = 8 * 1024 * 1024
"""Bytes of one event: above any tool call's arguments, below what would hurt."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """A server sent more bytes in one event than any answer needs."""


class SseEvent(msgspec.Struct, frozen=True):
    """One event; `name` is what its `event:` field says, `is_whole` that it is JSON in place of a stream."""

    data: str
    name: str = "message"
    is_whole: bool = False


class SseParser:
    """Turns a byte stream into events by the WHATWG standard, one chunk at a time.

    `feed` and `finish` raise EventTooLarge above `max_bytes` bytes in one event.
    """

    def __init__(self, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._data: list[str] = []
        self._name = ""
        self._size = 0
        self._skip_newline = False
        self._at_start = True
        self._is_json = False  # whatever the server calls it: its first line begins as JSON does
        self.stray_text = ""
        """The first line that is not part of an event: then the server sent something else."""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Add a chunk; return the events that end in it."""
        if self._skip_newline and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skip_newline = False
        events: list[SseEvent] = []
        start = 0
        for end in _LINE_END.finditer(chunk):
            self._line += chunk[start : end.start()]
            start = end.end()
            self._skip_newline = end.group() == b"\r" and start == len(chunk)
            event = self._take_line()
            if event is not None:
                events.append(event)
        self._line += chunk[start:]
        self._check_size()
        return events

    def finish(self) -> list[SseEvent]:
        """Return the event left open at the end of the stream: servers forget the last empty line."""
        last = [self._take_line() if self._line or self._is_json else None, self._dispatch()]
        return [event for event in last if event is not None]

    def _take_line(self) -> SseEvent | None:
        self._check_size()
        raw = bytes(self._line)
        self._line.clear()
        if self._at_start:
            raw = raw.removeprefix(_BOM)
            self._is_json = raw.lstrip()[:1] in (b"{", b"[")
            self._at_start = not raw.strip()
        self._size += len(raw)
        if self._is_json:
            self._data.append(raw.decode("utf-8", "replace"))
            return None
        if not raw:
            return self._dispatch()
        name, _, value = raw.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name not in ("", "id", "retry"):
            self.stray_text = self.stray_text or raw.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> SseEvent | None:
        data, name = self._data, self._name
        self._data, self._name, self._size = [], "", 0
        return SseEvent("\n".join(data), name or "message", self._is_json) if data else None

    def _check_size(self) -> None:
        if self._size + len(self._line) > self._max_bytes:
            raise EventTooLarge(f"one event is larger than {self._max_bytes} bytes")
