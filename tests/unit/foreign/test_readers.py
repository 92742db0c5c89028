"""Readers of other agents' sessions: what each kind of record becomes, and that none of them ever fails."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.foreign.items import (
    AnyItem,
    Damaged,
    DataRecord,
    Reader,
    Record,
    UserMessage,
    read_record,
    time_ms,
)
from helix_desktop.foreign.message_readers import ChatMessagesReader, ClineReader, OpencodeReader
from helix_desktop.foreign.record_readers import ClaudeCodeReader, CodexReader, PiReader
from tests.support.interface_golden import WRITE_GOLDEN_VARIABLE

BY_AGENT: dict[str, Callable[[], Reader]] = {
    "claude-code": ClaudeCodeReader, "codex": CodexReader, "opencode": OpencodeReader, "cline": ClineReader,
    "roo-code": partial(ClineReader, "roo-code"), "pi": PiReader, "chat-messages": ChatMessagesReader,
}  # fmt: skip
READERS = tuple(BY_AGENT.values())


def read(reader: Reader, records: Iterable[Any]) -> list[AnyItem]:
    items = [
        item
        for number, record in enumerate(records, 1)
        for item in read_record(reader, Record(number, json.dumps(record).encode()))
    ]
    return [*items, *reader.end()]


FOLDER = Path(__file__).parents[2] / "golden" / "foreign"
CASES = [
    pytest.param(path, number, id=f"{path.stem}: {case['what']}")
    for path in sorted(FOLDER.glob("*.json"))
    for number, case in enumerate(json.loads(path.read_text(encoding="utf-8")))
]


def shown(value: Any) -> Any:
    """Return an item as JSON can hold it: its kind, and its fields that are not at their defaults."""
    match value:
        case msgspec.Struct():
            fields = msgspec.structs.asdict(value).items()
            defaults = {field.name: field.default for field in msgspec.structs.fields(value)}
            return {type(value).__name__: {name: shown(it) for name, it in fields if it != defaults[name]}}
        case tuple():
            return list(map(shown, value))
        case bytes():
            return base64.b64encode(value).decode() if value.startswith(b"\x89PNG") else value.decode()
    return value


def written(value: Any, depth: int) -> str:
    """Return JSON with a line for each value down to a depth, and all that lies deeper on the same line."""
    match value:
        case dict() if depth and value:
            parts = [f"{json.dumps(name)}: {written(part, depth - 1)}" for name, part in value.items()]
            return "{\n" + ",\n".join(parts) + "\n}"
        case list() if depth and value:
            return "[\n" + ",\n".join(written(part, depth - 1) for part in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize(("path", "number"), CASES)
def test_records_of_another_agent_become_these_items(path: Path, number: int) -> None:
    """All of them, as when `HELIX_WRITE_GOLDEN=1 pytest` on this file wrote them last."""
    cases = json.loads(path.read_text(encoding="utf-8"))
    items = shown(tuple(read(BY_AGENT[path.stem](), cases[number]["records"])))
    if os.environ.get(WRITE_GOLDEN_VARIABLE):
        cases[number]["items"] = items
        path.write_text(written(cases, 3) + "\n", encoding="utf-8")
    assert items == cases[number]["items"]


@pytest.mark.parametrize("make", READERS)
def test_a_line_that_is_no_record_is_damaged(make: Callable[[], Reader]) -> None:
    lines = [b"{", b"\xff\xfe\0", b"[1]", b"null", b'"x"', b"[" * 100_000, b'{"a":' * 100_000]
    items = [item for number, raw in enumerate(lines, 1) for item in read_record(make(), Record(number, raw))]
    assert items == [Damaged(record=number) for number in range(1, len(lines) + 1)]


def test_half_a_surrogate_pair_is_no_damage() -> None:
    raw = b'{"role": "user", "content": "cut \\ud83d"}'
    assert [*read_record(ChatMessagesReader(), Record(1, raw))] == [UserMessage(text="cut ?")]


_NAMES = st.sampled_from([
    "type", "message", "role", "content", "payload", "info", "parts", "state", "id", "uuid", "parentUuid",
    "metrics", "tokens", "entry", "say", "metadata", "recipient", "author", "kind", "namespace",
    "isTruncationMarker", "isSummary", "summary", "action", "result", "last_token_usage",
    "internal_chat_message_metadata_passthrough", "content_item_kinds", "error", "value", "path",
    "isSidechain", "timestamp", "tool_calls", "usage", "input", "output", "text", "thinking", "cost",
    "arguments", "call_id", "tool_use_id", "source", "data", "attachment", "subtype", "status",
    "isCompactSummary", "compactMetadata", "toolUseResult", "messages", "time", "ts", "cache",
    "attachments", "image_url", "url", "function", "function_call", "version",
])  # fmt: skip
_WORDS = st.sampled_from([
    "", "user", "assistant", "system", "tool", "message", "session", "compaction", "text", "image",
    "tool_use", "tool_result", "thinking", "toolCall", "toolResult", "response_item", "event_msg",
    "session_meta", "x", "function_call", "function_call_output", "reasoning", "token_count",
    "custom_tool_call", "step-start", "completed", "compact_boundary", "queued_command", "2026-01-01",
    "data:image/png;base64,QQ", "<task>a</task>", "<read_file><path>a</path></read_file>", "compacted",
    "turn_context", "bashExecution", "thread_rolled_back", "local_shell_call", "tool-result", "tool-call",
    "input_image", "step-finish", "9" * 30,
])  # fmt: skip
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _WORDS
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=6),
    max_leaves=25,
)


@given(st.lists(st.dictionaries(_NAMES, _VALUES, max_size=8), max_size=5), st.integers(0, len(READERS) - 1))
def test_no_record_makes_a_reader_fail(records: list[dict[str, Any]], number: int) -> None:
    """Whatever stands where: each reader makes items of it, with texts that can be stored."""
    for item in read(READERS[number](), records):
        for name in item.__struct_fields__:
            value = getattr(item, name)
            assert not isinstance(value, str) or value.encode() is not None


def test_a_message_of_opencode_whose_role_is_an_object_is_kept_as_data() -> None:
    (item,) = read(OpencodeReader(), [{"info": {"id": "m", "role": {"a": 1}}, "parts": []}])
    assert isinstance(item, DataRecord)
    assert not item.is_known


@given(st.binary(max_size=200), st.integers(0, len(READERS) - 1))
def test_no_bytes_make_a_reader_fail(raw: bytes, number: int) -> None:
    assert len([*read_record(READERS[number](), Record(1, raw))]) <= 1


@given(st.text() | st.integers() | st.floats() | st.none() | st.lists(st.integers()))
def test_any_time_is_a_valid_date_or_none(value: object) -> None:
    assert 0 <= time_ms(value) < 253_370_764_800_000
