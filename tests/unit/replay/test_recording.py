"""Recordings are read unchanged, or refused with the line and the reason."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidRecording
from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay import recording
from tests.support.replay_fakes import (
    assistant_message,
    file_read_step,
    tool_call_message,
    tool_message,
    user_message,
)

SESSION = [
    {"role": "system", "content": "Be brief."},
    user_message("Look at a.py\u2028please."),
    tool_call_message(("c1", "read", '{"path": "a.py"}'), ("c2", "shell", "not json"), text="I look."),
    tool_message("c1", "ein\nzwei é"),
    tool_message("c2", "", "shell"),
    assistant_message("Done."),
]
LINES = [json.dumps(message) for message in SESSION]


def write_recording(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InvalidRecording) as refused:
        list(recording.read_messages(path))
    assert str(path) in refused.value.what
    assert refused.value.why
    assert refused.value.fix
    return refused.value.why


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with a name")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert "more than once" in refusal(tmp_path / "pipe.jsonl")


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_plain_and_compressed_files_have_the_same_messages(tmp_path: Path, ensure_ascii: bool) -> None:
    lines = [json.dumps(message, ensure_ascii=ensure_ascii) for message in SESSION]
    plain = write_recording(tmp_path / "one.jsonl", [*lines[:3], "", *lines[3:]])
    packed = tmp_path / "any.name"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(recording.read_messages(plain)) == list(recording.read_messages(packed)) == SESSION


def test_a_recorded_message_becomes_an_engine_message() -> None:
    assert recording.as_message(SESSION[2]) == Message(
        "assistant",
        "I look.",
        (ToolCall("c1", "read", '{"path": "a.py"}'), ToolCall("c2", "shell", "not json")),
    )
    assert recording.as_message(SESSION[4]) == Message("tool", "", call_id="c2", name="shell")


@pytest.mark.parametrize(
    ("line", "text", "reason"),
    [
        (2, "{nonsense", "Line 2: It isn't valid JSON"),
        (3, LINES[2][:20], "Line 3: The JSON isn't complete"),
        (2, '"text"', "Line 2: The value must be an object"),
        (2, '{"role": "robot", "content": ""}', "Line 2: role can't be 'robot'"),
        (2, '{"role": "user", "content": null}', "Line 2: content must be text (got nothing)"),
        (2, '{"role": "user", "content": ["a"]}', "Line 2: content must be text (got a list)"),
        (2, '{"role": "user", "content": "a", "name": "b"}', "Line 2: Unknown field name"),
        (2, '{"content": "a"}', "Line 2: role is missing"),
        (2, '{"role": "user", "content": "\\ud800"}', "Line 2: "),
        (4, '{"role": "tool", "content": "a", "name": "b"}', "tool_call_id is missing"),
        (
            4,
            json.dumps(tool_message("c9", "x")),
            "Line 4: no open call has the id 'c9'",
        ),
        (5, json.dumps(tool_message("c1", "again")), "Line 5: no open call has the id 'c1'"),
        (
            5,
            json.dumps(user_message("And?")),
            "Line 5: the outputs of c2 are missing before this user message",
        ),
        (
            5,
            json.dumps(assistant_message("So.")),
            "Line 5: the outputs of c2 are missing before this assistant message",
        ),
        (6, json.dumps(tool_call_message(("c1", "read", "{}"))), "Line 6: the call id 'c1' is used twice"),
        (6, json.dumps(tool_call_message(("", "read", "{}"))), "Line 6: a call has no id"),
        (
            3,
            json.dumps(tool_call_message(("c", "r", "{}"), ("c", "r", "{}"))),
            "Line 3: the call id 'c' is used twice",
        ),
        (
            6,
            json.dumps({"role": "system", "content": "New rules"}),
            "Line 6: a system message must be the first",
        ),
        (
            2,
            json.dumps(assistant_message("Hello")),
            "Line 2: a user message must come before the first assistant message",
        ),
    ],
)
def test_an_invalid_line_is_named_with_its_reason(tmp_path: Path, line: int, text: str, reason: str) -> None:
    lines = [*LINES[: line - 1], text, *LINES[line:]]
    assert reason in refusal(write_recording(tmp_path / "bad.jsonl", lines))


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    assert "before the outputs of c2" in refusal(write_recording(tmp_path / "short.jsonl", LINES[:4]))
    assert "no assistant message to replay" in refusal(write_recording(tmp_path / "silent.jsonl", LINES[:2]))
    assert refusal(write_recording(tmp_path / "empty.jsonl", [])) == "The file is empty."


def test_damaged_compression_is_refused(tmp_path: Path) -> None:
    # Repetition packs into few bytes, so that cutting some off loses most of the text.
    compressed = gzip.compress(("\n".join(LINES) + "\n").encode())
    for name, data in (
        ("cut.gz", compressed[: len(compressed) // 2]),
        ("flipped.gz", compressed[:40] + bytes(20) + compressed[60:]),
        ("head.gz", compressed[:5]),
        ("sum.gz", compressed[:-8] + bytes(8)),
    ):
        (tmp_path / name).write_bytes(data)
        assert "damaged or cut off" in refusal(tmp_path / name)


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "Is a directory."
    assert refusal(tmp_path / "nowhere.jsonl") == "No such file or directory."


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(LINES[0].encode() + b'\n{"role": "user", "content": "\xe9"}\n')
    assert "Line 2" in refusal(tmp_path / "latin.jsonl")


def test_an_overlong_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_LINE_BYTES", 200)
    path = write_recording(tmp_path / "long.jsonl", [LINES[1], json.dumps(assistant_message("x" * 200))])
    assert refusal(path) == "Line 2: the line is longer than 200 bytes."


texts = st.text(st.characters(codec="utf-8"), max_size=30)


@given(st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=5))
def test_any_session_round_trips(tmp_path_factory: pytest.TempPathFactory, steps: Any) -> None:
    session = [user_message("Begin.")]
    for number, (text, path, output) in enumerate(steps):
        session += [
            tool_call_message((f"c{number}", "read", json.dumps({"path": path})), text=text),
            tool_message(f"c{number}", output),
        ]
    session += file_read_step("last", "a", "b")
    path = tmp_path_factory.mktemp("any") / "any.jsonl"
    write_recording(path, [json.dumps(message, ensure_ascii=False) for message in session])
    assert list(recording.read_messages(path)) == session
