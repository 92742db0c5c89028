"""What a reader makes of another agent's records: one item after the other, in the order of the records.

A reader gets decoded records one by one and never fails: what it has no place for becomes `DataRecord`.
Nothing here knows files, stores or events.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.messages import StopReason, ToolCall, TurnOutcome, Usage

_MAX_TIME_MS = 253_370_764_800_000  # the year 9999: calendars end there
_MAX_KIND = 80  # characters of the name of a kind of records
_JOINT = re.compile(rb"\}\s*(?=\{\")")
_BEGINNING = re.compile(rb"\{\"")
_MOST_JOINTS = 40  # places at which a line is tried to be two records
_LEAST_MS = 100_000_000_000  # a number below it counts seconds

Speaker = Literal["user", "program", "model", ""]
"""Whose words a message has; a `program` speaks in the place of the user. Empty for an output."""


class Picture(msgspec.Struct, frozen=True):
    data: bytes
    label: str = ""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a record; `at_ms` is 0 where the record has no time.

    `node` names the place of the record in a source whose records are a tree, `parent` that of the record it
    follows. `thread` names the subagent whose conversation it belongs to; empty: that of the session.
    """

    at_ms: int = 0
    node: str = ""
    parent: str = ""
    thread: str = ""


class About(Item, frozen=True, kw_only=True):
    """Facts about the session; empty ones are not known."""

    source: str = ""
    folder: str = ""
    version: str = ""


class Title(Item, frozen=True, kw_only=True):
    text: str


class UserMessage(Item, frozen=True, kw_only=True):
    """A message of the user. `steered`: it was sent into a running turn. `pasted` are texts put into it."""

    text: str
    pictures: tuple[Picture, ...] = ()
    steered: bool = False
    pasted: tuple[tuple[str, str], ...] = ()
    """Each with a label."""


class AnswerPart(Item, frozen=True, kw_only=True):
    """An answer of the model, or a part: those of the same `group` that follow each other are one answer."""

    group: str
    model: str = ""
    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: StopReason = "end"


class CallUsage(Item, frozen=True, kw_only=True):
    """What a model call took, in tokens and US dollars; the newest of the same group counts.

    `window` is the model's context window in tokens; 0: not recorded.
    """

    group: str
    usage: Usage
    cost: float = 0.0
    window: int = 0


class Output(Item, frozen=True, kw_only=True):
    """The output of a call. `subagent` is the id of the other session, or the thread, that did the work."""

    call_id: str
    text: str
    ok: bool = True
    exit_code: int | None = None
    pictures: tuple[Picture, ...] = ()
    subagent: str = ""


class Compacted(Item, frozen=True, kw_only=True):
    """The other agent replaced what stands before by a summary. `tokens` were in context before."""

    summary: str = ""
    tokens: int = 0
    trigger: str = ""


class TurnOver(Item, frozen=True, kw_only=True):
    """A turn ended, and how; `why` is what was said about it."""

    how: TurnOutcome
    why: str = ""


class RolledBack(Item, frozen=True, kw_only=True):
    """The user went back by so many of their messages: what follows is a branch."""

    messages: int


class DataRecord(Item, frozen=True, kw_only=True):
    """A record, or a part of one, that there is no place for; `data` is JSON on one line."""

    kind: str
    data: bytes
    is_known: bool = True


class Damaged(Item, frozen=True, kw_only=True):
    record: int


AnyItem = (
    About
    | Title
    | UserMessage
    | AnswerPart
    | CallUsage
    | Output
    | Compacted
    | TurnOver
    | RolledBack
    | DataRecord
    | Damaged
)


class Record(msgspec.Struct, frozen=True):
    """A record as it stands in the source: a line, or an entry of a list. `number` counts from 1."""

    number: int
    raw: bytes


class Reader:
    """Makes items of the records of one conversation, one after the other."""

    agent: ForeignAgent
    is_ordered_by_time = False
    """Whether the times of records say in which order they were made; else the file does, or `links`."""

    def links(self, data: dict[str, Any]) -> tuple[str, str]:
        """Return the names of a record and of the one that it follows; empty ones where there are none."""
        return "", ""

    def speech(self, data: dict[str, Any]) -> tuple[Speaker, int]:
        """Return whose message a record is, and when it was said; -1 for no message."""
        return "", -1

    def ends_turn(self, data: dict[str, Any]) -> bool:
        """Return True for a record behind all others of its turn."""
        return False

    def read(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        """Yield what came of one record, which is decoded JSON and its bytes, with time and place."""
        yield from placed(self.items(data, raw), self.place(data))

    def place(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of `Item` that say where a record stands."""
        raise NotImplementedError

    def items(self, data: dict[str, Any], raw: bytes) -> Iterator[AnyItem]:
        raise NotImplementedError

    def end(self) -> Iterator[AnyItem]:
        """Yield what is left when the source ends. Records may follow later."""
        return iter(())


class BlockReader(Reader):
    """A reader of answers in blocks, as Anthropic's interface has them, under the names of several agents."""

    _calls = 0

    def answer(
        self,
        blocks: Iterable[dict[str, Any]],
        group: str,
        model: str,
        stop: StopReason | None = None,
        note: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[list[DataRecord], AnswerPart]:
        """Return an answer, and what there is no place for; `note` goes with what a thought is signed by."""
        texts = list[str]()
        reasoning = list[str]()
        calls = list[ToolCall]()
        rest = list[DataRecord]()
        for block in blocks:
            match block.get("type"):
                case "text":
                    texts.append(as_text(block.get("text")))
                case "thinking" | "reasoning":
                    reasoning.append(as_text(block.get("thinking")) or as_text(block.get("text")))
                    if opaque := rest_of(block, "type", "thinking", "text"):
                        data = encode({**note, **opaque})
                        rest.append(DataRecord(kind="thinking: signature", data=data))
                case "tool_use" | "tool-call" | "toolCall":
                    self._calls += 1
                    call_id = block.get("id", block.get("toolCallId"))
                    name = block.get("name")
                    arguments = block.get("input", block.get("arguments"))
                    fallback = f"call-{self._calls}"
                    calls.append(tool_call(call_id, name or block.get("toolName"), arguments, fallback))
                case kind:
                    rest.append(DataRecord(kind=kind_name("assistant", kind), data=encode(block)))
        part = AnswerPart(
            group=group,
            model=model,
            text=paragraphs(texts),
            reasoning=paragraphs(reasoning),
            calls=tuple(calls),
            stop=stop or ("calls" if calls else "end"),
        )
        return rest, part


def placed(items: Iterator[AnyItem], place: dict[str, Any]) -> Iterator[AnyItem]:
    """Yield items with the time and place of their record: those of the talk that have none of their own."""
    for item in items:
        is_placed = isinstance(item, About | Title) or item.at_ms or item.node
        yield item if is_placed else replace(item, **place)


def read_record(reader: Reader, record: Record) -> Iterator[AnyItem]:
    """Yield what a reader makes of a record; `Damaged` for one that has no JSON object."""
    objects = decode_objects(record.raw)
    if not objects:
        yield Damaged(record=record.number)
    for data, raw in objects:
        yield from reader.read(data, raw)


def decode_objects(raw: bytes) -> list[tuple[dict[str, Any], bytes]]:
    """Return the JSON objects on a line, each with its bytes: two writers can have joined theirs.

    It is an empty list for a line with anything else on it. Of a line that begins with half a record, it is
    the record behind it.
    """
    whole = decode_object(raw)
    if whole is not None:
        return [(whole, raw)]
    ends = [found.start() + 1 for found in _JOINT.finditer(raw)][:_MOST_JOINTS]
    for end in ends:
        first = decode_object(raw[:end])
        following = decode_objects(raw[end:]) if first is not None else []
        if first is not None and following:
            return [(first, raw[:end]), *following]
    starts = [found.start() for found in _BEGINNING.finditer(raw, 1)][-_MOST_JOINTS:]
    for start in starts:
        behind = decode_object(raw[start:])
        if behind is not None and "timestamp" in behind:
            return [(behind, raw[start:])]
    return []


def decode_object(raw: bytes) -> dict[str, Any] | None:
    """Return a JSON object; None for anything else, also if it is nested too deeply.

    Halves of surrogate pairs, which JavaScript writes where it cuts a text, become question marks.
    """
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _decode_halves(raw) if b"\\u" in raw else None
    return value if isinstance(value, dict) else None


def _decode_halves(raw: bytes) -> Any:
    try:
        text = json.dumps(json.loads(raw), ensure_ascii=False)
        return msgspec.json.decode(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def encode(value: object) -> bytes:
    return msgspec.json.encode(value)


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_count(value: object) -> int:
    """Return a number of tokens or the like, or 0 for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < 2**53 else 0  # type: ignore[operator, call-overload]  # is_number


def as_cost(value: object) -> float:
    """Return a sum in US dollars, or 0 for anything else."""
    is_cost = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**9
    return float(value) if is_cost else 0.0  # type: ignore[arg-type]  # it is a number


def time_ms(value: object) -> int:
    """Return a time in milliseconds since 1970, from ISO 8601 or a number; 0 for anything else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return 0
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        try:
            number: float = moment.timestamp() * 1000
        except (OverflowError, ValueError):
            return 0
    else:
        number = as_count(value)
        if 0 < number < _LEAST_MS:
            number *= 1000
    return int(number) if 0 <= number < _MAX_TIME_MS else 0


def paragraphs(texts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, texts))


def model_label(provider: object, model: object) -> str:
    return "/".join(filter(None, (as_text(provider), as_text(model))))


def about(record: Mapping[str, Any], source: str, folder: str, version: str) -> About:
    """Return the facts about a session that stand in these fields of a record."""
    return About(
        source=as_text(record.get(source)),
        folder=as_text(record.get(folder)),
        version=as_text(record.get(version)),
    )


def kind_name(*parts: object) -> str:
    words = ": ".join(part for part in parts if isinstance(part, str) and part)
    return " ".join(words.split())[:_MAX_KIND] or "record"


def rest_of(record: Mapping[str, Any], *taken: str) -> dict[str, Any]:
    """Return what is left of a record without these fields, and without those that say nothing."""
    return {
        key: value for key, value in record.items() if key not in taken and value not in (None, "", [], {})
    }


def rest_record(kind: str, rest: Mapping[str, Any]) -> Iterator[DataRecord]:
    """Yield what is left of a record, if anything is."""
    if rest:
        yield DataRecord(kind=kind, data=encode(rest))


def tool_call(call_id: object, name: object, arguments: object, fallback: str) -> ToolCall:
    """Return a call; `arguments` are an object, or its JSON text. `fallback` is its id where it has none."""
    if isinstance(arguments, str):
        is_object = decode_object(arguments.encode("utf-8", "replace")) is not None
        text = arguments if is_object else encode({"input": arguments}).decode()
    else:
        text = encode(arguments if isinstance(arguments, dict) else {"input": arguments}).decode()
    return ToolCall(as_text(call_id) or fallback, as_text(name) or "unnamed", text)


def picture(encoded: object, label: str = "") -> Picture | None:
    """Return the image in a Base64 text, which may be a data URL; None if it can't be shown."""
    text = as_text(encoded)
    if text.startswith("data:"):
        text = text.partition(",")[2]
    if not text or len(text) > MAX_IMAGE_BYTES * 2:
        return None
    try:
        data = b64decode(text, validate=True)
    except (Base64Error, ValueError):
        return None
    if len(data) > MAX_IMAGE_BYTES or identify_image(data, "") is None:
        return None
    return Picture(data, label)


def blocks_of(content: object) -> list[dict[str, Any]]:
    """Return the blocks of a message: a text is one block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    blocks = (
        {"type": "text", "text": block} if isinstance(block, str) else as_dict(block)
        for block in as_list(content)
    )
    return [block for block in blocks if block]
