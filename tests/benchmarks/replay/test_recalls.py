"""What recalls would find, and what they would add, checked by hand. A token is a character."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay.next_call_identifiers import IdentifierUse
from helix_desktop.replay.recording import RawMessage
from helix_desktop.replay.replayer import Replayer
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.benchmarks.replay.figures import RecordingResult, totals_of
from tests.benchmarks.replay.measure import MeasureOptions, measure_all, measure_file
from tests.benchmarks.replay.recalls import (
    SAMPLE,
    LookupCounter,
    Lookups,
    Recalls,
    best_handle,
    draw_sample,
    handle_contexts,
)
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
from tests.support.synthetic_recordings import write_recordings

A = "a" * 12
B = "b" * 64
C = "c" * 8
D = "d" * 12
REQUEST = [
    Message("user", f"[Folded steps] {bare_marker(A)}\nThe agent looked for the tide table."),
    Message(
        "assistant",
        "",
        (
            ToolCall("1", "read", '{"path": "src/harbour_master.py"}'),
            ToolCall("2", "write", json.dumps({"path": "tests/x.py", "body": bare_marker(C)})),
        ),
    ),
    Message("tool", f"{bare_marker(B)} read, 3 KB", call_id="1", name="read"),
    Message("tool", "written", call_id="2", name="write"),
    Message("tool", f"tide_gauge was here\n{bare_marker(D)} tide", call_id="3", name="read"),
]


def test_contexts_are_handles_with_what_stands_around_them_newest_first() -> None:
    contexts = handle_contexts(REQUEST)
    assert [context.handle for context in contexts] == [D, B, C, A]
    around = {context.handle: context.text for context in contexts}
    assert around[A] == REQUEST[0].text
    assert around[B] == f"{REQUEST[2].text}\nsrc/harbour_master.py"
    assert "tests/x.py" in around[C]
    assert "tide_gauge" not in around[D]  # what an output quotes is in its own line


@pytest.mark.parametrize(
    ("name", "handle"),
    [
        ("harbour_master", B),
        ("HarbourMaster.py", B),
        ("TideTable", A),
        ("tide", D),  # two have it: the newer
        ("harbour_depth", ""),  # no handle has both
        ("#12", ""),  # no part of a word
    ],
)
def test_the_newest_handle_whose_context_has_every_part(name: str, handle: str) -> None:
    assert best_handle(name, handle_contexts(REQUEST)) == handle


def test_a_sample_is_the_same_each_time_and_bounded() -> None:
    uses = [[IdentifierUse(f"name_{number}", 1) for number in range(call)] for call in range(30)]
    sample = draw_sample(uses)
    assert sample == draw_sample(uses)
    assert len(sample) == SAMPLE
    assert len({call for call, _ in sample}) > 15
    assert draw_sample(uses[:3]) == {(2, "name_0"), (3, "name_0"), (3, "name_1")}


# The third call uses two names of an output that is a marker by then, and a path of one that is not yet.
LOOKED_UP = [
    user_message("Go"),
    *file_read_step("1", "src/a.py", "def tide_gauge(): pass\nberth_4 = 1"),
    *file_read_step("2", "src/c.py", "see lib/b.py"),
    *[tool_call_message(("3", "grep", '{"q": "tide_gauge lib/b.py berth_4"}')), tool_message("3", "none")],
    assistant_message("ok"),
]


def test_what_one_call_brings_is_counted(tmp_path: Path) -> None:
    """No marker has a part of `tide_gauge` or `berth_4` around it: both are searched."""
    (path,) = write_recordings(tmp_path, [LOOKED_UP])
    (measured,) = measure_all([path], MarkerReplay, MeasureOptions(), 1, lambda _: None)
    assert measured.result.coverage.identifiers - measured.result.coverage.in_window == 2
    assert measured.result.lookups == Lookups(2, 2, 0, 0)
    total = totals_of([measured])
    assert (total.lookups, total.lookup_share) == (Lookups(2, 2, 0, 0), 1.0)
    tokens = MessageTokenCounter.bundled().text_tokens
    digest = digest_of(b"def tide_gauge(): pass\nberth_4 = 1")
    first = f"Lines for 'tide_gauge':\n{digest}: def tide_gauge(): pass"
    other = f"Lines for 'berth_4':\n{digest}: berth_4 = 1"
    assert total.lookup_tokens == (tokens(first) + tokens(other)) / 2


def test_what_repeats_the_question_is_no_answer() -> None:
    class Echo(UnmanagedReplay):
        answer = ""

        def call_cache_tool(self, name: str, arguments: object) -> str:
            return self.answer

    replay = Echo()
    counter = LookupCounter(replay, MessageTokenCounter(len))
    for replay.answer in (
        "Nothing for 'src/a.py'.",
        r"No line matches 'src/a\.py'.",
        "",
        "'src/a.py'\n'src/a.py'",
    ):
        counter.look_up("src/a.py", [])
    LookupCounter(UnmanagedReplay(), MessageTokenCounter(len)).look_up("src/a.py", [])
    assert counter.result == Lookups(4, 1, 0, 0)
    assert counter.tokens == [len("'src/a.py'\n'src/a.py'")]


def test_the_real_tools_answer() -> None:
    replayer = Replayer()
    try:
        for message in (
            user_message("Go"),
            *file_read_step("1", "a.py", "x = 1\ntide_gauge = 2\n" + "y\n" * 9),
        ):
            replayer.feed(message)
        before = replayer.request()
        counter = LookupCounter(replayer, MessageTokenCounter.bundled())
        digest = digest_of(b"x = 1\ntide_gauge = 2\n" + b"y\n" * 9)
        counter.look_up("tide_gauge", [])
        counter.look_up("tide_gauge", [Message("user", f"tide gauge {bare_marker(digest, 12)}")])
        counter.look_up("tide_gauge", [Message("user", f"tide gauge {bare_marker('0' * 12)}")])
        assert counter.result == Lookups(3, 2, 2, 1)
        assert replayer.request() == before
    finally:
        replayer.close()


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
    folder: Path, session: list[dict[str, Any]], make: Callable[[], UnmanagedReplay], rate: float
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
    marked = 29 + MARKER
    tiny = 29 + 1
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


def reads(*files: tuple[str, str, str], tool: str = "read") -> list[dict[str, Any]]:
    """A session that makes these calls of arguments and output, each with an id."""
    steps = [
        message
        for call_id, arguments, output in files
        for message in (tool_call_message((call_id, tool, arguments)), tool_message(call_id, output))
    ]
    return [user_message("Go"), *steps, assistant_message("ok")]


PATH_A = '{"path": "a"}'
PATH_B = '{"path": "b"}'


@pytest.mark.parametrize(
    "session",
    [
        reads(("1", PATH_A, "A"), ("2", PATH_A, "C")),
        reads(("1", PATH_A, ""), ("2", PATH_B, "B"), ("3", PATH_A, "C")),
        reads(("1", PATH_A, "A"), ("2", PATH_B, "B"), ("3", PATH_A, "C"), tool="edit"),
        reads(("1", "a", "A"), ("2", PATH_B, "B"), ("3", "a", "C")),
    ],
    ids=["it is in the window", "it was empty", "no tool that reads", "free text names no path"],
)
def test_no_recall_where_none_is_needed(tmp_path: Path, session: list[dict[str, Any]]) -> None:
    assert measure(tmp_path, session, MarkerReplay, 0.0).recalls == Recalls()
    assert measure(tmp_path, TWICE, UnmanagedReplay, 1.0).recalls == Recalls(), "everything is sent"


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
    line = output.partition("\n")[0]
    digest = digest_of(output.encode())
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


def long_session(steps: int) -> list[dict[str, Any]]:
    session = [user_message("Go")]
    for number in range(steps):
        session += file_read_step(str(number), f"file {number}", f"content {number}")
    return [*session, assistant_message("ok")]


def test_random_recalls_have_the_requested_rate_and_are_deterministic(tmp_path: Path) -> None:
    session = long_session(150)
    rate = 0.5
    first = measure(tmp_path, session, MarkerReplay, rate)
    calls = 149  # before the first two answers nothing is missing
    assert abs(first.recalls.calls - rate * calls) <= 3 * (calls * rate * (1 - rate)) ** 0.5
    assert first.recalls.calls == first.recalls.contents
    again = measure(tmp_path, session, MarkerReplay, rate)
    assert (again.recalls, again.managed) == (first.recalls, first.managed)
