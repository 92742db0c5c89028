"""Recorded sessions: files of one message a line, plain or gzip, read strictly."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.context.errors import RecordingUnusable
from helix_desktop.context.message import Message, ToolCall
from helix_desktop.replay.ports import RawMessage

SUFFIXES = (".jsonl", ".jsonl.gz")
LONGEST_LINE = 64 * 1024 * 1024  # bytes: a message of more is taken for a damaged file
_GZIP = b"\x1f\x8b"
_FIX = "Give a recording of one message a line, as `helix-desktop replay --help` says."


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="role"):
    content: str


class _System(_Line, frozen=True, tag="system"):
    pass


class _User(_Line, frozen=True, tag="user"):
    pass


class _Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    name: str
    arguments: str


class _Assistant(_Line, frozen=True, omit_defaults=True, tag="assistant"):
    tool_calls: list[_Call] = []


class _Tool(_Line, frozen=True, tag="tool"):
    tool_call_id: str
    name: str


_Any = _System | _User | _Assistant | _Tool
_DECODER = msgspec.json.Decoder(_Any)


def as_message(raw: RawMessage) -> Message:
    """A message of a recording or of a replay's request as the context engine has it."""
    calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in raw.get("tool_calls", ()))
    return Message(raw["role"], raw["content"], calls, raw.get("tool_call_id", ""), raw.get("name", ""))


def parsed(arguments: str) -> object:
    """A call's arguments as JSON; None where they are free text, or nested beyond reason."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


def recordings(paths: Iterable[Path]) -> list[Path]:
    """The recordings among files and folders, in order; a folder is searched to the bottom.

    Raises RecordingUnusable for what is not there, and for a folder without any.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted(one for one in path.rglob("*") if one.name.endswith(SUFFIXES) and one.is_file())
        if not inside:
            raise RecordingUnusable(
                f"{path} holds no recording.", f"None ends in {' or '.join(SUFFIXES)}.", _FIX
            )
        found += inside
    return list(dict.fromkeys(found))


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The messages of a recording, one by one. Raises RecordingUnusable naming the line and what is wrong."""
    order = _Order()
    number = 0
    with _opened(path) as file:
        for number, raw in enumerate(_lines(path, file), 1):
            if not raw.strip():
                continue
            try:
                line = _DECODER.decode(raw)
                order.take(line)
            except (msgspec.DecodeError, UnicodeDecodeError, _Disorder) as error:
                raise _unusable(path, number, str(error)) from error
            yield msgspec.to_builtins(line)
    if order.lacking:
        raise _unusable(path, number, order.lacking)


@contextmanager
def _opened(path: Path) -> Iterator[BufferedIOBase]:
    try:
        with path.open("rb") as plain:
            packed = plain.read(len(_GZIP)) == _GZIP
            plain.seek(0)
            if not packed:
                yield plain
                return
            with gzip.GzipFile(fileobj=plain, mode="rb") as file:
                yield file
    except OSError as error:
        raise RecordingUnusable(
            f"The recording {path} cannot be read.", f"{error.strerror or error}.", _FIX
        ) from error


def _lines(path: Path, file: BufferedIOBase) -> Iterator[bytes]:
    number = 0
    while True:
        number += 1
        try:
            raw = file.readline(LONGEST_LINE + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _unusable(path, number, f"the compressed data is damaged or cut off: {error}") from error
        if not raw:
            return
        if len(raw) > LONGEST_LINE:
            raise _unusable(path, number, f"the line is longer than {LONGEST_LINE:,} bytes")
        yield raw


def _unusable(path: Path, number: int, why: str) -> RecordingUnusable:
    where = f"Line {number}" if number else "The file"
    return RecordingUnusable(f"The recording {path} is not usable.", f"{where}: {why.rstrip('.')}.", _FIX)


class _Disorder(Exception):
    """A message stands where it cannot stand."""


class _Order:
    """Follows who may speak next."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._known: set[str] = set()
        self._begun = self._asked = self._called = False

    def take(self, line: _Any) -> None:
        """Look at the next message. Raises _Disorder."""
        if isinstance(line, _Tool):
            self._answer(line.tool_call_id)
            return
        if self._waiting:
            raise _Disorder(f"a message of the {_role(line)} stands before the answers to {self._open}")
        if isinstance(line, _System) and self._begun:
            raise _Disorder("a system message stands behind the first place")
        if isinstance(line, _Assistant):
            self._speak(line)
        self._begun = True
        self._asked |= isinstance(line, _User)

    def _speak(self, line: _Assistant) -> None:
        if not self._asked:
            raise _Disorder("the assistant speaks before the user")
        for call in line.tool_calls:
            if not call.id or call.id in self._known:
                raise _Disorder(f"the call id {call.id!r} is {'used twice' if call.id else 'empty'}")
            self._known.add(call.id)
        self._waiting = [call.id for call in line.tool_calls]
        self._called = True

    def _answer(self, call_id: str) -> None:
        if call_id not in self._waiting:
            raise _Disorder(f"an answer to {call_id!r}, which no call before it asks for")
        self._waiting.remove(call_id)

    @property
    def _open(self) -> str:
        return ", ".join(self._waiting)

    @property
    def lacking(self) -> str:
        """What is missing now that the file ends; empty when nothing is."""
        if self._waiting:
            return f"the file ends before the answers to {self._open}"
        return "" if self._called else "no message is the assistant's, so there is nothing to replay"


def _role(line: _Any) -> str:
    return str(line.__struct_config__.tag)
