"""One call that brings back what is not in the window: which one it is, and what it brings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay.next_call_identifiers import IdentifierUse
from helix_desktop.replay.replayer import Replayer
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.benchmarks.replay.figures import totals_of
from tests.benchmarks.replay.measure import MeasureOptions, measure_all
from tests.benchmarks.replay.recalls import (
    SAMPLE,
    LookupCounter,
    Lookups,
    best_handle,
    draw_sample,
    handle_contexts,
)
from tests.support.replay_fakes import (
    MarkerReplay,
    UnmanagedReplay,
    assistant_message,
    file_read_step,
    tool_call_message,
    tool_message,
    user_message,
)
from tests.support.synthetic_recordings import write_recordings

A, B, C, D = ("a" * 12, "b" * 64, "c" * 8, "d" * 12)
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
SESSION = [
    user_message("Go"),
    *file_read_step("1", "src/a.py", "def tide_gauge(): pass\nberth_4 = 1"),
    *file_read_step("2", "src/c.py", "see lib/b.py"),
    *[tool_call_message(("3", "grep", '{"q": "tide_gauge lib/b.py berth_4"}')), tool_message("3", "none")],
    assistant_message("ok"),
]


def test_what_one_call_brings_is_counted(tmp_path: Path) -> None:
    """No marker has a part of `tide_gauge` or `berth_4` around it: both are searched."""
    (path,) = write_recordings(tmp_path, [SESSION])
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
