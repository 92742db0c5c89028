"""Recalls are inserted where a managed agent would need them, and all their costs are paid."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.replay.recording import RawMessage
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.benchmarks.replay.figures import RecordingResult
from tests.benchmarks.replay.measure import MeasureOptions, measure_file
from tests.benchmarks.replay.recalls import Recalls
from tests.support.replay_fakes import (
    FoldingReplay,
    MarkerReplay,
    UnmanagedReplay,
    assistant_message,
    file_read_step,
    tool_call_message,
    tool_message,
    user_message,
)

MARKER = len('[CACHED] recall_cached_content("")') + 64
CALL = 4 + 4 + len("recall_cached_content") + len(json.dumps({"hash": "0" * 64}))
TWICE = [
    user_message("Go"),
    *file_read_step("1", "a", "A" * 1000),
    *file_read_step("2", "b", "B"),
    *file_read_step("3", "a", "C"),
    assistant_message("ok"),
]


class ReplayRecorder:
    """Creates replays, and keeps the last one for inspection."""

    def __init__(self, kind: type[UnmanagedReplay]) -> None:
        self._kind = kind

    def __call__(self) -> UnmanagedReplay:
        self.last = self._kind()
        return self.last


def measure(
    folder: Path, session: list[dict[str, Any]], make: Callable[[], UnmanagedReplay], rate: float | None
) -> RecordingResult:
    path = folder / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, session)), encoding="utf-8")
    return measure_file(path, make, MessageTokenCounter(len), MeasureOptions(recall_rate=rate)).result


def recalled(replay: UnmanagedReplay) -> list[RawMessage]:
    return [message for message in replay.messages if message.get("name") == "recall_cached_content"]


def test_a_file_read_again_is_recalled_first(tmp_path: Path) -> None:
    make = ReplayRecorder(MarkerReplay)
    measured = measure(tmp_path, TWICE, make, 0.0)
    call = tool_call_message(
        ("recall-1-1", "recall_cached_content", json.dumps({"hash": digest_of(b"A" * 1000)}))
    )
    page = tool_message("recall-1-1", "A" * 1000, "recall_cached_content")
    assert make.last.messages == [*TWICE[:5], call, page, *TWICE[5:]]
    assert measured.recalls == Recalls(calls=1, contents=1)
    marked, tiny = 29 + MARKER, 29 + 1
    sizes = [
        6,
        6 + 1029,
        6 + marked + tiny,
        6 + 2 * marked + CALL + 1004,
        6 + 2 * marked + CALL + 4 + MARKER + tiny,
    ]
    assert measured.managed.requests == 5
    assert measured.managed.input_tokens == sum(sizes)
    assert measured.managed.tool_tokens == 1000 + (MARKER + 1) + (2 * MARKER + 1000) + (3 * MARKER + 1)
    assert (measured.unmanaged.requests, measured.reach.outputs, measured.reach.request) == (4, 3, 4)


def test_recalls_can_be_disabled(tmp_path: Path) -> None:
    make = ReplayRecorder(MarkerReplay)
    assert measure(tmp_path, TWICE, make, None).recalls == Recalls()
    assert make.last.messages == TWICE


@pytest.mark.parametrize(
    "session",
    [
        [
            user_message("Go"),
            *file_read_step("1", "a", "A"),
            *file_read_step("2", "a", "C"),
            assistant_message("ok"),
        ],  # it is still in the window
        [
            user_message("Go"),
            *file_read_step("1", "a", ""),
            *file_read_step("2", "b", "B"),
            *file_read_step("3", "a", "C"),
            assistant_message("ok"),
        ],  # it was empty
        [
            user_message("Go"),
            *file_read_step("1", "a", "A"),
            *file_read_step("2", "b", "B"),
            *file_read_step("3", "c", "C"),
            assistant_message("ok"),
        ],
        [
            user_message("Go"),
            *[tool_call_message(("1", "edit", '{"path": "a"}')), tool_message("1", "A")],
            *file_read_step("2", "b", "B"),
            *[tool_call_message(("3", "edit", '{"path": "a"}')), tool_message("3", "C")],  # not a read
            assistant_message("ok"),
        ],
        [
            user_message("Go"),
            *[tool_call_message(("1", "read", "a")), tool_message("1", "A")],
            *file_read_step("2", "b", "B"),
            *[tool_call_message(("3", "read", "a")), tool_message("3", "C")],  # free text names no path
            assistant_message("ok"),
        ],
    ],
)
def test_no_recall_where_none_is_needed(tmp_path: Path, session: list[dict[str, Any]]) -> None:
    assert measure(tmp_path, session, MarkerReplay, 0.0).recalls == Recalls()


def test_nothing_is_recalled_where_everything_is_sent(tmp_path: Path) -> None:
    assert measure(tmp_path, TWICE, UnmanagedReplay, 1.0).recalls == Recalls()


def test_a_page_still_in_the_window_is_not_recalled_again(tmp_path: Path) -> None:
    class FirstOutputMarked(MarkerReplay):
        def request(self) -> list[dict[str, Any]]:
            return [
                message | {"content": self.marker(message["content"])}
                if message.get("tool_call_id") == "1"
                else message
                for message in self.messages
            ]

    session = [
        *TWICE[:3],
        *file_read_step("2", "b", "B"),
        *file_read_step("3", "a", "A" * 1000),
        *file_read_step("4", "a", "C"),
        assistant_message("ok"),
    ]
    assert measure(tmp_path, session, FirstOutputMarked, 0.0).recalls == Recalls(1, 1)
    assert measure(tmp_path, session, MarkerReplay, 0.0).recalls == Recalls(
        1, 1
    )  # the third is in the window when requested


def behind_an_index(output: str, arguments: str) -> list[dict[str, Any]]:
    """A session that reads a file again when only an index behind an index leads to the first reading."""
    read = [tool_call_message(("3", "read", arguments)), tool_message("3", "C")]
    steps = [
        *file_read_step("1", "a", output),
        *file_read_step("2", "b", "B"),
        *file_read_step("9", "c", "D"),
    ]
    return [user_message("Go"), *steps, *read, assistant_message("ok")]


@pytest.mark.parametrize(
    ("output", "pattern"),
    [
        ("tide_gauge = 1\nb", "tide_gauge"),  # the next call uses it
        ("size of a: 1\nb", "a"),  # else what the first reading was about
    ],
)
def test_a_recall_through_an_index_takes_one_call_with_a_pattern(
    tmp_path: Path, output: str, pattern: str
) -> None:
    session = behind_an_index(output, '{"path": "a", "what": "tide_gauge"}')
    make = ReplayRecorder(FoldingReplay)
    assert measure(tmp_path, session, make, 0.0).recalls == Recalls(calls=1, contents=1)
    (answer,) = recalled(make.last)
    line, digest = output.partition("\n")[0], digest_of(output.encode())
    assert answer["content"] == f"Lines for {pattern!r}:\n{digest}: {line}"


def test_a_pattern_that_misses_the_output_takes_a_second_call(tmp_path: Path) -> None:
    session = behind_an_index("Z" * 1000, '{"path": "a"}')
    make = ReplayRecorder(FoldingReplay)
    assert measure(tmp_path, session, make, 0.0).recalls == Recalls(calls=2, contents=1)
    missed, content = recalled(make.last)
    assert missed["content"] == "Lines for 'a':"
    assert content["content"] == "Z" * 1000


def test_a_lost_output_cannot_be_recalled(tmp_path: Path) -> None:
    class Lost(MarkerReplay):
        def store(self, text: str) -> str:
            return digest_of(text.encode())

    assert measure(tmp_path, TWICE, Lost, 0.0).recalls == Recalls(failed=1)


def test_files_read_in_parallel_are_recalled_in_one_call(tmp_path: Path) -> None:
    parallel_calls = tool_call_message(("3", "read", '{"path": "a"}'), ("4", "read", '{"path": "b"}'))
    session = [
        user_message("Go"),
        *file_read_step("1", "a", "A"),
        *file_read_step("2", "b", "B"),
        *file_read_step("9", "c", "D"),
        parallel_calls,
    ]
    session += [tool_message("3", "x"), tool_message("4", "y"), assistant_message("ok")]
    make = ReplayRecorder(MarkerReplay)
    assert measure(tmp_path, session, make, 0.0).recalls == Recalls(calls=1, contents=2)
    assert [message["content"] for message in recalled(make.last)] == ["A", "B"]


def long_session(steps: int) -> list[dict[str, Any]]:
    session = [user_message("Go")]
    for number in range(steps):
        session += file_read_step(str(number), f"file {number}", f"content {number}")
    return [*session, assistant_message("ok")]


@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_random_recalls_have_the_requested_rate_and_are_deterministic(tmp_path: Path, rate: float) -> None:
    session = long_session(150)
    first = measure(tmp_path, session, MarkerReplay, rate)
    calls = 149  # before the first two answers nothing is missing
    assert abs(first.recalls.calls - rate * calls) <= 3 * (calls * rate * (1 - rate)) ** 0.5
    assert first.recalls.calls == first.recalls.contents
    again = measure(tmp_path, session, MarkerReplay, rate)
    assert (again.recalls, again.managed) == (first.recalls, first.managed)


def test_random_recalls_at_every_call(tmp_path: Path) -> None:
    measured = measure(tmp_path, long_session(10), MarkerReplay, 1.0)
    assert measured.recalls == Recalls(calls=9, contents=9)
    assert measured.managed.requests == 11 + 9
