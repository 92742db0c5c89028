"""Recordings, unmanaged and managed: figures checked by manual calculation. A token is a character.

Measured in one process or several; and a rule that the user gave once, inside a long message.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest

from helix_desktop.domain.errors import HelixError, InvalidRecording, RequestTooLarge
from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.next_call_identifiers import IdentifierCoverage, IdentifierUse
from helix_desktop.replay.recording import with_turn_ends
from helix_desktop.replay.replayer import MechanismCounts
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.benchmarks.replay.figures import (
    Absence,
    AbsenceCounter,
    InvalidRequests,
    MeasuredRecording,
    RecallDistance,
    Timing,
    group_by_source,
    lossy,
    totals_of,
)
from tests.benchmarks.replay.measure import (
    RULE,
    MeasureOptions,
    ReplayFactory,
    find_recordings,
    is_rule_visible,
    long_message,
    measure_all,
    measure_file,
    with_long_message,
)
from tests.benchmarks.replay.recalls import Recalls
from tests.benchmarks.replay.request_bills import GENERATION, TOOLS, USER, Durations, RequestBills, draw_gaps
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
from tests.support.synthetic_recordings import make_session, write_recordings

# 6 tokens, then per step 4 + 4 + 4 + 13 = 25 for the call and 1,004 for the output.
LONG = [
    user_message("Go"),
    *file_read_step("1", "a", "A" * 1000),
    *file_read_step("2", "b", "B" * 1000),
    *file_read_step("3", "c", "C" * 1000),
    assistant_message("ok"),
]
MARKER = len('[CACHED] recall_cached_content("")') + 64


def measure(
    folder: Path, session: list[dict[str, Any]], make: Callable[[], UnmanagedReplay], **options: int
) -> MeasuredRecording:
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, session)), encoding="utf-8")
    return measure_file(path, make, MessageTokenCounter(len), MeasureOptions(**options))


def test_an_unmanaged_replay_is_the_baseline(tmp_path: Path) -> None:
    measured = measure(tmp_path / "here", LONG, UnmanagedReplay, window=3000).result
    sizes = [6, 6 + 1029, 6 + 2 * 1029, 6 + 3 * 1029]
    assert (measured.source, measured.window) == ("here", 3000)
    assert measured.managed == measured.unmanaged
    assert (measured.managed.requests, measured.managed.input_tokens) == (4, sum(sizes))
    assert measured.managed.billed == pytest.approx(1.25 * sizes[-1] + 0.1 * sum(sizes[:-1]))
    assert (measured.managed.peak_window, measured.managed.over_window) == (3093, 1)
    assert measured.managed.tool_tokens == 6000
    assert measured.is_heavy
    assert (measured.reach.reachable_share, measured.reach.window_bytes, measured.reach.output_bytes) == (
        1,
        3000,
        3000,
    )
    assert (measured.faults.by_rules, measured.faults.by_grammar, measured.recalls) == (0, 0, Recalls())


def test_markers_at_once(tmp_path: Path) -> None:
    measured = measure(tmp_path, LONG, MarkerReplay).result
    step = 25 + 4 + MARKER
    sizes = [6, 6 + 1029, 6 + step + 1029, 6 + 2 * step + 1029]
    input_tokens = [0, 6, 6 + 25, 6 + step + 25]
    assert not measured.is_heavy
    assert measured.managed.input_tokens == sum(sizes)
    assert measured.managed.billed == pytest.approx(
        1.25 * (sum(sizes) - sum(input_tokens)) + 0.1 * sum(input_tokens)
    )
    assert (measured.managed.rewrites, measured.managed.tool_tokens) == (2, 3000 + 3 * MARKER)
    assert measured.reach.reachable_share == 1
    assert measured.reach.window_bytes == measured.reach.output_bytes / 3


def test_reachability_is_measured_at_the_last_request_and_before(tmp_path: Path) -> None:
    class Forgetful(MarkerReplay):
        def recall(self, digest: str) -> bytes:
            self.contents.pop(next(iter(self.contents)))
            return super().recall(digest)

    assert measure(tmp_path, LONG, FoldingReplay, reach_every=1).result.least_reachable == 1
    lossy = measure(tmp_path, LONG, Forgetful, reach_every=3).result
    assert (lossy.reach_checks, lossy.reach.request) == (2, 4)
    assert lossy.least_reachable == lossy.reach.reachable_share
    assert lossy.reach.lost == ("1", "2")


def test_broken_requests_are_counted_with_reasons(tmp_path: Path) -> None:
    session = [
        user_message("Go"),
        *file_read_step("1", "a", ""),
        assistant_message("One"),
        assistant_message("Two"),
        user_message("More"),
        assistant_message("Three"),
    ]
    measured = measure(tmp_path, session, UnmanagedReplay).result
    assert (measured.faults.by_rules, measured.faults.by_grammar) == (3, 3)
    assert measured.faults.reasons[0] == "request 2: message 2: empty text"
    assert any("the last message is the assistant's" in reason for reason in measured.faults.reasons)


def test_omitted_requests_are_counted_and_the_replay_goes_on(tmp_path: Path) -> None:
    class Full(MarkerReplay):
        def prepare_request(self) -> None:
            if len(self.messages) == 5:
                raise RequestTooLarge(verbatim("It does not fit."), verbatim("Too much."))

    measured = measure(tmp_path, LONG, Full)
    assert measured.result.faults == InvalidRequests(
        not_made=1, reasons=("request 3: It does not fit. Too much.",)
    )
    assert (measured.result.managed.requests, measured.result.unmanaged.requests) == (3, 4)
    assert measured.result.reach.reachable_share == 1
    assert len(measured.request_s) == 4
    assert totals_of([measured]).not_made == 1


def test_turns_end_at_a_user_message_or_the_end() -> None:
    session = [
        user_message("a"),
        user_message("b"),
        *file_read_step("1", "p", "x"),
        assistant_message("c"),
        assistant_message("d"),
        user_message("e"),
        *file_read_step("2", "p", "y"),
    ]
    session += [user_message("stop"), assistant_message("f")]
    ends = [message for message, over in with_turn_ends(session) if over]
    assert [message["content"] for message in ends] == ["d", "y", "f"]
    assert [message for message, _ in with_turn_ends(session)] == session


def test_summaries_are_paid_and_counted(tmp_path: Path) -> None:
    class Summing(UnmanagedReplay):
        def end_turn(self) -> None:
            self.summaries += [40, 2]
            self.counts = MechanismCounts(handovers=1, observations=3, reflections=1, sweeps=9)

    measured = measure(tmp_path, LONG, Summing).result
    assert measured.managed.billed == pytest.approx(measured.unmanaged.billed + 42)
    assert (measured.summaries, measured.summary_tokens, lossy(measured.counts)) == (2, 42, 5)


def test_timing_is_by_nearest_rank() -> None:
    assert Timing.from_seconds([index / 1024 for index in range(100, 0, -1)]) == Timing(
        50e3 / 1024, 95e3 / 1024, 50.5e3 / 1024
    )
    assert Timing.from_seconds([0.002]) == Timing(2.0, 2.0, 2.0)
    assert Timing.from_seconds([]) == Timing(0.0, 0.0, 0.0)


def test_totals_add_up_all_recordings(tmp_path: Path) -> None:
    short = [user_message("Go"), *file_read_step("1", "a", "A" * 10), assistant_message("ok")]
    heavy = measure(tmp_path / "one", LONG, MarkerReplay, window=3000)
    light = measure(tmp_path / "two", short, UnmanagedReplay, window=3000)
    sources = group_by_source([heavy, light])
    assert {name: len(files) for name, files in sources.items()} == {"one": 1, "two": 1}
    total = totals_of([heavy, light])
    step = 29 + MARKER
    managed = 6 + 1035 + (1035 + step) + (1035 + 2 * step)
    unmanaged = 6 + 1035 + 2064 + 3093
    assert (total.files, total.requests) == (2, 6)
    assert total.input_of_sums == pytest.approx((managed + 51) / (unmanaged + 51))
    assert total.input_of_files == pytest.approx((managed / unmanaged + 1) / 2)
    assert total.billed_of_sums == pytest.approx(total.billed / total.unmanaged_billed)
    assert total.tool_saved == pytest.approx(1 - (3000 + 3 * MARKER + 10) / 6010)
    assert total.in_window == pytest.approx(1010 / 3010)
    assert (total.reachable, total.least_reachable) == (1, 1)
    assert total.rewrites == 2
    assert total.heavy is not None
    assert total.heavy.files == 1
    assert total.heavy.mean_window_of_unmanaged == pytest.approx(managed / unmanaged)
    assert total.heavy.mean_window_of_window == pytest.approx(managed / 4 / 3000)
    assert total.heavy.median_peak_of_unmanaged == pytest.approx((1035 + 2 * step) / 3093)
    assert total.heavy.median_peak_of_window == pytest.approx((1035 + 2 * step) / 3000)
    assert totals_of([light]).heavy is None
    with pytest.raises(ValueError, match="nothing to add up"):
        totals_of([])


def test_each_recording_and_the_total_have_the_coverage(tmp_path: Path) -> None:
    session = [
        user_message("Go"),
        *file_read_step("1", "a.py", "import parse_row"),
        *file_read_step("2", "b.py", "B"),
        *file_read_step("3", "a.py", "C"),  # of call 1's arguments, which stay
        *[tool_call_message(("4", "grep", '{"q": "parse_row a.py"}')), tool_message("4", "D")],
        assistant_message("ok"),
    ]
    (path,) = write_recordings(tmp_path, [session])
    managed, unmanaged = (
        measure_all([path], make, MeasureOptions(), 1, lambda _: None)
        for make in (MarkerReplay, UnmanagedReplay)
    )
    assert managed[0].result.coverage == IdentifierCoverage(3, 2)
    assert unmanaged[0].result.coverage == IdentifierCoverage(3, 3)
    total = totals_of([*managed, *unmanaged])
    assert (total.coverage, total.coverage_share_old) == (IdentifierCoverage(6, 5), 1.0)
    assert total.coverage_share == pytest.approx(5 / 6)


def test_the_distance_of_what_was_absent() -> None:
    assert RecallDistance.from_absences([Absence(7, 4), Absence(7, 7)]) == RecallDistance(7, 7, 4, 7)
    assert RecallDistance.from_absences([]) == RecallDistance(0, 0, 0, 0)


def test_an_absence_lasts_since_the_last_request_with_the_text_as_it_was() -> None:
    """Used at call 9: of a text of call 2 that requests 3 to 5 had, and of one that none ever had."""

    def output(text: str) -> Message:
        return Message("tool", text, call_id="c", name="run")

    source = output("see a.py and b.py")
    counter = AbsenceCounter()
    for number in range(1, 9):
        counter.add(number, [], [source if 3 <= number <= 5 else output("see a.p")])
    uses = [IdentifierUse("a.py", 7, source.text), IdentifierUse("b.py", 7, "b.py in another text")]
    counter.add(9, uses, [output("see ...")])
    assert counter.absences == [Absence(7, 4), Absence(7, 7)]


SESSIONS = [make_session(seed, steps) for seed, steps in enumerate((3, 12, 5))]


class KillsProcess:
    def __reduce__(self) -> tuple[Callable[[int], object], tuple[int]]:
        return os._exit, (9,)

    def __call__(self) -> MarkerReplay:
        raise AssertionError("no process gets so far")


def measure_recordings(
    paths: list[Path], jobs: int, make: ReplayFactory = MarkerReplay
) -> tuple[list[MeasuredRecording], list[int]]:
    progress: list[int] = []
    return measure_all(paths, make, MeasureOptions(recall_rate=0.5), jobs, progress.append), progress


def test_processes_give_the_same_figures_in_the_same_order(tmp_path: Path) -> None:
    paths = write_recordings(tmp_path, SESSIONS)
    alone, single_progress = measure_recordings(paths, 1)
    together, parallel_progress = measure_recordings(paths, 2)
    assert parallel_progress == single_progress == [1, 2, 3]
    for single_result, other, path in zip(alone, together, paths, strict=True):
        assert single_result.result.file == other.result.file == str(path)
        assert single_result.result.managed == other.result.managed
        assert single_result.result.reach == other.result.reach
        assert single_result.result.recalls == other.result.recalls
        assert len(single_result.request_s) == len(other.request_s) == single_result.result.managed.requests


def test_an_invalid_recording_ends_the_run(tmp_path: Path) -> None:
    paths = write_recordings(tmp_path, SESSIONS)
    paths[1].write_bytes(paths[1].read_bytes()[:-20])
    with pytest.raises(InvalidRecording) as refused:
        measure_recordings(paths, 2)
    assert str(paths[1]) in refused.value.what
    assert "damaged or cut off" in refused.value.why
    assert refused.value.fix


def test_a_process_that_dies_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HelixError, match="ended unexpectedly"):
        measure_recordings(write_recordings(tmp_path, SESSIONS), 2, KillsProcess())


def test_folders_are_searched_in_order(tmp_path: Path) -> None:
    for name in ("b/two.jsonl.gz", "b/one.jsonl", "a/deep/three.jsonl", "b/index.json", "last.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    recordings = find_recordings([tmp_path / "last.txt", tmp_path, tmp_path / "b" / "one.jsonl"])
    assert [path.relative_to(tmp_path).as_posix() for path in recordings] == [
        "last.txt", "a/deep/three.jsonl", "b/one.jsonl", "b/two.jsonl.gz",
    ]  # fmt: skip
    (tmp_path / "none").mkdir()
    with pytest.raises(InvalidRecording, match="No recordings in"):
        find_recordings([tmp_path / "none"])


def test_a_folder_that_cannot_be_read_does_not_pass_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.jsonl").touch()
    (tmp_path / "locked").mkdir()
    list_folder = os.scandir

    def refuse(folder: str) -> Any:
        if Path(folder).name == "locked":
            raise PermissionError(13, "Permission denied", folder)
        return list_folder(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InvalidRecording, match=r"locked can.t be read\. Permission denied\. Make it"):
        find_recordings([tmp_path])


TWO_TURNS = [
    {"role": "system", "content": "You help."},
    user_message("Go"),
    *file_read_step("1", "a.py", "A"),
    assistant_message("ok"),
    user_message("On"),
    assistant_message("ok"),
]


class FirstWords(UnmanagedReplay):
    """Cuts each user message to 2,000 characters, as soon as there is a second one."""

    def request(self) -> list[dict[str, Any]]:
        users = [message for message in self.messages if message["role"] == "user"]
        return [
            {**message, "content": message["content"][:2_000]}
            if message["role"] == "user" and len(users) > 1
            else message
            for message in self.messages
        ]


def test_the_rule_is_in_the_middle_of_about_3000_tokens() -> None:
    text = long_message()
    tokens = MessageTokenCounter.bundled().text_tokens
    assert 2_800 < tokens(text) < 3_200
    before, _, after = text.partition(RULE)
    assert abs(tokens(before) - tokens(after)) < 100


def test_the_last_request_tells() -> None:
    replay = UnmanagedReplay()
    assert is_rule_visible(TWO_TURNS, replay)
    assert (replay.messages, replay.turns) == (with_long_message(TWO_TURNS), 2)
    assert not is_rule_visible(TWO_TURNS, FirstWords())
    assert is_rule_visible(TWO_TURNS[:5], FirstWords())


@pytest.mark.parametrize(("every", "counts"), [(0, (0, 0)), (1, (2, 1))])
def test_the_total_counts_the_recordings_that_were_tried(
    tmp_path: Path, every: int, counts: tuple[int, int]
) -> None:
    paths = write_recordings(tmp_path, [TWO_TURNS, TWO_TURNS[:5]])
    options = MeasureOptions(long_message_every=every)
    total = totals_of(measure_all(paths, FirstWords, options, 1, lambda _: None))
    assert (total.long_messages, total.rules_in_window) == counts


@pytest.mark.parametrize("durations", [GENERATION, TOOLS, USER])
def test_the_percentiles_are_those_of_the_source(durations: Durations) -> None:
    assert [durations.quantile(share) for share in (0.5, 0.9, 0.99)] == pytest.approx(list(durations))
    assert durations.quantile(0.1) < durations.p50
    assert durations.quantile(0.999) > durations.p99


def session(turns: int, reply: str = "done") -> list[dict[str, object]]:
    messages = []
    for turn in range(turns):
        messages += [user_message("Go"), *file_read_step(str(turn), "a", "A"), assistant_message(reply)]
    return messages


def test_each_model_call_has_a_gap_and_a_turn_begins_after_a_wait() -> None:
    gaps = draw_gaps(session(1_000))
    assert len(gaps) == 2_000
    assert gaps[0] == 0
    turns = gaps[2::2]
    steps = gaps[1::2]
    assert 84 < quantiles(turns, n=100)[49] < 110
    assert 4.9 < quantiles(steps, n=100)[49] < 12
    assert 0.24 < sum(gap > 300 for gap in turns) / len(turns) < 0.32
    assert sum(gap > 300 for gap in steps) / len(steps) < 0.02
    assert draw_gaps(session(1_000)) == gaps
    assert draw_gaps(session(1_000, "Done")) != gaps


SYSTEM = Message("system", "s" * 6)  # 10 tokens with its framing
USER_MESSAGE = Message("user", "u" * 16)  # 20
CALLED = Message("assistant", "", (ToolCall("c", "read", "{}"),))  # 4 + 4 + 4 + 2 = 14
OUTPUT = Message("tool", "o" * 96, call_id="c", name="read")  # 100
MARKED = Message("tool", "oooo" + "m" * 22, call_id="c", name="read")  # 30, of them 4 as before


def test_a_cache_of_whole_messages() -> None:
    bills = RequestBills(MessageTokenCounter(len), 140)
    bills.add([SYSTEM, USER_MESSAGE, CALLED, OUTPUT])  # 144 new
    bills.add([SYSTEM, USER_MESSAGE, CALLED, MARKED, USER_MESSAGE])  # 44 known by message, 4 more by text
    sent = bills.result([50, 7])
    assert sent.billed == pytest.approx(1.25 * (144 + 46) + 0.1 * 48 + 57)
    assert sent.billed_by_message == pytest.approx(1.25 * (144 + 50) + 0.1 * 44 + 57)
    assert (sent.requests, sent.rewrites, sent.over_window) == (2, 1, 1)


def test_a_cache_that_forgets_and_none_at_all() -> None:
    bills = RequestBills(MessageTokenCounter(len), 140)
    bills.add([SYSTEM, USER_MESSAGE])  # 30 new
    bills.add([SYSTEM, USER_MESSAGE, CALLED], gap_s=300.0)  # 30 known, 14 new
    bills.add([SYSTEM, USER_MESSAGE, CALLED, OUTPUT], gap_s=300.5)  # 144 forgotten
    sent = bills.result([10])
    assert sent.billed == pytest.approx(1.25 * (30 + 14 + 100) + 0.1 * (30 + 44) + 10)
    assert sent.billed_5_minutes == pytest.approx(1.25 * (30 + 14 + 144) + 0.1 * 30 + 10)
    assert sent.billed_uncached == 30 + 44 + 144 + 10
