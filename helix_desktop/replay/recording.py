"""Read recorded sessions strictly: files with one message per line, plain or gzip."""

from __future__ import annotations

import gzip
import json
import stat
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.domain.decoding_faults import decoding_fault
from helix_desktop.domain.errors import InvalidRecording
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.foreign import ForeignCompaction, ForeignRecords
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import Message, ModelInfo, ToolCall, Usage
from helix_desktop.domain.model_spec import ModelSpec
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, system_reason

text = TextContext("Replay")

RawMessage = Mapping[str, Any]
"""A message in the shape of a recording: `role` and `content`; an assistant's `tool_calls`, each with `id`,
`name` and `arguments`; a tool's `tool_call_id` and `name`."""

MAX_LINE_BYTES = 64 * 1024 * 1024  # a longer message means a damaged file
_GZIP = b"\x1f\x8b"
_FIX = text(
    "Use one JSON message per line, as described by {command}.", command="helix-desktop replay --help"
)


class SessionFacts(msgspec.Struct, frozen=True):
    """What a replay has to know besides the log: the model, and what stands in every request.

    `fixed_tokens` are those of system prompt and tools, `ratio` the model's tokens per token of ours until
    its first report.
    """

    info: ModelInfo
    fixed_tokens: int = 0
    ratio: float = 1.0


def recording_facts(window: int, spec: ModelSpec | None = None) -> SessionFacts:
    """Return the facts of a session of which only the messages are known, with a window in tokens.

    `spec` has the prices of the model that answered.
    """
    spec = spec or ModelSpec()
    info = ModelInfo(
        "replay",
        "recorded",
        window,
        reserve=0,
        price_in=spec.price_in,
        price_cached=spec.price_cached,
        price_cache_write=spec.price_cache_write,
    )
    return SessionFacts(info)


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


_AnyLine = _System | _User | _Assistant | _Tool
_DECODER = msgspec.json.Decoder(_AnyLine)


def as_message(raw: RawMessage) -> Message:
    calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in raw.get("tool_calls", ()))
    return Message(raw["role"], raw["content"], calls, raw.get("tool_call_id", ""), raw.get("name", ""))


def messages_of_log(
    log: Iterable[RecordedEvent], contents: Mapping[str, bytes]
) -> tuple[list[dict[str, Any]], list[tuple[int, ForeignCompaction]]]:
    """Return a session as the messages of a recording, outputs in full as far as `contents` has them.

    A recall keeps what it brought back, which is mostly a part.

    Behind it come the compactions of the agent that the session was imported from, each with the number of
    messages in front of it. A call whose id occurred before gets another one.
    """
    messages: list[dict[str, Any]] = []
    compactions: list[tuple[int, ForeignCompaction]] = []
    counts: Counter[str] = Counter()
    open_ids: dict[str, str] = {}
    for recorded in log:
        match recorded.event:
            case UserSpoke(text=words, attachments=attachments):
                parts = (words, *(attachment.text for attachment in attachments))
                messages.append({"role": "user", "content": "\n\n".join(filter(None, parts))})
            case AssistantSpoke(text=words, calls=calls):
                counts.update(call.id for call in calls)
                open_ids = {
                    call.id: f"{call.id}-{counts[call.id]}" if counts[call.id] > 1 else call.id
                    for call in calls
                }
                answer: dict[str, Any] = {"role": "assistant", "content": words}
                if calls:
                    answer["tool_calls"] = [
                        {"id": open_ids[call.id], "name": call.name, "arguments": call.arguments}
                        for call in calls
                    ]
                messages.append(answer)
            case ToolAnswered(call_id=call_id, name=name, digest=digest) as output if call_id in open_ids:
                has_whole = digest in contents and not output.recalled
                whole = contents[digest].decode("utf-8", "replace") if has_whole else output.text
                tool = {"role": "tool", "content": whole, "tool_call_id": open_ids.pop(call_id), "name": name}
                messages.append(tool)
            case ForeignCompaction() as compaction:
                compactions.append((len(messages), compaction))
    return messages, compactions


def recorded_usage(log: Iterable[RecordedEvent]) -> Usage | None:
    """Return what the agent of an imported session says that its model calls took; None if it does not.

    Of a branch, only what its session took before it.
    """
    records = (recorded.event for recorded in log if isinstance(recorded.event, ForeignRecords))
    reported = [each.usage for each in records if each.usage is not None]
    if not reported:
        return None
    return Usage(
        sum(usage.input for usage in reported),
        sum(usage.output for usage in reported),
        sum(usage.cached for usage in reported),
        sum(usage.cache_writes for usage in reported),
    )


def recorded_requests(log: Iterable[RecordedEvent]) -> int:
    """Return how many model calls the agent of an imported session recorded; 0: it does not say."""
    return sum(each.event.requests for each in log if isinstance(each.event, ForeignRecords))


def recorded_window(log: Iterable[RecordedEvent]) -> int:
    """Return the context window that the agent of an imported session recorded last; 0: none."""
    records = (recorded.event for recorded in log if isinstance(recorded.event, ForeignRecords))
    windows = [each.window for each in records if each.window]
    return windows[-1] if windows else 0


def with_turn_ends(messages: Sequence[RawMessage]) -> Iterator[tuple[RawMessage, bool]]:
    """Yield each message, and True if a turn ends with it.

    A turn ends with the agent's answer, or the last output of an agent that was stopped, if a user message or
    the end of the recording follows.
    """
    for message, next_message in pairwise(chain(messages, [{"role": "user"}])):
        yield message, next_message["role"] == "user" and message["role"] in ("assistant", "tool")


def parse_arguments(arguments: str) -> object:
    """Parse a call's arguments as JSON; None if they are free text, or nested too deeply."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


def read_messages(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the messages of a recording. Raises InvalidRecording with the line and the reason."""
    order = _OrderChecker()
    number = 0
    with _open_recording(path) as file:
        for number, raw in enumerate(_lines(path, file), 1):
            if not raw.strip():
                continue
            try:
                line = _DECODER.decode(raw)
                order.check(line)
            except _OrderError as error:
                raise _unusable_error(path, number, error.reason) from error
            except msgspec.DecodeError as error:
                raise _unusable_error(path, number, decoding_fault(error).rstrip(".")) from error
            except UnicodeDecodeError as error:
                raise _unusable_error(path, number, str(error).rstrip(".")) from error
            yield msgspec.to_builtins(line)
    if order.missing_text:
        raise _unusable_error(path, number, order.missing_text)


@contextmanager
def _open_recording(path: Path) -> Iterator[BufferedIOBase]:
    what = text("The recording {path} can't be read.", path=path)
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            why = text("It's a pipe or a device, and a recording is read more than once.")
            raise InvalidRecording(what, why, text("Save it to a file first."))
        with path.open("rb") as plain:
            packed = plain.read(len(_GZIP)) == _GZIP
            plain.seek(0)
            if not packed:
                yield plain
                return
            with gzip.GzipFile(fileobj=plain, mode="rb") as file:
                yield file
    except OSError as error:
        raise InvalidRecording(what, system_reason(error), _FIX) from error


def _lines(path: Path, file: BufferedIOBase) -> Iterator[bytes]:
    number = 0
    while True:
        number += 1
        try:
            raw = file.readline(MAX_LINE_BYTES + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _unusable_error(
                path, number, text("the compressed data is damaged or cut off: {reason}", reason=error)
            ) from error
        if not raw:
            return
        if len(raw) > MAX_LINE_BYTES:
            raise _unusable_error(
                path, number, text("the line is longer than {size} bytes", size=MAX_LINE_BYTES)
            )
        yield raw


def _unusable_error(path: Path, number: int, reason: str) -> InvalidRecording:
    what = text("The recording {path} can't be used.", path=path)
    if not number:
        return InvalidRecording(what, text("The file is empty."), _FIX)
    return InvalidRecording(what, text("Line {line}: {reason}.", line=number, reason=reason), _FIX)


class _OrderError(Exception):
    def __init__(self, reason: TranslatableText) -> None:
        super().__init__(reason)
        self.reason = reason


class _OrderChecker:
    def __init__(self) -> None:
        self._unanswered: list[str] = []
        self._call_ids: set[str] = set()
        self._has_started = self._has_user_message = self._has_answer = False

    def check(self, message: _AnyLine) -> None:
        """Check the next message. Raises _OrderError."""
        if isinstance(message, _Tool):
            self._check_output(message.tool_call_id)
            return
        if self._unanswered:
            raise _OrderError(
                text(
                    "the outputs of {calls} are missing before this {role} message",
                    calls=tuple(self._unanswered),
                    role=str(message.__struct_config__.tag),
                )
            )
        if isinstance(message, _System) and self._has_started:
            raise _OrderError(text("a system message must be the first"))
        if isinstance(message, _Assistant):
            self._check_answer(message)
        self._has_started = True
        self._has_user_message |= isinstance(message, _User)

    def _check_answer(self, message: _Assistant) -> None:
        if not self._has_user_message:
            raise _OrderError(text("a user message must come before the first assistant message"))
        for call in message.tool_calls:
            if not call.id:
                raise _OrderError(text("a call has no id"))
            if call.id in self._call_ids:
                raise _OrderError(text("the call id {id} is used twice", id=repr(call.id)))
            self._call_ids.add(call.id)
        self._unanswered = [call.id for call in message.tool_calls]
        self._has_answer = True

    def _check_output(self, call_id: str) -> None:
        if call_id not in self._unanswered:
            raise _OrderError(text("no open call has the id {id}", id=repr(call_id)))
        self._unanswered.remove(call_id)

    @property
    def missing_text(self) -> str:
        """What is missing at the end of the file; empty if nothing is."""
        if self._unanswered:
            return text("the file ends before the outputs of {calls}", calls=tuple(self._unanswered))
        return "" if self._has_answer else text("the recording has no assistant message to replay")
